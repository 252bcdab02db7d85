"""What the language model knows: its share of right answers to simple questions.

100 questions of facts.csv are put to it without a conversation: half ask for one thing ("the
capital of France"), half ask who or what something is. An answer is right that has one of the words
accepted for it. With an encyclopedia means: a ZIM file built from the sentences of that same sheet,
so this shows what reaches an encyclopedia and what becomes of it, not how much one knows.
"""

import argparse
import asyncio
import csv
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.thinking import Thinking, Thought
from firmware_app.engines import LanguageModel
from firmware_app.engines.loading import load_model
from firmware_app.settings import EncyclopediaSettings, Settings
from firmware_app.settings_layers import load
from firmware_app.skills.building import World, build

SHEET = Path(__file__).with_name("facts.csv")
MARK = "Echo's fact sheet"  # the title of the ZIM file that is built here


@dataclass(frozen=True, slots=True)
class Fact:
    """accepted: words of which a right answer has one. title, text: of its article, if any."""

    question: str
    accepted: tuple[str, ...]
    title: str
    text: str

    def is_right(self, answer: str) -> bool:
        return any(word.lower() in answer.lower() for word in self.accepted)


@dataclass(slots=True)
class Score:
    asked: int = 0
    right: int = 0
    words: int = 0
    seconds: float = 0.0

    @property
    def line(self) -> str:
        words, seconds = self.words / self.asked, self.seconds / self.asked
        return f"{self.right:3} of {self.asked:3} right   {words:4.1f} words   {seconds:5.2f} s"


def facts() -> list[Fact]:
    with SHEET.open(newline="", encoding="utf-8") as file:
        return [
            Fact(row["question"], tuple(row["accepted"].split(";")), row["title"], row["text"])
            for row in csv.DictReader(file)
        ]


def make_zim(path: Path, known: Sequence[Fact]) -> None:
    """A ZIM file with an article for each fact that has one."""
    from libzim.writer import (  # type: ignore[import-untyped]
        Creator,
        Hint,
        Item,
        StringProvider,
    )

    class Page(Item):  # type: ignore[misc]
        def __init__(self, fact: Fact) -> None:
            super().__init__()
            self._fact = fact

        def get_path(self) -> str:
            return self._fact.title.replace(" ", "_")

        def get_title(self) -> str:
            return self._fact.title

        def get_mimetype(self) -> str:
            return "text/html"

        def get_contentprovider(self) -> Any:  # noqa: ANN401 - libzim has no types
            return StringProvider(f"<p>{self._fact.text}</p>")

        def get_hints(self) -> dict[Any, int]:
            return {Hint.FRONT_ARTICLE: True}

    with Creator(path).config_indexing(True, "eng").config_nbworkers(1) as creator:
        for fact in known:
            if fact.title:
                creator.add_item(Page(fact))
        creator.add_metadata("Title", MARK)
        creator.add_metadata("Language", "eng")


async def ask_all(
    model: LanguageModel, settings: Settings, known: Sequence[Fact], *, show: bool
) -> dict[str, Score]:
    scores = {"one thing": Score(), "who or what": Score()}
    skills = await asyncio.to_thread(build, World(settings=lambda: settings))
    for fact in known:
        thinking = Thinking(settings, model, Keeper(settings), skills)
        began = time.monotonic()
        async with aclosing(thinking.words(Thought(fact.question))) as pieces:
            answer = "".join([piece async for piece in pieces]).strip()
        score = scores["who or what" if fact.title else "one thing"]
        score.asked += 1
        score.right += fact.is_right(answer)
        score.words += len(answer.split())
        score.seconds += time.monotonic() - began
        if show:
            print(f"  {'+' if fact.is_right(answer) else '-'} {fact.question} {answer}")
    return scores


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question only")
    parser.add_argument("--persona", default="", help="file with another system prompt")
    parser.add_argument("--show", action="store_true", help="print each answer")
    parser.add_argument("--without", action="store_true", help="only without an encyclopedia")
    return parser.parse_args()


async def main() -> int:
    chosen = arguments()
    settings = load().settings
    if chosen.persona:
        settings = replace(settings, dialogue=replace(settings.dialogue, persona=chosen.persona))
    known = facts()[:: chosen.every]
    model = load_model(settings)
    await model.ready()
    print(f"{model.name}, {len(known)} questions, temperature {settings.model.temperature}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            zim = Path(folder) / "facts.zim"
            await asyncio.to_thread(make_zim, zim, known)
            files = {"alone": "", f"with {MARK} (built here)": str(zim)}
            for name, file in files.items():
                if file and chosen.without:
                    continue
                now = replace(settings, encyclopedia=EncyclopediaSettings(file))
                scores = await ask_all(model, now, known, show=chosen.show)
                for kind, score in scores.items():
                    if score.asked:
                        print(f"{name:36} {kind:12} {score.line}", flush=True)
    finally:
        await model.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
