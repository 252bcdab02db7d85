"""The pages on hardware agree with the boards' files and the patterns."""

import re
from pathlib import Path
from runpy import run_path

import pytest

from firmware_app.device.board import Board, boards
from firmware_app.device.patterns import LOOKS

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs" / "hardware"
PAGES = {"usb-with-led": "own-board"}  # the others are called as their board
NOTHING = "\N{EN DASH}"
BOARDS = [board for board in boards().values() if board.name != "none"]


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def facts(board: Board) -> list[str]:
    """What somebody who wires this board must read on its page."""
    found = [*board.usb, board.overlay]
    light, button, sound = board.light, board.button, board.sound
    if not board.usb:
        found += board.cards
    if button:
        found.append(f"GPIO{button.pin}")
    if light:
        found += [f"GPIO{pin}" for pin in (*light.pins, light.power_pin) if pin is not None]
        if light.spi:
            found.append("/dev/spidev{}.{}".format(*light.spi))
    if sound and not board.any_usb:
        found.append(f"{sound.rate:,} Hz")
    found += [f"{level} %" for level in board.mixer.values()]
    return [fact for fact in found if fact]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_boards_page_has_its_wires_and_says_what_was_tried(board: Board) -> None:
    text = page(PAGES.get(board.name, board.name))
    assert [fact for fact in facts(board) if fact not in text] == []
    assert "Not tried on real hardware" in text


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_the_table_of_boards_has_each_with_its_clock_light_and_button(board: Board) -> None:
    rows = [row for row in page("README").splitlines() if f"| `{board.name}` |" in row]
    assert len(rows) == 1
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert board.sound
    assert cells[4] == ("one" if board.sound.one_clock else "two")
    light, button = board.light, board.button
    assert (str(light.leds) in cells[5] or "one LED" in cells[5]) if light else cells[5] == NOTHING
    assert cells[6] == (f"GPIO{button.pin}" if button else NOTHING)


def test_the_pins_in_the_tables_are_those_of_the_header() -> None:
    header = run_path(str(PROJECT / "scripts" / "make_header_picture.py"))
    rows = 0
    for file in DOCS.glob("*.md"):
        for gpios, pins in re.findall(
            r"^\| [^|]+ \| (GPIO[^|]+) \| ([\d, ]+) \|$", file.read_text("utf-8"), re.MULTILINE
        ):
            numbers = [int(number) for number in re.findall(r"GPIO(\d+)", gpios)]
            assert [header["gpio_pin"](n) for n in numbers] == [int(p) for p in pins.split(",")]
            rows += len(numbers)
    assert rows > 20


def test_the_picture_of_the_header_is_that_of_the_boards_file() -> None:
    header = run_path(str(PROJECT / "scripts" / "make_header_picture.py"))
    drawn = (DOCS / "own-board.svg").read_text(encoding="utf-8")
    assert drawn == header["picture"](), "write it anew: python scripts/make_header_picture.py"
    for pin in (header["LED_GROUND"], header["BUTTON_GROUND"]):
        assert header["HEADER"][pin - 1] == header["GROUND"]
        assert f"| {NOTHING} | {pin} |" in page("own-board")


def test_every_link_leads_somewhere() -> None:
    for file in DOCS.glob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", file.read_text(encoding="utf-8")):
            assert (DOCS / link).exists(), f"{file.name} links to {link}"


def test_the_table_and_the_picture_of_the_light_are_those_of_the_patterns() -> None:
    made = run_path(str(PROJECT / "scripts" / "make_light_pages.py"))
    again = "write them anew: python scripts/make_light_pages.py"
    assert page("lights") == made["page"](), again
    assert (DOCS / "lights.svg").read_text(encoding="utf-8") == made["picture"](), again
    assert all(f"| {name} |" in page("lights") for name in LOOKS)
