"""Endpoints: when someone has begun to speak, and when they have finished."""

import csv
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_app.dialogue.endpoint import ENDS, Endpointer, Signal, hangs, is_whole
from firmware_app.engines.voice_activity import SileroVoiceActivity
from firmware_app.frames import BLOCK, BLOCK_MS, SAMPLE_RATE, Frame
from firmware_app.settings import EndpointSettings
from tests.frames_of import RECORDINGS, frames_of, read

SETTINGS = EndpointSettings()
QUIET = np.zeros(BLOCK, np.int16)


class Room:
    """Tells an endpointer what is heard, and notes the milliseconds of its signals."""

    def __init__(self, settings: EndpointSettings = SETTINGS, language: str = "en") -> None:
        self.endpointer = Endpointer(settings, language)
        self.ms = 0
        self.signals: list[tuple[int, Signal]] = []

    def hear(self, probability: float, ms: int) -> "Room":
        for _ in range(ms // BLOCK_MS):
            index = self.ms * SAMPLE_RATE // 1000
            frame = Frame(QUIET, index, 0.0)  # no clock but the samples' own
            self.ms += BLOCK_MS
            if signal := self.endpointer.hear(probability, frame):
                self.signals.append((self.ms, signal))
        return self

    def speech(self, ms: int) -> "Room":
        return self.hear(0.9, ms)

    def silence(self, ms: int) -> "Room":
        return self.hear(0.05, ms)

    def understood(self, text: str) -> "Room":
        self.endpointer.text(text)
        return self

    @property
    def last(self) -> tuple[int, Signal]:
        return self.signals[-1]

    def names(self) -> list[Signal]:
        return [signal for _, signal in self.signals]


def test_one_question_from_silence_to_silence() -> None:
    room = Room().silence(400).speech(1000).silence(2000)
    assert room.signals == [
        (520, Signal.SPEECH_START),
        (1520, Signal.EARLY),
        (1660, Signal.PROVISIONAL),
        (2060, Signal.FINAL),  # nothing understood so far: the middle wait, 650 ms
    ]
    assert room.endpointer.speech_start == 400 * SAMPLE_RATE // 1000
    assert room.endpointer.speech_end == 1400 * SAMPLE_RATE // 1000


@pytest.mark.parametrize(
    ("text", "wait_ms"),
    [
        ("What time is it?", 400),
        ("Turn on the kitchen light.", 400),
        ("Set a timer for ten minutes and", 900),
        ("What is the", 900),
        ("Remind me to buy milk, um...", 900),
        ("Add eggs,", 900),
        ("Set a timer for.", 900),
        ("Where is he from?", 400),
        ("Alexa.", 660),  # 650 ms, seen on the next frame
        ("two six", 660),
        ("Call 4, 0, 8.", 660),
    ],
)
def test_the_wait_follows_what_was_understood(text: str, wait_ms: int) -> None:
    room = Room().speech(1000).silence(300).understood(text).silence(2000)
    assert room.last == (1000 + wait_ms, Signal.FINAL)


def test_a_language_without_a_table_waits_the_middle_time() -> None:
    room = (
        Room(language="de").speech(1000).silence(300).understood("Wie spät ist es?").silence(2000)
    )
    assert room.last == (1660, Signal.FINAL)
    room = Room(language="de").speech(1000).silence(300).understood("Eier, Milch,").silence(2000)
    assert room.last == (1900, Signal.FINAL)


def test_a_transcript_that_comes_late_still_ends_the_wait() -> None:
    room = Room().speech(1000).silence(500).understood("What time is it?").silence(20)
    assert room.last == (1520, Signal.FINAL)


def test_a_pause_is_no_end_and_what_was_begun_is_thrown_away() -> None:
    room = Room().speech(800).silence(300).understood("What time is it?").speech(600).silence(2000)
    assert room.names() == [
        Signal.SPEECH_START,
        Signal.EARLY,
        Signal.PROVISIONAL,
        Signal.RESUMED,
        Signal.EARLY,
        Signal.PROVISIONAL,
        Signal.FINAL,
    ]
    # What was understood before the speaker went on counts no more.
    assert room.last == (1700 + 660, Signal.FINAL)


def test_short_gaps_between_syllables_are_speech() -> None:
    room = Room().speech(200)
    for _ in range(5):
        room.silence(80).speech(60)
    room.silence(2000)
    assert room.names()[:2] == [Signal.SPEECH_START, Signal.EARLY]
    assert room.signals[1][0] == 200 + 5 * 140 + 120


@pytest.mark.parametrize("ms", [20, 60, 100])
def test_a_cough_is_not_speech(ms: int) -> None:
    room = Room().silence(500).speech(ms).silence(6000)
    assert room.signals == [(5000, Signal.NOTHING_SAID)]
    assert room.endpointer.speech_start is None


def test_a_click_in_the_last_silence_changes_nothing() -> None:
    room = Room().speech(1000).silence(300).speech(40).silence(2000)
    assert room.names()[-1] is Signal.FINAL
    assert Signal.RESUMED not in room.names()
    assert room.last[0] == 1660
    assert room.endpointer.speech_end == SAMPLE_RATE


def test_nobody_is_cut_off_in_the_moment_of_going_on() -> None:
    room = Room().speech(1000).silence(620).speech(1000)
    assert room.names()[-1] is Signal.RESUMED


def test_a_voice_that_falters_is_held_by_the_lower_threshold() -> None:
    room = Room().speech(400).hear(0.4, 1000).silence(2000)
    assert room.signals[1] == (1520, Signal.EARLY)
    assert Room().hear(0.4, 6000).names() == [Signal.NOTHING_SAID]


def test_speech_that_was_going_on_already_counts_from_the_first_frame() -> None:
    room = Room().speech(1500)
    assert room.signals == [(120, Signal.SPEECH_START)]
    assert room.endpointer.speech_start == 0


def test_what_turned_out_to_be_no_speech_leaves_the_rest_of_the_wait() -> None:
    room = Room().speech(300).silence(200).understood("").silence(1000)
    assert room.names() == [Signal.SPEECH_START, Signal.EARLY]
    assert room.endpointer.speech_start is None
    room.speech(800).silence(2000)
    assert room.names()[2:] == [
        Signal.SPEECH_START,
        Signal.EARLY,
        Signal.PROVISIONAL,
        Signal.FINAL,
    ]
    assert room.endpointer.speech_start == 1500 * SAMPLE_RATE // 1000


def test_noise_alone_ends_when_the_wait_is_over() -> None:
    room = Room()
    while room.ms < 7000:
        room.speech(400).silence(160).understood("")
    assert room.last[1] is Signal.NOTHING_SAID
    assert 5000 <= room.last[0] <= 5600


def test_music_that_never_pauses_ends_at_the_limit() -> None:
    room = Room().speech(40_000)
    assert room.last == (28_000, Signal.TOO_LONG)


def test_endless_talk_with_pauses_ends_at_the_limit() -> None:
    room = Room()
    while room.ms < 40_000:
        room.speech(1000).silence(300)
    assert room.last[1] is Signal.TOO_LONG
    assert 28_000 <= room.last[0] <= 28_400


def test_lost_sound_counts_as_time() -> None:
    endpointer = Endpointer(SETTINGS)
    assert endpointer.hear(0.0, Frame(QUIET, 0, 0.0)) is None
    later = Frame(QUIET, 6 * SAMPLE_RATE, 0.0)
    assert endpointer.hear(0.0, later) is Signal.NOTHING_SAID


def test_the_settings_rule_the_waits() -> None:
    settings = EndpointSettings(
        provisional_ms=400, shortest_ms=500, longest_ms=1500, nothing_said_seconds=2.0
    )
    assert Room(settings).silence(3000).signals == [(2000, Signal.NOTHING_SAID)]
    hanging = Room(settings).speech(1000).silence(200).understood("and").silence(2000)
    assert hanging.signals[2:] == [(1400, Signal.PROVISIONAL), (2500, Signal.FINAL)]


def test_after_the_end_there_is_nothing_more_to_say() -> None:
    room = Room().silence(6000).speech(3000).silence(3000)
    assert room.names() == [Signal.NOTHING_SAID]


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1), st.integers(1, 60), st.sampled_from([None, "", "and", "It is two."])
        ),
        max_size=60,
    )
)
def test_signals_always_come_in_an_order_that_makes_sense(
    sounds: list[tuple[float, int, str | None]],
) -> None:
    room = Room()
    for probability, blocks, text in sounds:
        room.hear(probability, blocks * BLOCK_MS)
        if text is not None:
            room.understood(text)
    _check_order(room.names())
    start, end = room.endpointer.speech_start, room.endpointer.speech_end
    assert (start is None) == (end is None)
    if start is not None and end is not None:
        assert 0 <= start < end <= room.ms * SAMPLE_RATE // 1000


def _check_order(signals: Iterable[Signal]) -> None:
    speaking, paused = (Signal.SPEECH_START, Signal.RESUMED), (Signal.EARLY, Signal.PROVISIONAL)
    before: Signal | None = None
    for signal in signals:
        assert before not in ENDS
        match signal:
            case Signal.SPEECH_START:
                assert before in (None, *paused)  # paused: taken for no speech by the transcript
            case Signal.EARLY:
                assert before in speaking
            case Signal.PROVISIONAL:
                assert before is Signal.EARLY
            case Signal.RESUMED:
                assert before in paused
            case Signal.FINAL:
                assert before is Signal.PROVISIONAL
            case Signal.NOTHING_SAID:
                assert before in (None, *paused)
            case Signal.TOO_LONG:
                assert before in (*speaking, Signal.PROVISIONAL)
        before = signal


@pytest.mark.parametrize(
    ("text", "hanging"),
    [
        ("Turn the light on.", False),
        ("Delete that.", False),
        ("What can you do?", False),
        ("What is it for?", False),
        ("Set a timer for", True),
        ("Uh", True),
        ("I'd like", False),
        ("", False),
    ],
)
def test_sentences_left_hanging(text: str, hanging: bool) -> None:
    assert hangs(text, "en") is hanging


def test_whole_sentences_are_punctuated_and_longer_than_a_name() -> None:
    assert is_whole("What time is it?")
    assert not is_whole("what time is it")
    assert not is_whole("Hey Echo.")
    assert not is_whole("")


def shipped() -> list[tuple[str, float]]:
    """Recordings of people without the wake word, and the second at which they have finished."""
    with (RECORDINGS / "bench" / "manifest.csv").open() as rows:
        return [
            (row["file"], float(row["end_of_speech_seconds"]))
            for row in csv.DictReader(rows)
            if row["wake_word"] == "no"
        ]


@pytest.mark.parametrize(("file", "end"), shipped())
def test_a_real_request_is_heard_to_its_end(file: str, end: float) -> None:
    sound = np.concatenate((read(RECORDINGS / "bench" / file), np.zeros(SAMPLE_RATE, np.int16)))
    endpointer, activity = Endpointer(SETTINGS), SileroVoiceActivity()
    signals = [s for f in frames_of(sound) if (s := endpointer.hear(activity.process(f), f))]
    _check_order(signals)
    assert signals[-1] is Signal.FINAL
    assert endpointer.speech_end is not None
    assert abs(endpointer.speech_end / SAMPLE_RATE - end) < 0.6
