"""What slips through of Markdown, code, links and symbols, turned into something to say.

Numbers, units and abbreviations are not touched: the voice knows how they are said.
"""

import html
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from firmware_app.dialogue.language import words_if_known


@dataclass(frozen=True, slots=True)
class Phrases:
    """What is said in place of what cannot be; empty where nothing is."""

    code: str = ""
    link: str = "{host}"
    signs: Mapping[str, str] = field(default_factory=dict)  # sign → the word for it
    number: str = ""  # of "#5"
    sharp: str = ""  # of "C#"
    over: str = " / "
    root: str = ""
    squared: str = ""
    cubed: str = ""
    power: str = ""


FORBIDDEN = "*_#`\\|<>[]{}^~"
_FENCE = re.compile(r"```+|~~~+")
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$")
_TABLE_RULE = re.compile(r"^(?=.*\|)(?=.*-)[\s|:-]+$")
_LINE_MARK = re.compile(
    r"^\s*(?:(?P<heading>#{1,6})\s+|(?P<quote>>+)\s*"
    r"|(?P<item>(?:[-*+\u2022\u2023\u25aa\u25cf\u25e6]|\(?(?P<number>\d{1,3})[.)])\s+"
    r"(?:\[[ xX]\]\s*)?))"
)
_IMAGE_OR_LINK = re.compile(r"!?\[(?P<text>[^\[\]\n]*)\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_REFERENCE = re.compile(r"\[\^?\d{1,3}\]")
_URL = re.compile(
    r"<?(?:(?:https?|ftp)://|\bwww\.)(?:[^\s/@<>]*@)?(?P<host>[\w.-]*)[^\s<>]*>?", re.IGNORECASE
)
_URL_END = re.compile(r"[.,;:!?)'\"\u2019\u201d]+$")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]*>|<!--.*?-->")
_FORMULA = re.compile(r"\$\$|\$(?=[^$\n]*[\\^_=])([^$\n]+)\$|\\[()\[\]]")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt\s*(?:\{([^{}]*)\}|(\w))")
_POWER = re.compile(r"(?<=[\w)}])\^\s*(?:\{([^{}]*)\}|(-?\w+))")
_COMMANDS = {
    "times": "\u00d7",
    "cdot": "\u00d7",
    "div": "\u00f7",
    "pm": "\u00b1",
    "leq": "\u2264",
    "le": "\u2264",
    "geq": "\u2265",
    "ge": "\u2265",
    "neq": "\u2260",
    "ne": "\u2260",
    "approx": "\u2248",
    "infty": "\u221e",
    "text": "",
    "mathrm": "",
    "mathbf": "",
    "left": "",
    "right": "",
    "quad": "",
}
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_KEPT_SYMBOLS = frozenset("\u00b0\u00a9\u00ae\u2122\u2103\u2109\u2116")  # ° © ® ™ ℃ ℉ №
_ARROW = re.compile(r"\s*(?:[-=]+>|<[-=]+|[\u2190-\u21ff\u27f0-\u27ff])\s*")


class Speakable:
    """Makes one clause after another speakable; remembers open code and where a line begins."""

    def __init__(self, language: str = "en") -> None:
        self._phrases = Phrases(**words_if_known(language).get("speakable", {}))
        self._in_code = False
        self._line_begins = True

    def clause(self, text: str) -> str:
        """The clause as it is to be said; empty where nothing is."""
        said = []
        position = 0
        for fence in _FENCE.finditer(text):
            said.append(self._outside_code(text[position : fence.start()]))
            self._in_code = not self._in_code
            if self._in_code:
                said.append(self._phrases.code)
            position = fence.end()
        said.append(self._outside_code(text[position:]))
        return _tidy(" ".join(said))

    def _outside_code(self, text: str) -> str:
        if self._in_code:
            return ""
        return " ".join(self._line(line) for line in text.splitlines(keepends=True))

    def _line(self, line: str) -> str:
        begins, ends = self._line_begins, line.endswith("\n")
        if line.strip():
            self._line_begins = ends
        text = line.strip()
        if not text or (begins and (_RULE.match(text) or _TABLE_RULE.match(text))):
            return ""
        mark = _LINE_MARK.match(text) if begins else None
        if mark:
            text = text[mark.end() :]
            if mark["number"]:
                text = f"{mark['number']}, {text}"
        text = self._signs(self._formulas(self._links(self._rows(text))))
        closes = ends and text.strip()[-1:].isalnum()
        if closes and mark and mark["item"]:
            return text + ","
        return text + "." if closes else text

    def _rows(self, text: str) -> str:
        """A row of a table as its cells, one after the other."""
        if text.count("|") < 2:
            return text
        return ", ".join(cell.strip() for cell in text.split("|") if cell.strip())

    def _links(self, text: str) -> str:
        text = _IMAGE_OR_LINK.sub(lambda match: match["text"], text)
        text = _URL.sub(self._link, _REFERENCE.sub("", text))
        return html.unescape(_TAG.sub(" ", text))

    def _link(self, url: re.Match[str]) -> str:
        host = re.sub(r"^(?:www\.)+|[^\w]+$", "", url["host"].lower().replace("_", "-"))
        tail = _URL_END.search(url.group())
        said = self._phrases.link.format(host=host) if host else ""
        return f" {said}{tail.group() if tail else ''} "

    def _formulas(self, text: str) -> str:
        words = self._phrases
        text = _FORMULA.sub(lambda match: match[1] or " ", text)
        text = _FRACTION.sub(rf" \1 {words.over} \2 ", text)
        text = _ROOT.sub(lambda match: f" {words.root} {match[1] or match[2]} ", text)
        text = _POWER.sub(self._power, text)
        return _COMMAND.sub(lambda match: f" {_COMMANDS.get(match[1], match[1])} ", text)

    def _power(self, match: re.Match[str]) -> str:
        exponent = match[1] or match[2]
        said = {"2": self._phrases.squared, "3": self._phrases.cubed}.get(exponent)
        return f" {said or f'{self._phrases.power} {exponent}'} "

    def _signs(self, text: str) -> str:
        words = self._phrases
        text = _ARROW.sub(", ", text)
        text = re.sub(r"\b([A-G])#(?!\w)", rf"\1 {words.sharp}", text)
        text = re.sub(r"#(?=\d)", f" {words.number} ", text)
        text = re.sub(r"#(\w+)", lambda match: _split_words(match[1]), text)
        text = re.sub(r"(?<=\w)_(?=\w)", " ", text)
        text = re.sub(r"~(?=\d)", f" {words.signs.get('~', '')} ", text)
        for sign, word in words.signs.items():
            if sign in "\u00d7\u00f7\u00b1\u2264\u2265\u2260\u2248\u221a\u221e":
                text = text.replace(sign, f" {word} ")
            else:  # only where it stands between two things
                text = re.sub(rf"(?<=\w)\s+{re.escape(sign)}\s+(?=\w)", f" {word} ", text)
                text = re.sub(rf"(?<=\d){re.escape(sign)}(?=\d)", f" {word} ", text)
        text = text.replace("|", ", ")
        text = "".join(c for c in text if c not in FORBIDDEN and _can_be_said(c))
        return _URL.sub(self._link, text)  # one that only the removal of signs has made


def speakable(text: str, language: str = "en") -> str:
    """The whole text as it is to be said."""
    return Speakable(language).clause(text)


def _can_be_said(character: str) -> bool:
    """False for emoji, their modifiers, and control characters."""
    if character.isspace() or character in _KEPT_SYMBOLS:
        return True
    if character in "\u200d\u20e3" or "\ufe00" <= character <= "\ufe0f":
        return False
    category = unicodedata.category(character)
    modifier = category == "Sk" and ord(character) >= 0x1F000
    return not modifier and category not in {"So", "Cc", "Co", "Cn", "Cs"}


def _split_words(tag: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", tag)


def _tidy(text: str) -> str:
    text = " ".join(text.split())
    text = re.sub(r"\s+([,.;:!?])", r"\1", text)
    text = re.sub(r"([,;:])(?:\s*[,;])+", r"\1", text)
    text = re.sub(r"\(\s*\)", "", text)
    text = re.sub(r"^[,.;:\s]+", "", text)
    return text if any(c.isalnum() for c in text) else ""
