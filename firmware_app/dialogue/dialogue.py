"""The dialogue: wake, listen, think, speak, follow up; and what interrupts what."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firmware_app.audio import Sink, Source
from firmware_app.dialogue.answering import Answering, Question
from firmware_app.dialogue.conversation import Conversation
from firmware_app.dialogue.ear import Ear, EarFailed, Heard, WakeUp
from firmware_app.dialogue.follow_up import Addressed, FollowUpGuard, phrase_level, speech_level
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.listening import Gate, Listening, Utterance
from firmware_app.dialogue.reply import Mouth
from firmware_app.engines import Engines
from firmware_app.errors import EchoError, EngineError, ServiceError, UsageError, the_one
from firmware_app.events import (
    CarriedOn,
    Events,
    Notice,
    PartialTranscript,
    SavingChanged,
    State,
    StateChanged,
    TurnDropped,
    TurnTraced,
    WakeWasFalse,
    WakeWordHeard,
)
from firmware_app.frames import BLOCK, BLOCK_MS
from firmware_app.settings import Settings
from firmware_app.traces import Outcome, Stage, Trace, Traces

log = logging.getLogger(__name__)

WAITING_MESSAGES = 4  # typed messages that may wait during a reply
PRE_ROLL = 3 * BLOCK  # samples before the end of the wake phrase that are recognised with it
WAKE_TAIL = 12 * BLOCK  # samples by which the wake phrase may last longer than was detected
PRESS_PRE_ROLL = 15 * BLOCK  # people press while they begin to speak
ECHO_TAIL_SECONDS = 0.2  # the room still sounds when the loudspeaker has stopped


@dataclass(frozen=True, slots=True)
class _Called:
    wake_up: WakeUp


@dataclass(frozen=True, slots=True)
class _Pressed:
    pass


@dataclass(frozen=True, slots=True)
class _Typed:
    text: str
    clauses: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)


@dataclass(frozen=True, slots=True)
class _CarryOn:
    uuid: str
    done: asyncio.Future[Conversation]

    def refuse(self, error: EchoError) -> None:
        if not self.done.done():
            self.done.set_exception(error)


_Begin = _Called | _Pressed | _Typed


class Dialogue:
    """One room's dialogue. `run` it beside `listen_to`; `press`, `ask` and `stop` come between.

    keeper: has the open conversation, and saves it or not.
    """

    def __init__(
        self,
        settings: Settings,
        engines: Engines,
        ear: Ear,
        sink: Sink,
        keeper: Keeper,
        events: Events,
        traces: Traces,
    ) -> None:
        self._settings = settings
        self._engines = engines
        self._ear = ear
        self._events = events
        self._traces = traces
        self._keeper = keeper
        keeper.meters = lambda: self._engines.meters
        mouth = Mouth(engines.voice, sink, settings.voice.volume)
        self._answering = Answering(
            settings,
            engines.model,
            mouth,
            engines.names,
            keeper,
            events,
            self._set_state,
            self._on_false_wake,
        )
        self._waiting: deque[_Begin | _CarryOn] = deque()
        self._arrived = asyncio.Event()
        self._turn: asyncio.Task[None] | None = None
        self._window: Listening | None = None  # open for a follow-up
        self._source_ended = False
        self._session = 0
        self._heard: asyncio.Queue[Heard | None] = asyncio.Queue()
        self._deaf_because = ""
        self._state = State.STARTING

    @property
    def state(self) -> State:
        return self._state

    async def run(self) -> None:
        """Take turns until cancelled. Raises what makes the ear deaf."""
        self._rest()
        self._events.publish(SavingChanged(self._keeper.status))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._answering.warm_up())
                group.create_task(self._sort_what_is_heard())
                group.create_task(self._take_turns())
        finally:
            for begin in self._waiting:
                if isinstance(begin, _CarryOn):
                    begin.refuse(_stopping())
            await self._answering.close()

    async def listen_to(self, source: Source) -> None:
        """Hear a source to its end; a device has none."""
        async for frame in source:
            await self._ear.hear(frame)
        self._source_ended = True
        self._heard.put_nowait(None)

    def press(self) -> None:
        """The button: stop what is being said, or listen without the wake word."""
        if self._state is State.SPEAKING:
            self.stop()
        else:
            self._begin_now(_Pressed())

    def stop(self) -> None:
        """Stop the turn that is running; the conversation stays open."""
        if self._turn and not self._turn.cancelling():
            self._turn.cancel()

    async def ask(self, text: str) -> AsyncGenerator[str, None]:
        """A typed message; yields the answer's clauses. It waits while another is answered.

        Raises UsageError where too many wait already.
        """
        if sum(isinstance(begin, _Typed) for begin in self._waiting) >= WAITING_MESSAGES:
            raise UsageError(
                "too-many-messages",
                f"{WAITING_MESSAGES} messages are waiting for their answer already.",
                "Wait for one of them, then send this again.",
            )
        typed = _Typed(text)
        self._begin_in_turn(typed)
        while (clause := await typed.clauses.get()) is not None:
            yield clause

    async def carry_on(self, beginning: str) -> Conversation:
        """Go on with the saved conversation whose uuid begins so.

        It waits while a question is answered; whoever asks for another meanwhile is preferred.
        Raises NoConversationError, PaneError, NotSavedError, UsageError where another was
        preferred, ServiceError where Echo stops before.
        """
        uuid = await self._keeper.find(beginning)
        for waiting in [begin for begin in self._waiting if isinstance(begin, _CarryOn)]:
            self._waiting.remove(waiting)
            waiting.refuse(
                UsageError(
                    "another-preferred",
                    "Another conversation was asked for meanwhile.",
                    "Ask for this one again, if you still want it.",
                )
            )
        carry_on = _CarryOn(uuid, asyncio.get_running_loop().create_future())
        self._begin_in_turn(carry_on)
        return await carry_on.done

    def apply(self, settings: Settings) -> None:
        """Take over what may change at any time: sensitivity, pace, volume, follow-ups."""
        self._settings = settings
        self._ear.sense(settings.wake.sensitivity)
        self._engines.voice.speed = settings.voice.speed
        self._answering.set_volume(settings.voice.volume)

    async def use(self, engines: Engines) -> None:
        """Go on with these engines, between two turns; the conversation and its numbers stay.

        The wake word and voice activity stay as they are.
        """
        while self._turn:
            await asyncio.wait([self._turn])
        self._engines = engines
        self._ear.verified(engines.verifier is not None)
        self._answering.use(engines.model, engines.voice, engines.names)

    def hears(self, hearing: bool, why: str = "") -> None:
        """The microphone was lost, or is back."""
        self._deaf_because = "" if hearing else why
        if not self.busy:
            self._rest()
        elif not hearing and self._state is State.LISTENING:
            self.stop()

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits."""
        return bool(self._waiting or self._turn)

    @property
    def expects_speech(self) -> bool:
        """Whether someone may speak: Echo rests, or has opened a window for a follow-up."""
        return not self.busy or (self._window is not None and not self._window.speech_heard)

    async def heard_out(self) -> None:
        """Wait until the source has ended and the last turn with it."""
        while self.busy or not self._source_ended:
            await asyncio.sleep(BLOCK_MS / 1000)

    def _rest(self) -> None:
        """Nothing is going on; without a microphone that is no idling."""
        if self._deaf_because:
            self._set_state(State.ERROR, self._deaf_because)
        else:
            self._set_state(State.IDLE)

    def _set_state(self, state: State, detail: str = "") -> None:
        if state is not self._state:
            self._state = state
            self._ear.raise_threshold(state is State.SPEAKING)
            self._events.publish(StateChanged(state, detail))

    # What comes in, and what gives way to it.

    async def _sort_what_is_heard(self) -> None:
        while True:
            match await self._ear.heard.get():
                case Heard() as heard:
                    if heard.session == self._session:
                        self._heard.put_nowait(heard)
                case WakeUp() as wake_up:
                    detection = wake_up.detection
                    self._events.publish(WakeWordHeard(detection.word, detection.score))
                    self._begin_now(_Called(wake_up))
                case EarFailed(error):
                    raise EngineError(
                        "ear-failed",
                        f"Listening for the wake word failed ({error}).",
                        "Restart Echo; if it happens again, run ./scripts/setup.",
                    ) from error

    def _begin_now(self, begin: _Called | _Pressed) -> None:
        """Someone speaks: whatever turn runs is over."""
        if self._waiting and not isinstance(self._waiting[0], _Typed):
            self._waiting.popleft()
        self._waiting.appendleft(begin)
        self._arrived.set()
        self.stop()

    def _begin_in_turn(self, begin: _Typed | _CarryOn) -> None:
        """It has time: only a window in which nobody speaks gives way to it."""
        self._waiting.append(begin)
        self._arrived.set()
        if self._window and not self._window.speech_heard:
            self.stop()

    async def _take_turns(self) -> None:
        while True:
            while not self._waiting:
                self._rest()
                self._arrived.clear()
                await self._arrived.wait()
            begin = self._waiting.popleft()
            if isinstance(begin, _CarryOn):
                await self._go_on_with(begin)
                continue
            turn = self._turn = asyncio.create_task(self._one_turn(begin))
            try:
                await asyncio.wait([turn])
            finally:
                self.stop()
                await asyncio.wait([turn])
                self._turn = None
            if not turn.cancelled() and (error := turn.exception()):
                self._report(error)

    async def _go_on_with(self, carry_on: _CarryOn) -> None:
        try:
            conversation = await self._keeper.carry_on(carry_on.uuid)
        except EchoError as error:
            carry_on.refuse(error)
        except asyncio.CancelledError:
            carry_on.refuse(_stopping())
            raise
        else:
            self._answering.read_anew()
            self._events.publish(CarriedOn(conversation.uuid, conversation.title))
            if not carry_on.done.done():
                carry_on.done.set_result(conversation)

    def _report(self, error: BaseException) -> None:
        """Something failed a turn: say so, and be ready for the next."""
        error = the_one(error)
        if not isinstance(error, EchoError):
            log.error("a turn failed", exc_info=error)
            error = EngineError(
                "turn-failed",
                f"A question could not be answered ({type(error).__name__}).",
                "Ask again; if it happens again, see the log: journalctl -u hey-echo",
            )
        self._events.publish(Notice(error.code, str(error)))

    async def _one_turn(self, begin: _Begin) -> None:
        match begin:
            case _Typed(text, clauses):
                await self._typed_turn(text, clauses)
            case _Called(wake_up):
                await self._talk(wake_up.detection.end - PRE_ROLL, wake_up)
            case _Pressed():
                await self._talk(self._ear.now - PRESS_PRE_ROLL, None)

    async def _typed_turn(self, text: str, clauses: asyncio.Queue[str | None]) -> None:
        trace = Trace(time.time(), spoken=False)
        trace.mark(Stage.TRANSCRIPT, time.monotonic())
        self._keeper.turn_begins()
        try:
            question = Question(text, 1.0, "text", clauses.put_nowait)
            await self._answering.answer(question, None, trace)
        finally:
            self._traces.add(trace)
            self._events.publish(TurnTraced(trace))
            clauses.put_nowait(None)

    async def _talk(self, since: int, wake_up: WakeUp | None) -> None:
        """A question, and what follows it up without the wake word."""
        said = await self._spoken_turn(since, wake_up, Addressed(self._answering))
        level = phrase_level(wake_up.before, wake_up.detection) if wake_up else None
        if said and level is None:
            level = speech_level(said.speech)
        guard = FollowUpGuard(level or 0.0, self._answering)
        while said:
            if self._answering.obeying.asks:
                guard = FollowUpGuard(level or 0.0, self._answering)
            elif not guard.open or not self._settings.dialogue.follow_up:
                break
            await asyncio.sleep(ECHO_TAIL_SECONDS)
            if self._waiting:
                break
            said = await self._spoken_turn(self._ear.now, None, guard)
            guard.answered()
        self._answering.obeying.leave()

    async def _spoken_turn(
        self, since: int, wake_up: WakeUp | None, gate: Gate
    ) -> Utterance | None:
        """Listen, and answer. None where nothing was said, or not to Echo."""
        trace = Trace(time.time())
        self._keeper.turn_begins()
        try:
            utterance = await self._listen(since, wake_up, gate, trace)
            if utterance:
                question = Question(
                    utterance.transcript.text, utterance.transcript.confidence, "voice"
                )
                await self._answering.answer(question, utterance.prepared, trace)
            return utterance
        finally:
            if trace.outcome:
                self._traces.add(trace)
                self._events.publish(TurnTraced(trace))

    async def _listen(
        self, since: int, wake_up: WakeUp | None, gate: Gate, trace: Trace
    ) -> Utterance | None:
        """What was said, if it was said to Echo; a doubtful wake-up is judged beside it."""
        if wake_up:
            trace.mark(Stage.DETECTION, wake_up.detection.heard_at)
            trace.wake_score = wake_up.detection.score
        self._set_state(State.LISTENING)
        window = self._settings.dialogue.follow_up_seconds
        listening = Listening(
            self._engines.recogniser,
            self._settings.endpoint,
            self._settings.language,
            window if gate.follow_up else self._settings.endpoint.nothing_said_seconds,
            wake_up.detection.end + WAKE_TAIL if wake_up else 0,
            gate,
            trace,
            lambda transcript: self._answering.prepare(transcript.text, trace),
            self._on_partial,
        )
        self._window = listening if gate.follow_up else None
        self._heard = asyncio.Queue()
        self._session = self._ear.attend(since)
        hearing = asyncio.create_task(listening.utterance(self._frames()))
        verdict = asyncio.create_task(self._verify(wake_up, trace))
        utterance: Utterance | None = None
        try:
            if not await verdict:
                self._drop(trace, Outcome.REJECTED)
            elif utterance := await hearing:
                self._set_state(State.THINKING)
            else:
                rejected = gate.follow_up and listening.rejected
                self._drop(trace, Outcome.NOT_ADDRESSED if rejected else Outcome.NOTHING_SAID)
            return utterance
        finally:
            self._window = None
            self._session = 0
            self._ear.rest()
            await _end(verdict)
            await _end(hearing)
            if not utterance and not hearing.cancelled() and not hearing.exception():
                await _discard(hearing.result())

    async def _frames(self) -> AsyncGenerator[Heard, None]:
        while not (self._source_ended and self._heard.empty()):
            heard = await self._heard.get()
            if heard is None:
                return
            yield heard

    def _on_partial(self, text: str) -> None:
        self._events.publish(PartialTranscript(text))
        self._answering.anticipate(text)

    async def _verify(self, wake_up: WakeUp | None, trace: Trace) -> bool:
        """The second look at a doubtful wake-up; it runs beside listening."""
        verifier = self._engines.verifier
        if not wake_up or wake_up.detection.certain or not verifier:
            return True
        began = time.monotonic()
        before = [frame.samples for frame in wake_up.before]
        verdict = await verifier.verify(np.concatenate(before), wake_up.detection)
        trace.second_stage_ms = (time.monotonic() - began) * 1000
        trace.second_stage_score = verdict.score
        trace.second_stage_accepted = verdict.accepted
        return verdict.accepted

    def _on_false_wake(self) -> None:
        """The last turn that began with the wake word, before this one, was not for Echo."""
        for trace in reversed(self._traces.recent()):
            if trace.wake_score is not None:
                trace.false_wake = True
                self._events.publish(WakeWasFalse(trace))
                return

    def _drop(self, trace: Trace, outcome: Outcome) -> None:
        trace.outcome = outcome
        self._events.publish(TurnDropped(outcome))


def _stopping() -> ServiceError:
    return ServiceError("stopping", "Echo is stopping.", "Try again when it runs.")


async def _end(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def _discard(utterance: Utterance | None) -> None:
    if utterance and utterance.prepared:
        await utterance.prepared.discard()
