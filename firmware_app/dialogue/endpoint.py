"""When an utterance begins and when it has ended, from speech probabilities. No I/O, no clock."""

from enum import StrEnum

from firmware_app.dialogue.language import words_if_known
from firmware_app.frames import SAMPLE_RATE, Frame
from firmware_app.settings import EndpointSettings

# Hysteresis of Silero's probability, measured on 128 utterances in quiet and in kitchen noise.
START = 0.5
STAY = 0.35
SHORTEST_SPEECH_MS = 120  # a click or a cough is shorter than any word
SHORTEST_RESUMPTION_MS = 60  # after a pause: two looks of the voice activity, to tell clicks
EARLY_MS = 120  # silence after which a look at the transcript is worth its cost


class Signal(StrEnum):
    """What the endpointer says, each at most once for one stretch of speech and its silence."""

    SPEECH_START = "speech_start"
    EARLY = "early"  # a short silence: begin the provisional transcript
    PROVISIONAL = "provisional"  # begin the reply
    RESUMED = "resumed"  # speech again: throw away what EARLY and PROVISIONAL began
    FINAL = "final"
    NOTHING_SAID = "nothing_said"
    TOO_LONG = "too_long"  # what was heard until now is the utterance


ENDS = frozenset({Signal.FINAL, Signal.NOTHING_SAID, Signal.TOO_LONG})


class Endpointer:
    """Follows one utterance. Time is the frames' sample clock, so pre-roll may come at any pace.

    speech_start, speech_end: sample indexes at which speech began and at which the last of it
    ended; None before there was any.
    """

    def __init__(self, settings: EndpointSettings, language: str = "en") -> None:
        self._settings = settings
        self._language = language
        self._began: int | None = None  # the first frame
        self._voice: int | None = None  # start of the sound that now passes for speech
        self._stage: Signal | None = None  # the last signal; None: nobody has spoken yet
        self._wait_ms = self._middle_ms
        self.speech_start: int | None = None
        self.speech_end: int | None = None

    def hear(self, probability: float, frame: Frame) -> Signal | None:
        """Take in a frame and the probability (0 to 1) that it is speech.

        After FINAL, NOTHING_SAID or TOO_LONG there is nothing more to say.
        """
        if self._stage in ENDS:
            return None
        if self._began is None:
            self._began = frame.index
        if probability >= (START if self._voice is None else STAY):
            signal = self._during_voice(frame)
        else:
            self._voice = None
            signal = self._during_silence(frame)
        self._stage = signal or self._stage
        return signal

    def text(self, transcript: str) -> None:
        """Say what was understood up to the present silence; ignored while someone speaks.

        The final wait adapts to it. An empty transcript means that no one spoke after all (a noise,
        the tail of the wake word): the endpointer waits for speech again.
        """
        if self._stage not in (Signal.EARLY, Signal.PROVISIONAL):
            return
        if transcript:
            self._wait_ms = self._final_wait_ms(transcript)
        else:
            self._stage = self.speech_start = self.speech_end = None

    def _during_voice(self, frame: Frame) -> Signal | None:
        if self._voice is None:
            self._voice = frame.index
        if _ms(frame.end - self._voice) < self._shortest_ms:
            return None
        if self.speech_start is None and self._waited_out(self._voice):
            return Signal.NOTHING_SAID
        self.speech_end = frame.end
        if self.speech_start is None:
            self.speech_start = self._voice
            return Signal.SPEECH_START
        if self._stage in (Signal.EARLY, Signal.PROVISIONAL):
            self._wait_ms = self._middle_ms
            return Signal.RESUMED
        return Signal.TOO_LONG if self._too_long(frame) else None

    def _during_silence(self, frame: Frame) -> Signal | None:
        if self.speech_end is None:
            return Signal.NOTHING_SAID if self._waited_out(frame.end) else None
        silence_ms = _ms(frame.end - self.speech_end)
        if self._stage not in (Signal.EARLY, Signal.PROVISIONAL):
            return Signal.EARLY if silence_ms >= EARLY_MS else None
        if self._stage is Signal.EARLY:
            return Signal.PROVISIONAL if silence_ms >= self._settings.provisional_ms else None
        if silence_ms >= self._wait_ms:
            return Signal.FINAL
        return Signal.TOO_LONG if self._too_long(frame) else None

    def _waited_out(self, sample: int) -> bool:
        waited_ms = _ms(sample - (self._began or 0))
        return waited_ms >= self._settings.nothing_said_seconds * 1000

    def _too_long(self, frame: Frame) -> bool:
        return (
            _ms(frame.end - (self.speech_start or 0))
            >= self._settings.longest_utterance_seconds * 1000
        )

    @property
    def _shortest_ms(self) -> float:
        """Shorter voice than this is a noise; what joins on to speech is always speech."""
        if self._stage is None:
            return SHORTEST_SPEECH_MS
        return 0 if self._stage in (Signal.SPEECH_START, Signal.RESUMED) else SHORTEST_RESUMPTION_MS

    @property
    def _middle_ms(self) -> float:
        return (self._settings.shortest_ms + self._settings.longest_ms) / 2

    def _final_wait_ms(self, transcript: str) -> float:
        if hangs(transcript, self._language):
            return self._settings.longest_ms
        if words_if_known(self._language) and is_whole(transcript):
            return self._settings.shortest_ms
        return self._middle_ms


def hangs(transcript: str, language: str) -> bool:
    """Whether the sentence asks to be continued."""
    text = transcript.strip()
    if text.endswith((",", "...", "…", "-", ":", ";")):
        return True
    last = text.rsplit(maxsplit=1)[-1].strip(".!?\u00bf\u00a1\"'").lower() if text else ""
    words = words_if_known(language)
    if text.endswith("?") and last in words.get("last_in_questions", ()):
        return False
    return last in words.get("hanging", ())


def is_whole(transcript: str) -> bool:
    """Whether it has the look of a whole sentence, as far as the recogniser punctuates.

    One or two words may be the beginning of more, and so may a number that is read out.
    """
    words = transcript.split()
    return len(words) >= 3 and transcript.endswith((".", "?", "!")) and not words[-1][0].isdigit()


def _ms(samples: int) -> float:
    return samples * 1000 / SAMPLE_RATE
