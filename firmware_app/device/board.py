"""Boards: what each one has, which one is there, and what that means for the sound settings.

One file a board in boards/; a new board is a new file.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from firmware_app.errors import SettingsError
from firmware_app.settings import AudioSettings

BOARDS = Path(__file__).with_name("boards")
AUTO, NONE = "auto", "none"

Kind: TypeAlias = Literal["processed", "raw", "loop-back"]
LightKind: TypeAlias = Literal["led", "rgb", "apa102", "usb-mic-array-v2", "xvf3800"]


@dataclass(frozen=True, slots=True)
class Sound:
    """How a board is heard and spoken through. `{card}` in a name stands for the card's id.

    kinds: what each channel carries, from channel 0. positions: of the raw channels' microphones,
    in metres to the right and to the front; empty where unknown. loudspeaker_cards: other cards to
    play through, where the board itself cannot. one_clock: whether microphone and loudspeaker run
    at exactly the same rate, as echo cancellation needs it.
    """

    microphone: str
    rate: int
    channels: int
    channel: int
    kinds: tuple[Kind, ...]
    loudspeaker: str
    loudspeaker_rate: int
    one_clock: bool
    positions: tuple[tuple[float, float], ...] = ()
    loudspeaker_cards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Light:
    """LEDs, and how they are reached.

    ring: whether they stand in a circle, the first to the front and on clockwise. spi: bus and
    chip select. power_pin: must be high for the LEDs to have power. pins: of plain LEDs, one, or
    red, green and blue. All pins in the GPIO's own numbers.
    """

    kind: LightKind
    leds: int
    ring: bool
    spi: tuple[int, int] | None = None
    power_pin: int | None = None
    usb: str = ""
    pins: tuple[int, ...] = ()

    @property
    def coloured(self) -> bool:
        return self.kind != "led"


@dataclass(frozen=True, slots=True)
class ButtonPin:
    """A button between a pin and ground."""

    pin: int


@dataclass(frozen=True, slots=True)
class Board:
    """One board. card: the id of its sound card, empty where it was not found.

    cards, usb: ids by which it is known; any_usb: any USB sound card that records and plays will
    do. detected: whether "auto" may choose it. mixer: levels of the card's controls, percent.
    """

    name: str
    title: str
    cards: tuple[str, ...] = ()
    usb: tuple[str, ...] = ()
    any_usb: bool = False
    detected: bool = True
    overlay: str = ""
    sound: Sound | None = None
    light: Light | None = None
    button: ButtonPin | None = None
    mixer: Mapping[str, int] = field(default_factory=dict)
    card: str = ""
    loudspeaker_card: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A sound card as the kernel reports it. usb: vendor and product, empty for others."""

    id: str
    usb: str
    records: bool
    plays: bool


@cache
def boards(folder: Path = BOARDS) -> Mapping[str, Board]:
    """Every board by name. Raises SettingsError for a file that says what no board can be."""
    return {file.stem: _read(file) for file in sorted(folder.glob("*.toml"))}


def cards(root: Path = Path("/")) -> list[Card]:
    """The sound cards that the kernel has. root: where /proc is."""
    found = []
    for folder in sorted((root / "proc/asound").glob("card[0-9]*")):
        if name := _text(folder / "id"):
            records = any(folder.glob("pcm*c"))
            plays = any(folder.glob("pcm*p"))
            found.append(Card(name, _text(folder / "usbid").lower(), records, plays))
    return found


def chosen(name: str, root: Path = Path("/"), folder: Path = BOARDS) -> Board:
    """The board of that name, or with "auto" the one that is there; "none" where none is.

    Raises SettingsError where no board is called so.
    """
    known, there = boards(folder), cards(root)
    if name != AUTO:
        if name not in known:
            raise SettingsError(
                "board-unknown",
                f"There is no board {name}.",
                f"device.board may be {AUTO} or one of {', '.join(known)}.",
            )
        return _found(known[name], there) or known[name]
    # Any USB card will do only where nothing that is known better is there.
    for board in sorted(known.values(), key=lambda board: board.any_usb):
        if board.detected and (found := _found(board, there)):
            return found
    return known[NONE]


def resolved(audio: AudioSettings, board: Board) -> AudioSettings:
    """The sound settings in which the board fills what was left at "default".

    A microphone that somebody named keeps its own rate and channels, and so does a loudspeaker.
    """
    sound, plain = board.sound, AudioSettings()
    if sound and board.card and audio.microphone == plain.microphone:
        audio = replace(audio, microphone=sound.microphone.format(card=board.card))
        if _alike(audio, plain, "microphone_rate"):
            audio = replace(audio, microphone_rate=sound.rate)
        if _alike(audio, plain, "microphone_channels", "microphone_channel"):
            audio = replace(
                audio, microphone_channels=sound.channels, microphone_channel=sound.channel
            )
    if sound and board.loudspeaker_card and audio.loudspeaker == plain.loudspeaker:
        audio = replace(audio, loudspeaker=sound.loudspeaker.format(card=board.loudspeaker_card))
        if _alike(audio, plain, "loudspeaker_rate"):
            audio = replace(audio, loudspeaker_rate=sound.loudspeaker_rate)
    return audio


def raw_channels(audio: AudioSettings, board: Board) -> tuple[int, ...]:
    """The channels of an array's microphones, where these sound settings listen to the board."""
    sound = board.sound
    if not sound or audio.microphone != sound.microphone.format(card=board.card):
        return ()
    if audio.microphone_channels != sound.channels:
        return ()
    raw = tuple(place for place, kind in enumerate(sound.kinds) if kind == "raw")
    return raw if len(raw) > 1 else ()


def _alike(audio: AudioSettings, plain: AudioSettings, *names: str) -> bool:
    return all(getattr(audio, name) == getattr(plain, name) for name in names)


def _found(board: Board, there: list[Card]) -> Board | None:
    """The board with its cards filled in, where it is there."""
    card = next((card for card in there if _is_of(board, card)), None)
    if card is None or board.sound is None:
        return None
    ids = {card.id for card in there if card.plays}
    others = board.sound.loudspeaker_cards
    plays = next((other for other in others if other in ids), "") if others else card.id
    return replace(board, card=card.id, loudspeaker_card=plays)


def _is_of(board: Board, card: Card) -> bool:
    if card.usb:
        return card.usb in board.usb or (board.any_usb and card.records and card.plays)
    return card.id in board.cards


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


# Reading a board's file.


def _read(file: Path) -> Board:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        sound, light, button = (table.pop(name, None) for name in ("sound", "light", "button"))
        board = Board(
            name=file.stem,
            sound=Sound(**_frozen(sound)) if sound else None,
            light=Light(**_frozen(light)) if light else None,
            button=ButtonPin(**button) if button else None,
            **_frozen(table),
        )
    except (OSError, tomllib.TOMLDecodeError, TypeError) as error:
        raise _damaged(file, str(error)) from error
    if problem := _contradiction(board):
        raise _damaged(file, problem)
    return board


def _frozen(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with lists, and lists in lists, as tuples."""

    def tuples(value: Any) -> Any:  # noqa: ANN401 - TOML
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    return {name: tuples(value) for name, value in table.items()}


def _contradiction(board: Board) -> str:
    """What in the file cannot be; empty where all can."""
    sound, light = board.sound, board.light
    problems: dict[str, bool] = {}
    if sound:
        raw = sum(kind == "raw" for kind in sound.kinds)
        problems |= {
            "kinds must name the kind of each channel": len(sound.kinds) != sound.channels,
            "a kind is none of " + ", ".join(get_args(Kind)): not {*sound.kinds}
            <= {*get_args(Kind)},
            "channel is not one of the channels": not 0 <= sound.channel < sound.channels,
            "positions must be of the raw channels": len(sound.positions) not in (0, raw),
        }
    if light:
        pins = {"led": 1, "rgb": 3}.get(light.kind, 0)
        problems |= {
            "its light is none of " + ", ".join(get_args(LightKind)): light.kind
            not in get_args(LightKind),
            f"{pins} pins are needed for this light": len(light.pins) != pins,
            "an apa102 light needs spi": light.kind == "apa102" and light.spi is None,
            "the light of a USB board needs its usb id": light.kind
            in ("usb-mic-array-v2", "xvf3800")
            and not re.fullmatch("[0-9a-f]{4}:[0-9a-f]{4}", light.usb),
        }
    problems["a level is no percentage"] = any(not 0 <= v <= 100 for v in board.mixer.values())
    return next((text for text, wrong in problems.items() if wrong), "")


def _damaged(file: Path, problem: str) -> SettingsError:
    return SettingsError(
        "board-file",
        f"The board file {file.name} cannot be used: {problem}.",
        "Compare it with the others in firmware_app/device/boards/, or choose another board.",
    )
