"""Which board is there, and what it means for the sound settings."""

from pathlib import Path

import pytest

from firmware_app.device.board import BOARDS, boards, cards, chosen, raw_channels, resolved
from firmware_app.errors import SettingsError
from firmware_app.settings import AudioSettings


@pytest.fixture
def box(tmp_path: Path) -> Path:
    return tmp_path / "box"


def card(box: Path, number: int, name: str, usb: str = "", uses: str = "cp") -> None:
    """A sound card as the kernel shows it; uses: c records, p plays."""
    folder = box / "proc" / "asound" / f"card{number}"
    for use in uses:
        (folder / f"pcm0{use}").mkdir(parents=True)
    (folder / "id").write_text(f"{name}\n")
    if usb:
        (folder / "usbid").write_text(f"{usb}\n")


def names(box: Path, board: str = "auto") -> tuple[str, str]:
    found = chosen(board, box)
    audio = resolved(AudioSettings(), found)
    return audio.microphone, audio.loudspeaker


def test_a_box_without_boards_keeps_alsas_default_devices(box: Path) -> None:
    card(box, 0, "Headphones", uses="p")
    assert chosen("auto", box).name == "none"
    assert names(box) == ("default", "default")


def test_a_hat_is_known_by_its_cards_name(box: Path) -> None:
    card(box, 0, "Headphones", uses="p")
    card(box, 1, "seeed2micvoicec")
    assert chosen("auto", box).name == "respeaker-2mic"
    device = "plughw:CARD=seeed2micvoicec,DEV=0"
    assert names(box) == (device, device)


def test_the_kernels_own_overlay_names_the_same_hat_otherwise(box: Path) -> None:
    card(box, 1, "wm8960soundcard")
    assert chosen("auto", box).name == "respeaker-2mic"
    assert names(box)[0] == "plughw:CARD=wm8960soundcard,DEV=0"


def test_a_usb_board_is_known_by_its_usb_id_whatever_its_card_is_called(box: Path) -> None:
    card(box, 3, "ArrayUAC10_1", "2886:0018")
    board = chosen("auto", box)
    assert board.name == "usb-mic-array-v2"
    audio = resolved(AudioSettings(), board)
    assert audio.microphone == "plughw:CARD=ArrayUAC10_1,DEV=0"
    assert (audio.microphone_rate, audio.microphone_channels, audio.microphone_channel) == (
        16_000,
        6,
        0,
    )
    assert audio.loudspeaker_rate == 16_000


def test_the_xvf3800_is_heard_by_the_channel_made_for_recognisers(box: Path) -> None:
    card(box, 1, "Array", "2886:001A")
    audio = resolved(AudioSettings(), chosen("auto", box))
    assert (audio.microphone_channels, audio.microphone_channel) == (2, 1)


def test_any_usb_speakerphone_will_do_but_a_known_board_is_preferred(box: Path) -> None:
    card(box, 1, "Webcam", "046d:0825", uses="c")  # cannot play
    assert chosen("auto", box).name == "none"
    card(box, 2, "Speak", "0b0e:0420")
    assert chosen("auto", box).name == "generic-usb"
    assert names(box)[0] == "plughw:CARD=Speak,DEV=0"
    card(box, 3, "Array", "2886:001a")
    assert chosen("auto", box).name == "xvf3800"


def test_a_board_that_cannot_play_uses_the_boxs_own_output(box: Path) -> None:
    card(box, 1, "seeed4micvoicec", uses="c")
    assert names(box) == ("plughw:CARD=seeed4micvoicec,DEV=0", "default")
    card(box, 0, "Headphones", uses="p")
    assert names(box)[1] == "plughw:CARD=Headphones,DEV=0"
    board = chosen("auto", box)
    assert board.sound
    assert not board.sound.one_clock


def test_what_somebody_set_is_left_alone(box: Path) -> None:
    card(box, 1, "ArrayUAC10", "2886:0018")
    board = chosen("auto", box)
    own = AudioSettings(microphone="hw:CARD=Mine", loudspeaker="dmix")
    assert resolved(own, board) == own
    channel = resolved(AudioSettings(microphone_channels=6, microphone_channel=2), board)
    assert channel.microphone_channel == 2
    rate = resolved(AudioSettings(microphone_rate=48_000), board)
    assert (rate.microphone_rate, rate.microphone_channels) == (48_000, 6)


def test_a_board_is_found_by_name_too_and_may_be_absent(box: Path) -> None:
    card(box, 1, "Speak", "0b0e:0420")
    led = chosen("usb-with-led", box)
    assert led.card == "Speak"
    assert led.button
    absent = chosen("respeaker-2mic", box)
    assert absent.card == ""
    assert resolved(AudioSettings(), absent) == AudioSettings()


def test_none_has_nothing_even_beside_a_board(box: Path) -> None:
    card(box, 1, "seeed2micvoicec")
    board = chosen("none", box)
    assert (board.light, board.button, board.sound) == (None, None, None)
    assert names(box, "none") == ("default", "default")


def test_an_unknown_board_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(SettingsError) as refused:
        chosen("respeaker-9mic")
    assert refused.value.code == "board-unknown"
    assert "respeaker-2mic" in refused.value.mend


def test_a_new_board_is_a_new_file(box: Path, tmp_path: Path) -> None:
    folder = tmp_path / "boards"
    folder.mkdir()
    (folder / "none.toml").write_text('title = "No board"')
    (folder / "kitchen.toml").write_text(
        """
        title = "Kitchen board"
        cards = ["kitchen"]
        [sound]
        microphone = "hw:CARD={card}"
        rate = 32000
        channels = 2
        channel = 1
        kinds = ["loop-back", "raw"]
        loudspeaker = "hw:CARD={card}"
        loudspeaker_rate = 44100
        one_clock = true
        [light]
        kind = "rgb"
        leds = 1
        ring = false
        pins = [22, 23, 24]
        [mixer]
        Master = 70
        """
    )
    card(box, 0, "kitchen")
    board = chosen("auto", box, folder)
    assert board.title == "Kitchen board"
    assert board.light
    assert board.light.pins == (22, 23, 24)
    audio = resolved(AudioSettings(), board)
    assert (audio.microphone, audio.microphone_rate) == ("hw:CARD=kitchen", 32_000)
    assert audio.microphone_channel == 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("title =", "Invalid value"),
        ('title = "x"\ncolour = "red"', "colour"),
        ('title = "x"\n[light]\nkind = "neon"\nleds = 1\nring = false', "light is none of"),
        ('title = "x"\n[light]\nkind = "led"\nleds = 1\nring = false', "1 pins are needed"),
        ('title = "x"\n[light]\nkind = "apa102"\nleds = 3\nring = false', "needs spi"),
        ('title = "x"\n[light]\nkind = "xvf3800"\nleds = 12\nring = true', "usb id"),
        ('title = "x"\n[mixer]\nMaster = 101', "percentage"),
    ],
)
def test_a_file_that_no_board_can_be_is_named_with_what_is_wrong(
    tmp_path: Path, wrong: str, says: str
) -> None:
    (tmp_path / "odd.toml").write_text(wrong)
    with pytest.raises(SettingsError, match=r"odd\.toml") as refused:
        boards(tmp_path)
    assert says in refused.value.what


def test_a_boards_sound_cannot_contradict_itself(tmp_path: Path) -> None:
    good = (BOARDS / "usb-mic-array-v2.toml").read_text()
    for part, other in (
        ("channel = 0", "channel = 6"),
        ("channels = 6", "channels = 4"),
        ('"processed"', '"silence"'),
        ("positions = [[-0.032, 0.0], ", "positions = ["),
    ):
        assert part in good
        folder = tmp_path / part[:12].strip()
        folder.mkdir()
        (folder / "board.toml").write_text(good.replace(part, other))
        with pytest.raises(SettingsError):
            boards(folder)


def test_cards_without_a_name_are_no_cards(box: Path) -> None:
    (box / "proc" / "asound" / "card0").mkdir(parents=True)
    assert cards(box) == []
    assert cards(box / "nowhere") == []


def test_an_arrays_microphones_are_used_where_the_board_is_listened_to(box: Path) -> None:
    card(box, 1, "ArrayUAC10", usb="2886:0018")
    board = chosen("auto", box)
    audio = resolved(AudioSettings(), board)
    assert raw_channels(audio, board) == (1, 2, 3, 4)
    own = resolved(AudioSettings(microphone="hw:7"), board)
    assert raw_channels(own, board) == ()
    fewer = resolved(AudioSettings(microphone_channels=2), board)
    assert raw_channels(fewer, board) == ()


def test_boards_of_one_microphone_or_none_have_no_array() -> None:
    for name in ("none", "generic-usb", "xvf3800"):
        board = boards()[name]
        assert raw_channels(resolved(AudioSettings(), board), board) == ()
