"""Finds the older exchanges of a conversation that a question refers to, by their words.

For a model that cannot ask for them itself: what it is no longer told word for word is searched
for the question's words, weighted as BM25 does (Robertson and Zaragoza, 2009).
"""

import math
from collections import Counter
from collections.abc import Sequence

from firmware_app.dialogue.conversation import Conversation, exchanges_of
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.prompt import Exchange
from firmware_app.skills.language import Language
from firmware_app.skills.likeness import words_alike
from firmware_app.skills.local_time import LocalTime
from firmware_app.skills.reach import within_reach

MOST = 2  # exchanges that are told again
SATURATION, BY_LENGTH = 1.2, 0.75  # BM25's k1 and b, its authors' defaults
LEAST = 0.4  # share of what the question's words say that an exchange must have
NEARLY = 0.8  # share of the best one's score that a second must have
ALIKE = 0.84  # letters in common by which a word that was misheard is taken for a known one
SHORTEST_MISHEARD = 4  # letters


class Recall:
    def __init__(self, keeper: Keeper, language: Language, time: LocalTime) -> None:
        self._keeper = keeper
        self._language = language
        self._time = time
        self._words: dict[Exchange, Counter[str]] = {}

    async def recall(
        self,
        conversation: Conversation,
        told: Sequence[Exchange],
        question: str,
        *,
        spoken: bool,
    ) -> list[Exchange]:
        """The exchanges before those told that fit the question, the most fitting first.

        spoken: voice reads the history no further back than voice.history allows.
        """
        saved = await self._keeper.earlier(conversation)
        if spoken:
            reach = self._keeper.voice_history
            saved = [e for e in saved if within_reach(reach, e.created, self._time)]
        everything = [*exchanges_of(saved), *conversation.exchanges()]
        first = told[0].number if told else conversation.next_number
        older = [exchange for exchange in everything if exchange.number < first]
        return self._best(older, everything, question) if older else []

    def _best(
        self, older: Sequence[Exchange], everything: Sequence[Exchange], question: str
    ) -> list[Exchange]:
        self._words = {
            exchange: self._words.get(exchange) or self._counted(exchange)
            for exchange in everything
        }
        within = Counter(word for words in self._words.values() for word in words)
        asked = {self._known(word, within) for word in self._terms(question)}
        weights = {word: _weight(within[word], len(everything)) for word in asked}
        whole = sum(weights.values())
        length = sum(words.total() for words in self._words.values()) / len(self._words)
        scored = []
        for exchange in older:
            words = self._words[exchange]
            said = sum(weight for word, weight in weights.items() if words[word])
            if whole and said >= LEAST * whole:
                norm = SATURATION * (1 - BY_LENGTH + BY_LENGTH * words.total() / (length or 1))
                score = sum(
                    weight * words[word] * (SATURATION + 1) / (words[word] + norm)
                    for word, weight in weights.items()
                )
                scored.append((score, exchange))
        scored.sort(key=lambda pair: (-pair[0], -pair[1].number))
        return [each for score, each in scored[:MOST] if score >= NEARLY * scored[0][0]]

    def _counted(self, exchange: Exchange) -> Counter[str]:
        return Counter(self._terms(f"{exchange.question} {exchange.answer}"))

    def _terms(self, text: str) -> list[str]:
        """The words that say something, without the s of the plural."""
        return [
            word.removesuffix("s") if len(word) > SHORTEST_MISHEARD else word
            for word in self._language.tokens(text)
            if len(word) > 1 and not self._language.says_little(word)
        ]

    def _known(self, word: str, within: Counter[str]) -> str:
        """The word itself, or the one of this conversation that it was misheard for."""
        if word in within or len(word) < SHORTEST_MISHEARD:
            return word
        best = max(within, key=lambda known: words_alike(word, known), default=word)
        return best if words_alike(word, best) >= ALIKE else word


def _weight(within: int, count: int) -> float:
    """What a word says that occurs in so many of all exchanges."""
    return math.log(1 + (count - within + 0.5) / (within + 0.5))
