"""What a setting may be: its name, type and bounds, and what settings must agree on together."""

import dataclasses
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from firmware_app.errors import SettingsError
from firmware_app.settings import Settings

Value: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Known:
    """A setting as the checks and `config show` know it."""

    name: str
    kind: type  # bool, int, float or str
    default: Value
    doc: str
    at_least: float | None
    at_most: float | None
    choices: tuple[str, ...]
    changeable: bool
    restart: bool
    secret: bool

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "HEY_ECHO_" + self.name.replace(".", "_").upper()

    @property
    def allowed(self) -> str:
        """What the value may be, for people: "a whole number from 0 to 100"."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind is bool:
            return "true or false"
        if self.kind is str:
            return "text on one line"
        number = "a whole number" if self.kind is int else "a number"
        return f"{number} from {self.at_least:g} to {self.at_most:g}"


def _all_known() -> dict[str, Known]:
    found: dict[str, Known] = {}
    for part in dataclasses.fields(Settings):
        if part.metadata:
            found[part.name] = _known(part.name, part)
        else:
            section = part.type
            assert isinstance(section, type)  # noqa: S101 - the tree is written without strings
            for leaf in dataclasses.fields(section):
                found[f"{part.name}.{leaf.name}"] = _known(f"{part.name}.{leaf.name}", leaf)
    return found


def _known(name: str, leaf: dataclasses.Field[Any]) -> Known:
    default: Any = leaf.default
    return Known(name=name, kind=type(default), default=default, **leaf.metadata)


KNOWN: Mapping[str, Known] = _all_known()  # in the order of the tree
SECTIONS = frozenset(name.partition(".")[0] for name in KNOWN if "." in name)


def find(name: str) -> Known:
    """The setting of that name. Raises SettingsError with the nearest right name."""
    if name in KNOWN:
        return KNOWN[name]
    raise SettingsError("setting-unknown", f"There is no setting {name}.", suggestion(name, KNOWN))


def suggestion(wrong: str, right: Collection[str]) -> str:
    """The mend for a name that does not exist."""
    from difflib import get_close_matches  # only a mistake needs it

    wrong = wrong.lower() if wrong.islower() else wrong
    same_key = [name for name in right if name.rpartition(".")[2] == wrong.rpartition(".")[2]]
    near = same_key or get_close_matches(wrong, right, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(near[:3])}?"
    return "List all with: hey-echo config show"


def check(setting: Known, value: object, where: str = "") -> Value:
    """The value as the setting's type, when it is allowed. Raises SettingsError otherwise.

    where: the file and line or the variable, to be named in the error.
    """
    if setting.kind is float and type(value) is int:
        value = float(value)
    if isinstance(value, Value) and type(value) is setting.kind and _allowed(setting, value):
        return value
    shown = "what was given" if setting.secret else _shown(value)
    raise SettingsError(
        "setting-invalid",
        f"{where + ': ' if where else ''}{setting.name} cannot be {shown}.",
        f"It must be {setting.allowed}.",
    )


def parse(setting: Known, text: str, where: str = "") -> Value:
    """The value written as text, as on a command line or in a variable, checked."""
    word = text.strip()
    value: object = text
    if setting.choices:
        value = word
    elif setting.kind is bool:
        value = _BOOLEANS.get(word.lower(), text)
    elif setting.kind is int and re.fullmatch(r"[+-]?[0-9]{1,18}", word):
        value = int(word)
    elif setting.kind is float and re.fullmatch(r"[+-]?[0-9.]{1,30}(e[+-]?[0-9]{1,3})?", word):
        try:
            value = float(word)
        except ValueError:  # "1.2.3"
            value = text
    return check(setting, value, where)


def check_together(settings: Settings) -> None:
    """What only makes sense together. Raises SettingsError naming both settings."""
    endpoint, model, audio = settings.endpoint, settings.model, settings.audio
    if endpoint.shortest_ms > endpoint.longest_ms:
        raise _contradiction(
            "endpoint.shortest_ms is greater than endpoint.longest_ms.",
            "Raise endpoint.longest_ms first.",
        )
    if endpoint.provisional_ms > endpoint.shortest_ms:
        raise _contradiction(
            "endpoint.provisional_ms is greater than endpoint.shortest_ms.",
            "Raise endpoint.shortest_ms first.",
        )
    if audio.microphone_channel >= audio.microphone_channels:
        raise _contradiction(
            f"audio.microphone_channel {audio.microphone_channel} does not exist: "
            f"audio.microphone_channels is {audio.microphone_channels} (counting from 0).",
            "Set audio.microphone_channels first.",
        )
    if model.backend == "openai":
        _check_server(settings)
    try:
        hours(settings.lights.night_hours)
    except ValueError as error:
        raise SettingsError(
            "setting-invalid",
            f"lights.night_hours cannot be {_shown(settings.lights.night_hours)}.",
            "It must be two times of day, such as 22:00-07:00, or empty.",
        ) from error


def hours(text: str) -> tuple[int, int] | None:
    """Two times of day such as "22:00-07:00", in minutes; None for none. Raises ValueError."""
    if not text.strip():
        return None
    found = re.fullmatch(r"\s*(\d{1,2}):(\d\d)\s*-\s*(\d{1,2}):(\d\d)\s*", text, re.ASCII)
    if not found:
        raise ValueError(text)
    begin_hour, begin, end_hour, end = map(int, found.groups())
    if max(begin_hour, end_hour) > 23 or max(begin, end) > 59:
        raise ValueError(text)
    return begin_hour * 60 + begin, end_hour * 60 + end


def _check_server(settings: Settings) -> None:
    """Words leave the device only for a host that the owner named twice.

    Whether it is at home is seen when its name is resolved.
    """
    from urllib.parse import urlsplit  # few need it, and every command would wait for it

    model = settings.model
    try:
        address = urlsplit(model.url)
        host, _ = address.hostname or "", address.port
    except ValueError:
        host = ""
    if not host or address.scheme not in ("http", "https"):
        raise _contradiction(
            'model.backend is "openai", and model.url is not the address of a server.',
            "Set model.url first, such as http://192.168.1.20:8080/v1.",
        )
    if model.send_words_to.strip().strip("[]").lower() != host:
        raise _contradiction(
            f'model.backend is "openai", and model.send_words_to does not name {host}.',
            f"If what is said may be sent there: hey-echo config set model.send_words_to {host}",
        )


def _allowed(setting: Known, value: Value) -> bool:
    if isinstance(value, str):
        if setting.choices:
            return value in setting.choices
        return value.isprintable()  # one line, nothing invisible
    if setting.at_least is None or setting.at_most is None:
        return True
    return setting.at_least <= value <= setting.at_most  # which NaN never is


def _shown(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if isinstance(value, bool):
        text = text.lower()
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 60 else text[:57] + "…"


def _contradiction(what: str, mend: str) -> SettingsError:
    return SettingsError("settings-contradict", what, mend)


_BOOLEANS = {
    "true": True, "on": True, "yes": True, "1": True,
    "false": False, "off": False, "no": False, "0": False,
}  # fmt: skip
