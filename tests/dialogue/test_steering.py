"""After the wake word the recogniser hears an array that is turned to whoever said it."""

import asyncio
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from firmware_app.app import array_of
from firmware_app.audio.array import Array
from firmware_app.audio.dsp import milliseconds, to_int16
from firmware_app.audio.wav import read_wav
from firmware_app.device.board import boards, resolved
from firmware_app.dialogue import steering
from firmware_app.dialogue.ear import RING
from firmware_app.engines import Detection
from firmware_app.events import ReplyEnded, State, TalkerDirection
from firmware_app.frames import BLOCK, Frame, Samples, dbfs
from firmware_app.settings import AudioSettings
from tests.audio.array_room import POSITIONS, Scene, frames_of_array, scene
from tests.dialogue.conftest import MakeRoom, Room
from tests.dialogue.scripted import (
    WAKE_MARK,
    ScriptedRecogniser,
    ScriptedRecognition,
    ScriptedWakeWord,
)
from tests.frames_of import RECORDINGS

TALKER = 200.0
PHRASE = milliseconds(1200)
QUESTION = milliseconds(2760)  # of the recording, by its manifest
QUIETER = 0.1  # the noise alone is to end an utterance
ALL_RAW = Array((0, 1, 2, 3), 0, POSITIONS)


class KeepingRecogniser(ScriptedRecogniser):
    """Keeps all the sound that each of its recognitions was given."""

    def __init__(self) -> None:
        super().__init__(["What time is it?"])
        self.given: list[list[Frame]] = []

    def start(self) -> "KeepingRecognition":
        self.given.append([])
        return KeepingRecognition(self, self.given[-1])

    @property
    def longest(self) -> list[Frame]:
        return max(self.given, key=len)


class KeepingRecognition(ScriptedRecognition):
    def __init__(self, recogniser: ScriptedRecogniser, given: list[Frame]) -> None:
        super().__init__(recogniser)
        self._given = given

    def feed(self, frame: Frame) -> None:
        super().feed(frame)
        self._given.append(frame)


def asked() -> Scene:
    """A question after the wake word, a noise beside, and a second of the noise alone."""
    question = read_wav(RECORDINGS / "bench" / "capital.flac")
    made = scene(
        np.pad(question, (0, milliseconds(1000))), talker=TALKER, noise_at=280.0, snr_db=10.0
    )
    return replace(made, speech=made.speech * QUIETER, noise=made.noise * QUIETER)


def frames(room: Scene) -> list[Frame]:
    """With the mark by which the scripted wake word is heard at the phrase's end."""
    all_frames = [*frames_of_array(room.raw)]
    at = (room.begins + PHRASE) // BLOCK
    marked = all_frames[at].samples.copy()
    marked[0] = WAKE_MARK
    all_frames[at] = replace(all_frames[at], samples=marked)
    return all_frames


async def hear(room: Room, sound: Sequence[Frame]) -> None:
    for frame in sound:
        await room.ear.hear(frame)
        await asyncio.sleep(0.001)


def one_microphone(scene_: Scene, given: Sequence[Frame]) -> Samples:
    return np.concatenate([scene_.raw[0, frame.index : frame.end] for frame in given])


def after_speech(given: Sequence[Frame], room: Scene) -> list[Frame]:
    """Those frames in which there is the noise alone, but for the end of the room's echo."""
    ends = room.begins + QUESTION + milliseconds(80)
    return [frame for frame in given if frame.index >= ends]


@pytest.fixture(autouse=True)
def whole_phrase(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted wake word's detections are as long as the phrase of the recording."""
    heard: Callable[[ScriptedWakeWord, Frame], Detection | None] = ScriptedWakeWord.process

    def process(self: ScriptedWakeWord, frame: Frame) -> Detection | None:
        detection = heard(self, frame)
        return detection and replace(detection, start=detection.end - PHRASE)

    monkeypatch.setattr(ScriptedWakeWord, "process", process)


async def test_the_recogniser_hears_less_noise_and_the_light_learns_where_the_talker_is(
    room: MakeRoom,
) -> None:
    there, recogniser = asked(), KeepingRecogniser()
    async with room(recogniser=recogniser, array=ALL_RAW) as echo:
        await hear(echo, frames(there))
        await echo.silence(600)
        await echo.until(ReplyEnded)
        told = await echo.until(TalkerDirection)
    assert abs((told.degrees - TALKER + 180) % 360 - 180) <= 10.0
    noise = after_speech(recogniser.longest, there)
    assert len(noise) >= 3
    quieter = dbfs(np.concatenate([frame.samples for frame in noise]))
    assert quieter < dbfs(one_microphone(there, noise)) - 3.0
    indices = [frame.index for frame in recogniser.longest]
    assert indices == [*range(indices[0], indices[-1] + 1, BLOCK)], "none lost, none twice"
    assert len(echo.all(TalkerDirection)) == 1


async def test_without_a_wake_up_the_recogniser_hears_the_one_microphone(room: MakeRoom) -> None:
    there, recogniser = asked(), KeepingRecogniser()
    async with room(recogniser=recogniser, array=ALL_RAW) as echo:
        sound = [*frames_of_array(there.raw)]
        await hear(echo, sound[:80])
        echo.dialogue.press()
        await hear(echo, sound[80:])
        await echo.silence(600)
        await echo.until(ReplyEnded)
    given = [frame for frame in recogniser.longest if frame.raw is not None]
    assert np.array_equal(
        np.concatenate([frame.samples for frame in given]), one_microphone(there, given)
    )
    assert not echo.all(TalkerDirection)


async def test_a_board_that_makes_its_sound_clear_itself_is_taken_at_its_word(
    room: MakeRoom,
) -> None:
    there, recogniser = asked(), KeepingRecogniser()
    processed = replace(ALL_RAW, heard=None)
    async with room(recogniser=recogniser, array=processed) as echo:
        await hear(echo, frames(there))
        await echo.silence(600)
        await echo.until(ReplyEnded)
        await echo.until(TalkerDirection)
    noise = after_speech(recogniser.longest, there)
    assert np.array_equal(
        np.concatenate([frame.samples for frame in noise]), one_microphone(there, noise)
    )


async def test_a_wake_up_over_echos_own_voice_is_answered_with_the_one_microphone(
    room: MakeRoom,
) -> None:
    there, recogniser = asked(), KeepingRecogniser()
    far = to_int16(np.full(BLOCK, 0.1))
    sound = frames(there)
    talking = there.begins // BLOCK
    sound[:talking] = [replace(frame, far=far) for frame in sound[:talking]]
    async with room(recogniser=recogniser, array=ALL_RAW) as echo:
        await hear(echo, sound)
        await echo.silence(600)
        await echo.until(ReplyEnded)
    noise = after_speech(recogniser.longest, there)
    assert np.array_equal(
        np.concatenate([frame.samples for frame in noise]), one_microphone(there, noise)
    )
    assert not echo.all(TalkerDirection)


def test_an_array_is_what_the_board_says() -> None:
    def found(name: str, audio: AudioSettings) -> Array | None:
        board = replace(boards()[name], card="Card")
        return array_of(resolved(audio, board), board)

    hat = found("respeaker-4mic", AudioSettings())
    assert hat is not None
    assert (hat.channels, hat.heard, len(hat.positions)) == ((0, 1, 2, 3), 0, 4)
    other = found("respeaker-4mic", AudioSettings(microphone_channels=4, microphone_channel=2))
    assert other is not None
    assert other.heard == 2
    processed = found("usb-mic-array-v2", AudioSettings())
    assert processed is not None
    assert (processed.channels, processed.heard) == ((1, 2, 3, 4), None)
    assert found("generic-usb", AudioSettings()) is None
    assert found("respeaker-4mic", AudioSettings(microphone="hw:7")) is None


async def test_raw_sound_is_kept_for_three_seconds_and_no_longer(room: MakeRoom) -> None:
    alive: list[weakref.ref[Samples]] = []
    async with room(array=ALL_RAW) as echo:
        for number in range(3 * RING):
            raw = np.zeros((4, BLOCK), np.int16)
            alive.append(weakref.ref(raw))
            quiet = np.zeros(BLOCK, np.int16)
            await echo.ear.hear(Frame(quiet, number * BLOCK, 0.0, raw=raw))
            del raw
        await echo.until_true(lambda: sum(one() is not None for one in alive) <= RING + 1)


async def test_weights_that_do_not_come_hold_nothing_up(
    room: MakeRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, recogniser = asked(), KeepingRecogniser()
    may_end = asyncio.Event()
    loop = asyncio.get_running_loop()

    def never(*_: object) -> None:
        asyncio.run_coroutine_threadsafe(may_end.wait(), loop).result()
        raise np.linalg.LinAlgError

    monkeypatch.setattr(steering, "weights", never)
    async with room(recogniser=recogniser, array=ALL_RAW) as echo:
        await hear(echo, frames(there))
        await echo.silence(600)
        await echo.until(ReplyEnded)
        assert echo.answers == ["Yes."]
        may_end.set()
        await echo.until_rest()
        assert echo.rests_in(State.IDLE)
    noise = after_speech(recogniser.longest, there)
    assert np.array_equal(
        np.concatenate([frame.samples for frame in noise]), one_microphone(there, noise)
    )
