"""The board, its light and its button: what doctor says of each fault."""

from pathlib import Path

import pytest

from firmware_app.doctor import Status
from tests.doctor.conftest import Box


def plug_in(box: Box, card: str, usb: str = "") -> None:
    folder = "/proc/asound/card1"
    box.file(f"{folder}/id", f"{card}\n")
    box.file(f"{folder}/pcm0c/info", "")
    box.file(f"{folder}/pcm0p/info", "")
    if usb:
        box.file(f"{folder}/usbid", usb)


def test_a_box_without_a_board_is_no_fault(box: Box) -> None:
    for check in ("board", "light", "button"):
        assert box.finds(check).status is Status.PASS


class FakeControl:
    """Every level but those named as missing."""

    missing: tuple[str, ...] = ()

    def __init__(self, card: str, name: str) -> None:
        if name in self.missing:
            raise OSError("Unable to find mixer control")


@pytest.fixture(autouse=True)
def fake_levels(monkeypatch: pytest.MonkeyPatch) -> type[FakeControl]:
    monkeypatch.setattr("firmware_app.doctor.checks.board.MixerControl", FakeControl)
    monkeypatch.setattr(FakeControl, "missing", ())
    return FakeControl


def test_a_level_that_the_card_has_not_is_named(box: Box, fake_levels: type[FakeControl]) -> None:
    plug_in(box, "wm8960soundcard")
    fake_levels.missing = ("Headphone",)
    finding = box.finds("board")
    assert finding.status is Status.WARN
    assert "The card has no level Headphone, which Echo sets" in finding.line
    assert "amixer -c wm8960soundcard scontrols" in finding.mend


def test_a_board_that_is_there_is_named_with_its_parts(box: Box) -> None:
    plug_in(box, "seeed2micvoicec")
    finding = box.finds("board")
    assert finding.status is Status.PASS
    assert finding.line == (
        "ReSpeaker 2-Mic HAT: sound card seeed2micvoicec, 3 LEDs, button on GPIO17."
    )


def test_a_board_that_cannot_play_names_what_plays_for_it(box: Box) -> None:
    plug_in(box, "seeed4micvoicec")
    assert "loudspeaker the default" in box.finds("board").line


def test_a_chosen_board_that_is_not_there_says_what_to_do(box: Box) -> None:
    box.values["device.board"] = "respeaker-2mic"
    finding = box.finds("board")
    assert finding.status is Status.FAIL
    assert "respeaker-2mic (ReSpeaker 2-Mic HAT) is not there" in finding.line
    assert "dtoverlay=wm8960-soundcard" in finding.mend


def test_a_hat_whose_driver_is_missing_is_noticed(box: Box) -> None:
    box.file("/proc/device-tree/hat/product", "Voice Bonnet\0")
    finding = box.finds("board")
    assert finding.status is Status.WARN
    assert "“Voice Bonnet” is on the pins" in finding.line


def test_an_unknown_board_is_a_failure_that_lists_those_there_are(box: Box) -> None:
    box.values["device.board"] = "respeaker-9mic"
    with pytest.raises(Exception, match="There is no board respeaker-9mic") as refused:
        box.finds("board")
    assert "xvf3800" in str(refused.value)
    assert box.finds("sound-cards")  # the other checks go on


def test_the_sound_checks_take_the_boards_devices(box: Box) -> None:
    plug_in(box, "Array", "2886:001a")
    audio = box.made().audio
    assert audio.microphone == "plughw:CARD=Array,DEV=0"
    assert audio.microphone_channel == 1


@pytest.mark.skipif(Path("/dev/spidev0.0").exists(), reason="this machine has SPI")
def test_a_light_on_a_bus_that_is_switched_off_names_the_mend(box: Box) -> None:
    box.values["device.board"] = "respeaker-2mic"
    with pytest.raises(Exception, match=r"spidev0\.0, which is not there") as refused:
        box.finds("light")
    assert "raspi-config" in str(refused.value)


@pytest.mark.skipif(any(Path("/dev").glob("gpiochip*")), reason="this machine has pins")
def test_a_button_where_there_are_no_pins_names_the_mend(box: Box) -> None:
    box.values["device.board"] = "respeaker-2mic"
    with pytest.raises(Exception, match="no GPIO pins") as refused:
        box.finds("button")
    assert "python3-lgpio" in str(refused.value)


def test_beside_the_service_its_own_word_counts(box: Box) -> None:
    box.values["device.board"] = "respeaker-2mic"
    box.service(light="3 LEDs", button="GPIO17", hardware_faults={})
    assert box.finds("light").line == "The running Echo uses it: 3 LEDs."
    assert box.finds("button").status is Status.PASS
    fault = {"code": "gpio-forbidden", "what": "The pins are shut.", "mend": "Open them."}
    box.service(light="3 LEDs", hardware_faults={"button": fault})
    finding = box.finds("button")
    assert finding.status is Status.FAIL
    assert finding.line == "The pins are shut. [gpio-forbidden]"
    assert finding.mend == "Open them."
