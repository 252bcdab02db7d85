"""The sound check tells what is wrong with microphone, loudspeaker and room."""

import stat
import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firmware_app.audio.sound_check import chirp
from firmware_app.audio.wav import read_wav
from firmware_app.device.board import Board, Sound
from firmware_app.doctor import Finding, Status, sound_check
from firmware_app.doctor.sound_check import Recorded, SoundCheck, findings, record
from firmware_app.engines import Detection
from firmware_app.engines.wake import OpenWakeWord
from firmware_app.errors import DeviceError
from firmware_app.frames import SAMPLE_RATE, Frame, Samples
from firmware_app.settings import AudioSettings
from tests.alsa_fixture import AlsaDevices

DEMO = Path(__file__).parents[2] / "recordings" / "demo"
BOARD = Board("none", "No board")


class FakeWakeWord:
    """Hears the wake word wherever a block begins with exactly 12345."""

    score = 0.0

    def process(self, frame: Frame) -> Detection | None:
        heard = frame.samples[0] == 12345
        self.score = 0.8 if heard else 0.1
        return Detection("hey_echo", 0.8, frame.index, frame.end, frame.heard_at) if heard else None


def room(seconds: float, level: float = 0.002, channels: int = 1) -> Recorded:
    made = np.random.default_rng(3).normal(
        0, level * 32768, (round(seconds * SAMPLE_RATE), channels)
    )
    return np.rint(made).astype(np.int16)


def spoken(level: float = 0.1) -> Recorded:
    sound = room(4.0)
    voice = np.random.default_rng(4).normal(0, level * 32768, SAMPLE_RATE)
    sound[SAMPLE_RATE : 2 * SAMPLE_RATE, 0] = np.clip(voice, -32768, 32767)
    sound[2 * SAMPLE_RATE, 0] = 12345
    return sound


@pytest.fixture
def good() -> SoundCheck:
    return SoundCheck(room(3.0), room(3.0), 0.025, spoken(), 0)


def found(check: SoundCheck, board: Board = BOARD) -> dict[str, Finding]:
    wake: OpenWakeWord = FakeWakeWord()  # type: ignore[assignment] # it has only what is used
    return dict(findings(check, board, wake))


def test_all_is_well(good: SoundCheck) -> None:
    told = found(good)
    assert {finding.status for finding in told.values()} == {Status.PASS}
    assert "25 ms later" in told["echo"].line
    assert "heard once, with a score up to 0.80" in told["wake-word"].line


def test_each_fault_is_told_with_its_mend(good: SoundCheck) -> None:
    for name, changed, says in (
        ("noise", replace(good, quiet=room(3.0, 0.05)), "which is loud"),
        ("echo", replace(good, delay=None), "was not heard"),
        ("echo", replace(good, delay=0.3), "too late for echo cancellation"),
        ("voice", replace(good, speech=spoken(0.5)), "of it is clipped"),
        ("voice", replace(good, speech=spoken(0.003)), "that is faint"),
        ("wake-word", replace(good, speech=room(4.0)), "not heard; the best score was 0.10"),
        ("channels", replace(good, channel=3), "channel 3 was asked"),
    ):
        told = found(changed)
        assert says in told[name].line
        assert told[name].status is not Status.PASS
        assert told[name].mend


def with_channels(check: SoundCheck, channel: int) -> SoundCheck:
    """Channel 0 dead, 1 the microphone, 2 the same again, 3 the loudspeaker's own signal."""

    def four(sound: Recorded, played: Samples | None = None) -> Recorded:
        dead, loop_back = np.zeros(len(sound), np.int16), np.zeros(len(sound), np.int16)
        if played is not None:
            loop_back[1000 : 1000 + len(played)] = played
        return np.stack((dead, sound[:, 0], sound[:, 0], loop_back), axis=1)

    return SoundCheck(
        four(check.quiet), four(check.echo, chirp()), check.delay, four(check.speech), channel
    )


def test_the_channels_of_an_array_are_told_apart(good: SoundCheck) -> None:
    line = found(with_channels(good, 1))["channels"].line
    assert line == (
        "4 channels, number 1 is heard; silent: 0; the loudspeaker's own signal: 3; "
        "the same as another: 2."
    )
    for channel, what in ((0, "silent"), (3, "the loudspeaker's own signal")):
        told = found(with_channels(good, channel))["channels"]
        assert what in told.line
        assert told.mend == "hey-echo config set audio.microphone_channel 1"


def test_another_order_than_the_boards_is_told(good: SoundCheck) -> None:
    sound = Sound("hw:0", 16_000, 4, 0, ("loop-back", "raw", "raw", "raw"), "hw:0", 48_000, True)
    board = replace(BOARD, title="An array", sound=sound)
    told = found(with_channels(good, 1), board)["channels"]
    assert (told.status, "another one than An array" in told.line) == (Status.WARN, True)


def test_it_asks_records_and_forgets_unless_it_is_to_be_kept(
    alsa: AlsaDevices, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("QUIET_SECONDS", "SPEECH_SECONDS", "SETTLE_SECONDS"):
        monkeypatch.setattr(sound_check, name, 0.3)
    microphone, loudspeaker = alsa.microphone(), alsa.loudspeaker()
    microphone.say(read_wav(DEMO / "question.wav"))
    audio = AudioSettings(microphone=microphone.name, loudspeaker=loudspeaker.name)
    asked: list[str] = []
    check = record(audio, 80, "Hey Echo", asked.append)
    assert len(asked) == 3
    assert "Hey Echo" in asked[2]
    assert len(check.quiet) == pytest.approx(0.3 * SAMPLE_RATE, rel=0.5)
    assert np.any(check.speech)
    assert np.any(loudspeaker.frames())
    assert list(tmp_path.rglob("*.wav")) == []
    sound_check.keep(check, tmp_path / "kept.wav")
    with wave.open(str(tmp_path / "kept.wav")) as kept:
        assert kept.getnframes() == len(check.everything)
    assert stat.S_IMODE((tmp_path / "kept.wav").stat().st_mode) == 0o600


def test_a_microphone_that_delivers_nothing_is_named(alsa: AlsaDevices) -> None:
    microphone = alsa.microphone(plugged=False)
    with pytest.raises(DeviceError):
        record(AudioSettings(microphone=microphone.name), 80, "Hey Echo", lambda said: None)
