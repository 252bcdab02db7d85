"""Sentence templates, and how far what was heard is from one of them.

A template is written as Home Assistant's are: "<please> set (a|an) timer [for {duration:seconds}]"
has a rule, a choice, words that may be missing, and a slot with the name of its value. Here it
becomes a net of states with a word or a slot between two. What was heard is led through the net on
the cheapest way: words that differ, are missing or are too many cost, those that say little cost
less, and numbers can never be left out. A cost of 0 is a sentence as written; somewhere above 1,
nothing sensible is left of it.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeAlias

from hassil.expression import (
    Alternative,
    Expression,
    Group,
    ListReference,
    Permutation,
    RuleReference,
    TextChunk,
)
from hassil.parse_expression import parse_sentence
from hassil.parser import ParseError

from firmware_app.skills.likeness import words_alike

LIMIT = 1.4  # a way that costs more is given up
MISSING, MISSING_LIGHT = 1.2, 0.35  # a word of the template that was not heard
TOO_MANY, TOO_MANY_LIGHT, TOO_MANY_FILLER = 0.9, 0.35, 0.05  # a word that is not in the template
SOUNDS_ALIKE = 0.1
JOINED = 0.15  # "time or" for "timer", beside what the letters differ
UNLIKE = 0.58  # share of letters in common below which two words have nothing to do
PER_LETTERS = 2.0  # cost of two words without a letter in common, were they compared
AROUND = 0.03  # polite words before or after a sentence; two of free text cost more
AROUND_LIMIT = 0.2  # what they may cost where they were misheard
LONGEST_AFTER = 5  # words

Values: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """A slot's value, the position after its last word, and what it cost."""

    value: Any
    end: int
    cost: float = 0.0


class SlotReader(Protocol):
    def __call__(self, heard: "Utterance", at: int) -> Iterable[Found]: ...


class _Edge(NamedTuple):
    """A step of the net: a word, or a slot of a type."""

    target: int
    word: str = ""
    slot: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """What a template means: a name, and values that it fixes."""

    meaning: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Match:
    """One way of understanding. loose: what the values cost of the whole cost."""

    meaning: str
    values: Values
    end: int
    cost: float
    loose: float


_Path: TypeAlias = "tuple[_Path, str, Any] | None"


class Net:
    """Templates that are compared at once."""

    def __init__(
        self, rules: Mapping[str, str], words: Callable[[str], Iterable[str]] = str.split
    ) -> None:
        """rules: templates that others name; words: cuts a text as what is heard is cut."""
        self._rule = cache(lambda name: parse_sentence(rules[name]).expression)
        self._words = cache(lambda text: tuple(words(text)))  # the same come again and again
        self._edges: list[list[_Edge]] = [[]]
        self._silent: list[list[int]] = [[]]
        self._endings: dict[int, Ending] = {}
        self._all_endings: dict[int, tuple[Ending, ...]] = {}

    def add(self, template: str, ending: Ending) -> None:
        """Raises ValueError where it is no template, or names a rule that does not exist."""
        try:
            end = self._lay(parse_sentence(template).expression, self._branch(0))
        except (ParseError, KeyError) as error:
            raise ValueError(f"this is no template ({error}): {template}") from error
        self._endings[end] = ending

    def edges(self, state: int) -> list[_Edge]:
        return self._edges[state]

    def endings(self, state: int) -> tuple[Ending, ...]:
        return self._all_endings.get(state, ())

    def finish(self) -> "Net":
        """Let templates share what they have in common: one step for one word or slot."""
        reached: dict[int, frozenset[int]] = {}

        def reach(state: int) -> frozenset[int]:
            """The states that are there without a word, of those where something goes on."""
            if state not in reached:
                counts = self._edges[state] or state in self._endings
                own = frozenset((state,) if counts else ())
                reached[state] = own.union(*map(reach, self._silent[state]))
            return reached[state]

        first = reach(0)
        numbers, waiting = {first: 0}, [first]
        edges: list[list[_Edge]] = [[]]
        endings: dict[int, tuple[Ending, ...]] = {}
        while waiting:
            states = waiting.pop()
            here = numbers[states]
            found = [self._endings[state] for state in sorted(states) if state in self._endings]
            if found:
                endings[here] = tuple(found)
            steps: dict[tuple[str, str, str], set[int]] = {}
            for state in states:
                for edge in self._edges[state]:
                    steps.setdefault(edge[1:], set()).add(edge.target)
            for label, targets in steps.items():
                following = frozenset().union(*map(reach, targets))
                if following not in numbers:
                    numbers[following] = len(edges)
                    edges.append([])
                    waiting.append(following)
                edges[here].append(_Edge(numbers[following], *label))
        self._edges, self._all_endings, self._silent = edges, endings, []
        return self

    def _lay(self, part: Expression, begin: int) -> int:
        """Put a part of a template behind a state; the state that it ends in."""
        match part:
            case TextChunk(text=text):
                for word in self._words(text):
                    begin = self._step(begin, word=word)
                return begin
            case ListReference():
                return self._step(begin, slot=part.list_name, name=part.slot_name)
            case RuleReference(rule_name=rule):
                return self._lay(self._rule(rule), begin)
            case Permutation(items=items):
                return self._in_any_order(list(items), begin)
            case Alternative(items=items):
                end = self._state()
                for item in items:
                    self._silent[self._lay(item, self._branch(begin))].append(end)
                return end
            case Group(items=items):
                for item in items:
                    begin = self._lay(item, begin)
                return begin
        raise ValueError(f"a template holds {part}")

    def _in_any_order(self, items: list[Expression], begin: int) -> int:
        if not items:
            return begin
        end = self._state()
        for index, item in enumerate(items):
            rest = items[:index] + items[index + 1 :]
            after = self._in_any_order(rest, self._lay(item, self._branch(begin)))
            self._silent[after].append(end)
        return end

    def _state(self) -> int:
        self._edges.append([])
        self._silent.append([])
        return len(self._edges) - 1

    def _branch(self, begin: int) -> int:
        state = self._state()
        self._silent[begin].append(state)
        return state

    def _step(self, begin: int, *, word: str = "", slot: str = "", name: str = "") -> int:
        target = self._state()
        self._edges[begin].append(_Edge(target, word, slot, name))
        return target


@dataclass(frozen=True, slots=True)
class Hearing:
    """What a language knows of mishearing.

    light: words that say little. fillers: that say nothing. alike: words that sound like another,
    by that other. is_number: of a word.
    """

    light: frozenset[str]
    fillers: frozenset[str]
    alike: Mapping[str, frozenset[str]]
    is_number: Callable[[str], bool]

    def missing(self, word: str) -> float:
        return MISSING_LIGHT if word in self.light or word in self.fillers else MISSING

    def too_many(self, word: str) -> float:
        if word in self.fillers:
            return TOO_MANY_FILLER
        if word in self.light:
            return TOO_MANY_LIGHT
        return LIMIT if self.is_number(word) else TOO_MANY

    def differ(self, heard: str, word: str) -> float:
        """The cost of one word for another."""
        if heard == word:
            return 0.0
        if heard in self.alike.get(word, ()):
            return SOUNDS_ALIKE
        if heard[0].isdigit():
            return LIMIT
        return _by_letters(heard, word)


def _by_letters(heard: str, word: str) -> float:
    share = words_alike(heard, word)
    if share < UNLIKE or min(len(heard), len(word)) < 2:
        return LIMIT
    return PER_LETTERS * (1 - share)


@dataclass(frozen=True, slots=True)
class Around:
    """What may stand before and after any sentence, such as "would you mind" and "for me"."""

    before: Net
    after: Net


class Utterance:
    """What was heard, and the ways in which it is understood."""

    def __init__(
        self,
        words: Sequence[str],
        hearing: Hearing,
        readers: Mapping[str, SlotReader],
        spelled: Sequence[str] = (),
    ) -> None:
        """words: as they are compared. spelled: as they are repeated, where that differs."""
        self.words = tuple(words)
        self.spelled = tuple(spelled) or self.words
        self._hearing = hearing
        self._readers = readers
        self._read: dict[tuple[str, int], tuple[Found, ...]] = {}
        self._known: dict[tuple[str, float], _Costs] = {}

    def slot(self, kind: str, at: int) -> tuple[Found, ...]:
        """The values of a kind that begin there."""
        key = (kind, at)
        if key not in self._read:
            self._read[key] = ()  # a kind that holds itself reads nothing
            self._read[key] = tuple(self._readers[kind](self, at))
        return self._read[key]

    def whole(self, net: Net, around: Around | None = None) -> list[Match]:
        """The ways in which all of it may be meant, the cheapest first, one a meaning and end.

        around: what may stand before and after it.
        """
        begins, ends = {0: 0.0}, {len(self.words): 0.0}
        if around:
            begins |= self._begins(around.before)
            ends = self._ends(around.after) | ends
        found = [
            replace(match, cost=match.cost + ends[match.end])
            for match in self._ways(net, begins)
            if match.end in ends
        ]
        return sorted(found, key=lambda match: (round(match.cost, 3), len(match.values)))

    def ways(self, net: Net, begin: int, limit: float = LIMIT) -> Iterator[Match]:
        """Every ending that is reached from a position on, each as cheaply as it can be."""
        return self._ways(net, {begin: 0.0}, limit)

    def _costs(self, heard: str, more: float = 0.0) -> "_Costs":
        """The cost of this word for each other, and something more."""
        if (heard, more) not in self._known:
            self._known[heard, more] = _Costs(self._hearing, heard, more)
        return self._known[heard, more]

    def _begins(self, net: Net) -> dict[int, float]:
        """Where a sentence may begin after such words, once or twice, and what they cost."""
        found: dict[int, float] = {}
        for begin, before in [(0, 0.0), *self._first_ends(net, 0)]:
            for end, cost in self._first_ends(net, begin):
                found[end] = min(found.get(end, LIMIT), before + cost)
        return {end: cost for end, cost in found.items() if 0 < end < len(self.words)}

    def _first_ends(self, net: Net, begin: int) -> list[tuple[int, float]]:
        return [
            (way.end, AROUND + way.cost)
            for way in self.ways(net, begin, AROUND_LIMIT)
            if way.end > begin
        ]

    def _ends(self, net: Net) -> dict[int, float]:
        """Where a sentence may end before such words, and what they cost."""
        count = len(self.words)
        found: dict[int, float] = {}
        for begin in range(max(1, count - LONGEST_AFTER), count):
            costs = [
                way.values.get("cost", AROUND) + way.cost
                for way in self.ways(net, begin, AROUND_LIMIT)
                if way.end == count
            ]
            if costs:
                found[begin] = min(costs)
        return found

    def _ways(self, net: Net, begins: Mapping[int, float], limit: float = LIMIT) -> Iterator[Match]:
        count, hearing, words = len(self.words), self._hearing, self.words
        # cost, values' share of it, values so far; by position and state
        columns: list[dict[int, tuple[float, float, _Path]]] = [{} for _ in range(count + 3)]
        for begin, cost in begins.items():
            columns[begin][0] = (cost, 0.0, None)

        def reach(
            column: dict[int, tuple[float, float, _Path]],
            state: int,
            cost: float,
            loose: float,
            path: _Path,
        ) -> bool:
            known = column.get(state)
            if cost >= limit or (known is not None and known[0] <= cost):
                return False
            column[state] = (cost, loose, path)
            return True

        for at in range(min(begins), count + 1):
            column = columns[at]
            heap = [(cost, state) for state, (cost, _, _) in column.items()]
            heapq.heapify(heap)
            heard = words[at] if at < count else ""
            pair = heard + words[at + 1] if at + 1 < count else ""
            extra = hearing.too_many(heard) if heard else limit
            alike = self._costs(heard).__getitem__
            alike_joined = self._costs(pair, JOINED).__getitem__
            while heap:
                cost, state = heapq.heappop(heap)
                known, loose, path = column[state]
                if cost > known:
                    continue
                for ending in net.endings(state):
                    yield Match(ending.meaning, _values(path, ending), at, cost, loose)
                if heard:
                    reach(columns[at + 1], state, cost + extra, loose, path)
                for edge in net.edges(state):
                    if edge.slot:
                        for value in self.slot(edge.slot, at) if heard else ():
                            reach(
                                columns[value.end],
                                edge.target,
                                cost + value.cost,
                                loose + value.cost,
                                (path, edge.name, value.value),
                            )
                        continue
                    skipped = cost + hearing.missing(edge.word)
                    if skipped < limit and reach(column, edge.target, skipped, loose, path):
                        heapq.heappush(heap, (skipped, edge.target))
                    if not heard:
                        continue
                    same = cost + alike(edge.word)
                    if same < limit:
                        reach(columns[at + 1], edge.target, same, loose, path)
                    if pair and same > cost and (joined := cost + alike_joined(edge.word)) < limit:
                        reach(columns[at + 2], edge.target, joined, loose, path)


class _Costs(dict[str, float]):
    """What one heard word costs for another; worked out once, as nets hold a word many times."""

    def __init__(self, hearing: Hearing, heard: str, more: float) -> None:
        super().__init__()
        self._hearing, self._heard, self._more = hearing, heard, more

    def __missing__(self, word: str) -> float:
        self[word] = self._more + self._hearing.differ(self._heard, word)
        return self[word]


def _values(path: _Path, ending: Ending) -> Values:
    values: Values = {}
    while path:
        path, name, value = path
        values.setdefault(name, value)
    return {**ending.values, **values}
