"""The skill that looks things up in ZIM files, the encyclopedias that Kiwix reads."""

import asyncio
import contextlib
import logging
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from firmware_app.errors import EngineError
from firmware_app.skills import Arguments, Call, SkillTool, ToolResult, parameters
from firmware_app.skills.language import Language
from firmware_app.skills.likeness import words_alike
from firmware_app.skills.local_time import LocalTime

log = logging.getLogger(__name__)

SECONDS = 3.0  # that somebody waits for a card to find an article
PAGE_BYTES = 200_000  # of an article, from its beginning
LEAD = 1500  # characters of its first paragraphs
SAID = 320  # characters that are read out
SHORTEST = 40  # characters; what is shorter is a caption, no paragraph
AS_WRITTEN = 0.1  # what small words may cost beside the sentence of a question
SUGGESTED = 8  # titles that are looked at
ALIKE = 0.85  # letters in common of a title and what was asked about
_SILENT = frozenset(
    {"script", "style", "table", "sup", "figure", "nav", "header", "footer", "aside"}
)
_BLOCKS = frozenset({"p", "h1", "h2", "h3", "h4", "li", "div", "br", "dd", "dt", "td", "section"})
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\sa-z])")
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)|\s*\[[^\[\]]*\]")


@dataclass(frozen=True, slots=True)
class Article:
    """source: the title of the ZIM file. text: the article's first paragraphs, plain."""

    source: str
    title: str
    text: str


class Library:
    """ZIM files, opened when they are first needed. Everything blocks: call it in a thread."""

    def __init__(self, files: str) -> None:
        """files: as in the setting, separated by commas."""
        names = [name.strip() for name in files.split(",")]
        self.files = [Path(name).expanduser() for name in names if name]
        self._open: dict[Path, Any] = {}
        self._logged: set[str] = set()
        self._lock = threading.Lock()

    def titled(self, about: str) -> Article | None:
        """The article whose title is this, or nearly. Raises EngineError where no file works."""
        with self._lock:
            return next((found for zim in self._archives() if (found := _titled(zim, about))), None)

    def about(self, about: str) -> Article | None:
        """The article that is called so, else the first that speaks of it. Raises EngineError."""
        if article := self.titled(about):
            return article
        with self._lock:
            return next(
                (found for zim in self._archives() if (found := _telling(zim, about))), None
            )

    def check(self) -> list[str]:
        """The titles of the files. Raises EngineError for the first that cannot be used."""
        with self._lock:
            return [_title(self._archive(path)) for path in self.files]

    def _archives(self) -> Iterator[Any]:
        """Those that can be read; the fault of another is logged once."""
        fault, any_works = None, False
        for path in self.files:
            try:
                archive = self._archive(path)
            except EngineError as error:
                fault = error
                if error.what not in self._logged:
                    self._logged.add(error.what)
                    log.error("%s", error)
                continue
            any_works = True
            yield archive
        if fault and not any_works:
            raise fault

    def _archive(self, path: Path) -> Any:  # noqa: ANN401 - libzim has no types
        if path not in self._open:
            self._open[path] = _opened(path)
        return self._open[path]


class EncyclopediaSkill:
    """library: what the owner has. A model may look anything up; a question by its form alone
    reaches only an article of that title."""

    name = "encyclopedia"
    tools: Sequence[SkillTool] = (
        SkillTool(
            "look_up",
            "Reads the beginning of an article of the encyclopedia.",
            parameters({"about": {"type": "string", "maxLength": 120}}, ["about"]),
        ),
    )

    def __init__(self, language: Language, time: LocalTime, library: Library) -> None:
        self._language = language
        self._time = time
        self._library = library
        skill = language.skills[self.name]
        self._words = skill.responses
        self._questions = language.net(skill.raw["questions"], "question")
        self._never = frozenset(skill.raw["never"])

    def heard(self, tool: str, arguments: Arguments) -> Call:
        return Call(tool, arguments)

    async def run(self, call: Call) -> ToolResult:
        try:
            article = await self._look(self._library.about, call.arguments["about"])
        except EngineError:  # the log and the doctor say which file, and why
            return ToolResult(self._words["broken"])
        if not article:
            return ToolResult(self._words["nothing"].format(about=call.arguments["about"]))
        return ToolResult(self.as_entry(article), recalls=True)

    async def answers(self, question: str) -> Article | None:
        """The article that a question like "who was …" asks for; None where there is none."""
        heard = self._language.utterance(question, self._time.guess().date())
        abouts = [
            str(way.values["about"])
            for way in heard.whole(self._questions)
            if way.cost - way.loose < AS_WRITTEN
        ]
        if not abouts or self._never & set(abouts[0].split()):
            return None
        words = abouts[0].split()
        while len(words) > 1 and self._language.says_little(words[0]):
            words = words[1:]
        try:
            return await self._look(self._library.titled, " ".join(words))
        except EngineError:
            return None  # the model may know

    def read_out(self, article: Article) -> str:
        """Its first sentences, as they are said."""
        return self._words["according_to"].format(
            source=article.source, text=shortened(article.text)
        )

    def for_model(self, article: Article) -> str:
        return self._words["for_model"].format(
            source=article.source, title=article.title, text=article.text
        )

    def as_entry(self, article: Article) -> str:
        return f"{article.source}, {article.title}: {article.text}"

    async def _look(self, look: Any, about: str) -> Article | None:  # noqa: ANN401
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                found: Article | None = await asyncio.to_thread(look, about)
                return found
        return None


def shortened(text: str) -> str:
    """The first sentences, without what stands in brackets; at least one."""
    plain = _IN_BRACKETS.sub("", text)
    said = ""
    for sentence in _SENTENCE_END.split(plain):
        if said and len(said) + len(sentence) > SAID:
            break
        said = f"{said} {sentence}".strip()
    return said


def paragraphs(html: str) -> str:
    """The first paragraphs of a page as plain text, up to LEAD characters of whole sentences."""
    reader = _Paragraphs()
    reader.feed(html)
    reader.close()
    text = " ".join(reader.found)
    if len(text) <= LEAD:
        return text
    return text[: LEAD + 1].rpartition(". ")[0] + "." if ". " in text[:LEAD] else text[:LEAD]


class _Paragraphs(HTMLParser):
    """Gathers <p> with something in it, until there is enough; of a page without, all its text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._silent = 0
        self._inside = False
        self._text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag in _BLOCKS and not self._silent:
            self._end()
            self._inside = tag == "p"

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "p" and not self._silent:
            self._end()

    def handle_data(self, data: str) -> None:
        if self._inside and not self._silent:
            self._text += data

    def close(self) -> None:
        super().close()
        self._end()

    def _end(self) -> None:
        text = " ".join(self._text.split())
        self._text, self._inside = "", False
        if len(text) >= SHORTEST and sum(map(len, self.found)) < LEAD:
            self.found.append(text)


# libzim, which gives up by raising RuntimeError and KeyError.


def _opened(path: Path) -> Any:  # noqa: ANN401 - libzim has no types
    try:
        from libzim.reader import Archive  # type: ignore[import-untyped]
    except ImportError as error:
        raise EngineError(
            "engine-missing",
            "The package libzim, which reads encyclopedias, is not installed.",
            "Run ./scripts/setup, or unset encyclopedia.files.",
        ) from error
    if not path.is_file():
        raise _unusable(path, "is not there")
    try:
        return Archive(path)
    except RuntimeError as error:
        raise _unusable(path, f"cannot be read ({error})") from error


def _unusable(path: Path, what: str) -> EngineError:
    return EngineError(
        "encyclopedia-file",
        f"The encyclopedia {path} (setting encyclopedia.files) {what}.",
        "Fetch the file again, or take it out of encyclopedia.files.",
    )


def _title(archive: Any) -> str:  # noqa: ANN401
    try:
        return str(archive.get_metadata("Title").decode())
    except (RuntimeError, KeyError, UnicodeDecodeError):
        return str(Path(archive.filename).stem)


def _titled(archive: Any, about: str) -> Article | None:  # noqa: ANN401
    from libzim.suggestion import SuggestionSearcher  # type: ignore[import-untyped]

    try:
        for title in dict.fromkeys((about, about.capitalize(), about.title())):
            if archive.has_entry_by_title(title):
                return _article(archive, archive.get_entry_by_title(title))
        paths = SuggestionSearcher(archive).suggest(about).getResults(0, SUGGESTED)
        entries = [archive.get_entry_by_path(path) for path in paths]
    except (RuntimeError, KeyError):
        return None
    scored = [(_alike(entry.title, about), entry) for entry in entries]
    best = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return _article(archive, best[1]) if best[0] >= ALIKE else None


def _telling(archive: Any, about: str) -> Article | None:  # noqa: ANN401
    from libzim.search import Query, Searcher  # type: ignore[import-untyped]

    try:
        found = Searcher(archive).search(Query().set_query(about)).getResults(0, SUGGESTED)
        articles = (_article(archive, archive.get_entry_by_path(path)) for path in found)
        return next((article for article in articles if article), None)
    except (RuntimeError, KeyError):  # it has no index of its words, for one
        return None


def _article(archive: Any, entry: Any) -> Article | None:  # noqa: ANN401
    try:
        item = entry.get_item()  # where a redirection leads
        if not item.mimetype.startswith("text/html"):
            return None
        html = bytes(item.content[:PAGE_BYTES]).decode(errors="replace")
    except (RuntimeError, KeyError):
        return None
    text = paragraphs(html)
    return Article(_title(archive), item.title, text) if text else None


def _alike(title: str, about: str) -> float:
    return words_alike(_IN_BRACKETS.sub("", title).strip().lower(), about.lower())
