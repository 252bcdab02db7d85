"""The dialogue: wake, listen, think, speak, follow up; and what interrupts what."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firmware_app.audio import Sink, Source
from firmware_app.audio.array import Array
from firmware_app.audio.chimes import chime
from firmware_app.dialogue.answering import Answering, Question
from firmware_app.dialogue.chiming import WakeChime
from firmware_app.dialogue.conversation import Conversation
from firmware_app.dialogue.ear import Burst, Ear, EarFailed, Heard, WakeUp
from firmware_app.dialogue.follow_up import Addressed, FollowUpGuard, phrase_level, speech_level
from firmware_app.dialogue.keeping import Asked, Keeper
from firmware_app.dialogue.listening import Gate, Listening, Utterance
from firmware_app.dialogue.opening import Opening
from firmware_app.dialogue.reply import Mouth
from firmware_app.dialogue.steering import Steering
from firmware_app.engines import EngineNames, Engines
from firmware_app.errors import EchoError, EngineError, ServiceError, UsageError, the_one
from firmware_app.events import (
    CarriedOn,
    Events,
    Notice,
    PartialTranscript,
    SavingChanged,
    State,
    StateChanged,
    Status,
    TurnDropped,
    TurnTraced,
    WakeWasFalse,
    WakeWordHeard,
)
from firmware_app.frames import BLOCK, BLOCK_MS, Samples
from firmware_app.settings import Settings
from firmware_app.skills.registry import Skills
from firmware_app.traces import Outcome, Stage, Trace, Traces

log = logging.getLogger(__name__)

WAITING_MESSAGES = 4  # typed messages that may wait during a reply
PRE_ROLL = 3 * BLOCK  # samples before the end of the wake phrase that are recognised with it
WAKE_TAIL = 12 * BLOCK  # samples by which the wake phrase may last longer than was detected
PRESS_PRE_ROLL = 15 * BLOCK  # people press while they begin to speak
NOT_CLOSED_YET = "The microphone is not closed yet."
ECHO_TAIL_SECONDS = 0.2  # the room still sounds when the loudspeaker has stopped
STOP_WORD = "stop"


@dataclass(frozen=True, slots=True)
class _Called:
    """trace: of the turn that it begins, with the second look where that came first."""

    wake_up: WakeUp
    trace: Trace


@dataclass(frozen=True, slots=True)
class _Pressed:
    pass


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed message that was accepted; it waits for its turn.

    asked: where it is a question, which is committed then; None for a command. clauses: of the
    answer, None at its end.
    """

    text: str
    conversation: Conversation
    asked: Asked | None
    clauses: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)


@dataclass(frozen=True, slots=True)
class _Announced:
    text: str
    sound: Samples | None
    done: asyncio.Future[None]


_Begin = _Called | _Pressed | Typed | _Announced


class Dialogue:
    """One room's dialogue. `run` it beside `listen_to`; `press`, `ask` and `stop` come between.

    keeper: has the open conversation, and saves it or not. skills: are asked before the model is.
    array: whose microphones are turned to whoever said the wake word.
    stop_ringing: ends what rings, and tells whether anything did.
    """

    stop_ringing: Callable[[], bool] = staticmethod(lambda: False)

    def __init__(
        self,
        settings: Settings,
        engines: Engines,
        ear: Ear,
        sink: Sink,
        keeper: Keeper,
        events: Events,
        traces: Traces,
        skills: Skills,
        array: Array | None = None,
    ) -> None:
        self._settings = settings
        self._engines = engines
        self._ear = ear
        self._steering = Steering(array, events) if array else None
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
            skills,
            self._set_state,
            self.note_false_wake,
        )
        self._waiting: deque[_Begin | Opening] = deque()
        self._opening: Opening | None = None  # that is being done now
        self._arrived = asyncio.Event()
        self._turn: asyncio.Task[None] | None = None
        self._window: Listening | None = None  # open for a follow-up
        self._announcing = False
        self._chiming: asyncio.Task[None] | None = None
        self._judging: asyncio.Task[None] | None = None  # whether somebody said "stop"
        self._doubting: asyncio.Task[None] | None = None  # whether it was called during a turn
        self._source_ended = False
        self._session = 0
        self._heard: asyncio.Queue[Heard | None] = asyncio.Queue()
        self._deaf_because = ""
        self._closed_because = ""  # people want the microphone closed
        self._closed = False  # and the device reports that it is
        self._state = State.STARTING
        self._detail = ""

    @property
    def state(self) -> State:
        return self._state

    @property
    def detail(self) -> str:
        """What there is to say about the state; empty where it speaks for itself."""
        return self._detail

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
            for looking in (self._judging, self._doubting):
                if looking:
                    await _end(looking)
            self._give_up_what_waits()
            await self._answering.close()

    async def listen_to(self, source: Source) -> None:
        """Hear a source to its end; a device has none."""
        async for frame in source:
            await self._ear.hear(frame)
        self._source_ended = True
        self._heard.put_nowait(None)

    def press(self) -> None:
        """The button: stop what rings or is being said, or listen without the wake word."""
        rang = self.stop_ringing()
        if self._state is State.SPEAKING:
            self._end_turn()
        elif not rang:
            self._begin_now(_Pressed())

    def stop(self) -> None:
        """Stop what rings, and the turn that is running; the conversation stays open."""
        self.stop_ringing()
        self._end_turn()

    def _end_turn(self) -> None:
        if self._turn and not self._turn.cancelling():
            self._turn.cancel()

    def cancel_listening(self) -> None:
        """Hear no question out; a reply goes on."""
        for begin in [b for b in self._waiting if isinstance(b, _Called | _Pressed)]:
            self._waiting.remove(begin)
        if self._state is State.LISTENING:
            self._end_turn()

    async def ask(self, text: str) -> AsyncGenerator[str, None]:
        """A message typed by the room's owner; yields the answer's clauses.

        It waits while another is answered. Raises UsageError where too many wait already.
        """
        typed = self.accept(text, self.conversation_of(self._keeper.room_owner))
        while (clause := await typed.clauses.get()) is not None:
            yield clause

    def accept(self, text: str, into: Conversation, key: str = "") -> Typed:
        """Take a typed message for this conversation; a question is committed at once.

        It waits while another is answered. Raises UsageError where too many wait already.
        """
        if sum(isinstance(begin, Typed) for begin in self._waiting) >= WAITING_MESSAGES:
            raise UsageError(
                "too-many-messages",
                f"{WAITING_MESSAGES} messages are waiting for their answer already.",
                "Wait for one of them, then send this again.",
            )
        asked = None
        if self._answering.makes_an_exchange(text, "text"):
            self._keeper.turn_begins(into)
            asked = self._keeper.ask(text, "text", self._engines.names, 1.0, into=into, key=key)
        typed = Typed(text, into, asked)
        self._begin_in_turn(typed)
        return typed

    def conversation_of(self, owner: str) -> Conversation:
        """The one that a message of this owner's belongs to: open, about to be so, or new."""
        waits = self.waiting_of(owner)
        if waits:
            return waits
        conversation = self._keeper.conversation
        return conversation if conversation.owner == owner else Conversation(owner)

    def waiting_of(self, owner: str) -> Conversation | None:
        """The conversation of this owner's that will be the open one when its turn comes."""
        for begin in reversed(self._waiting):
            if isinstance(begin, Typed) and begin.conversation.owner == owner:
                return begin.conversation
            if isinstance(begin, Opening) and begin.owner == owner and begin.new:
                return begin.new
        return None

    async def opened(self, owner: str) -> None:
        """Wait until a saved conversation that this owner wants to go on with is open.

        Raises what `Opening.done` does.
        """
        for opening in (*reversed(self._waiting), self._opening):
            if isinstance(opening, Opening) and opening.owner == owner and not opening.new:
                await asyncio.shield(opening.done)

    async def carry_on(self, beginning: str) -> Conversation:
        """Go on with the room's saved conversation whose uuid begins so.

        It waits while a question is answered. Raises what `find` and `Opening.done` do.
        """
        owner = self._keeper.room_owner
        opening = Opening(owner, await self._keeper.find(beginning, owner))
        self.open(opening)
        return await opening.done

    def open(self, opening: Opening) -> None:
        """Do it when no question is being answered; whoever asks for another is preferred."""
        self.forgo_openings()
        self._begin_in_turn(opening)

    def forgo_openings(self) -> None:
        """Somebody wants another conversation than those that wait to be opened."""
        for waiting in [begin for begin in self._waiting if isinstance(begin, Opening)]:
            self._waiting.remove(waiting)
            waiting.refuse(
                UsageError(
                    "another-preferred",
                    "Another conversation was asked for meanwhile.",
                    "Ask for this one again, if you still want it.",
                )
            )

    async def announce(self, text: str, sound: Samples | None = None) -> None:
        """Say something of Echo's own, after a sound: no reply, no entry, never kept.

        It waits for the turn that runs; whoever speaks to Echo cuts it short. Raises EngineError
        where the voice fails, ServiceError where Echo stops before.
        """
        announced = _Announced(text, sound, asyncio.get_running_loop().create_future())
        self._begin_in_turn(announced)
        await announced.done

    def as_text(self, text_only: bool) -> None:
        """Whether answers are shown and not spoken; one that sounds now goes on as text."""
        self._answering.as_text(text_only)
        if text_only and self._state is State.SPEAKING and not self._announcing:
            self._set_state(State.THINKING)

    def so_far(self, conversation: Conversation) -> str | None:
        """The answer in progress there, as far as it was said or shown; None where none is."""
        return self._answering.so_far(conversation)

    def close_ears(self, because: str, closed: bool) -> None:
        """because: why people want the microphone closed; empty where they do not.

        closed: whether the device reports that it is. A turn that listens is over.
        """
        self._closed_because, self._closed = because, closed
        if because:
            self.cancel_listening()
        if not self.busy:
            self._rest()

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
        elif not hearing:
            self.cancel_listening()

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
        self._answering.rest()
        if self._closed:
            self._set_state(State.MUTED, self._closed_because)
        elif self._deaf_because:
            self._set_state(State.ERROR, self._deaf_because)
        else:
            self._set_state(State.IDLE, NOT_CLOSED_YET if self._closed_because else "")

    def _set_state(self, state: State, detail: str = "") -> None:
        if (state, detail) != (self._state, self._detail):
            self._state, self._detail = state, detail
            self._ear.raise_threshold(state is State.SPEAKING)
            if self._engines.stop_word:
                self._ear.give_bursts(state is State.SPEAKING)
            self._events.publish(StateChanged(state, detail))

    # What comes in, and what gives way to it.

    async def _sort_what_is_heard(self) -> None:
        while True:
            match await self._ear.heard.get():
                case Heard() as heard:
                    if heard.session == self._session:
                        self._heard.put_nowait(heard)
                case WakeUp() if self._closed_because:
                    pass  # heard before the microphone was closed: nobody listens any more
                case WakeUp() as wake_up if self._interrupts_in_doubt(wake_up):
                    if not self._doubting or self._doubting.done():
                        self._doubting = asyncio.create_task(self._call_if_meant(wake_up))
                case WakeUp() as wake_up:
                    self._call(_Called(wake_up, _trace_of(wake_up)))
                case Burst() as burst:
                    if not self._judging or self._judging.done():
                        self._judging = asyncio.create_task(self._judge(burst))
                case EarFailed(error):
                    raise EngineError(
                        "ear-failed",
                        f"Listening for the wake word failed ({error}).",
                        "Restart Echo; if it happens again, run ./scripts/setup.",
                    ) from error

    def _call(self, called: _Called) -> None:
        detection = called.wake_up.detection
        self._events.publish(WakeWordHeard(detection.word, detection.score))
        self._begin_now(called)

    def _interrupts_in_doubt(self, wake_up: WakeUp) -> bool:
        doubtful = not wake_up.detection.certain and self._engines.verifier is not None
        return doubtful and self.busy

    async def _call_if_meant(self, wake_up: WakeUp) -> None:
        """A turn gives way to a doubtful call only once that is verified."""
        trace = _trace_of(wake_up)
        try:
            meant = await self._verify(wake_up, trace)
        except EchoError as error:
            log.warning("%s", error)
            return
        if meant and not self._closed_because:
            self._call(_Called(wake_up, trace))
        elif not meant:
            trace.outcome = Outcome.REJECTED
            self._keep_trace(trace)

    async def _judge(self, burst: Burst) -> None:
        """Stop what rings or is being said, where somebody said so; Echo's own word is no wish."""
        own = " ".join(self._answering.sounding).lower()
        if not self._engines.stop_word or STOP_WORD in own:
            return
        sound = np.concatenate([frame.samples for frame in burst.frames])
        try:
            said = await self._engines.stop_word.begins(sound)
        except EchoError as error:
            log.warning("%s", error)
            return
        if said and not self._closed_because:
            self.stop_ringing()
            if self._state is State.SPEAKING:
                self._end_turn()

    def _begin_now(self, begin: _Called | _Pressed) -> None:
        """Someone speaks: whatever turn runs is over. With closed or deaf ears nobody does."""
        if self._closed_because or self._deaf_because:
            return
        if self._waiting and isinstance(self._waiting[0], _Called | _Pressed):
            self._waiting.popleft()
        self._waiting.appendleft(begin)
        self._answering.attend()
        self._arrived.set()
        self.stop()  # also what rings: whoever has noticed it need not hear it any longer

    def _begin_in_turn(self, begin: Typed | Opening | _Announced) -> None:
        """It has time: only a window in which nobody speaks gives way to it."""
        self._waiting.append(begin)
        self._answering.attend()
        self._arrived.set()
        if self._window and not self._window.speech_heard:
            self._end_turn()

    async def _take_turns(self) -> None:
        while True:
            while not self._waiting:
                self._rest()
                self._arrived.clear()
                await self._arrived.wait()
            begin = self._waiting.popleft()
            if isinstance(begin, Opening):
                await self._go_on_with(begin)
                continue
            if not self._enter(begin):
                continue
            turn = self._turn = asyncio.create_task(self._one_turn(begin))
            try:
                await asyncio.wait([turn])
            finally:
                self._end_turn()
                await asyncio.wait([turn])
                self._turn = None
                self._let_go(begin, Status.INTERRUPTED)
            if not turn.cancelled() and (error := turn.exception()):
                self._report(error)
                if isinstance(begin, _Called | _Pressed) and self._settings.audio.chimes:
                    await self._answering.say_aside("", chime("error"))

    async def _go_on_with(self, opening: Opening) -> None:
        self._opening = opening
        try:
            conversation = await opening.perform(self._keeper)
        except EchoError as error:
            opening.refuse(error)
        except asyncio.CancelledError:
            opening.refuse(_stopping())
            raise
        else:
            self._answering.read_anew()
            if conversation.continued:
                self._events.publish(CarriedOn(conversation.uuid, conversation.title))
            opening.fulfil(conversation)
        finally:
            self._opening = None

    def _enter(self, begin: _Begin) -> bool:
        """Open the conversation that this turn belongs to. False where it is not wanted any more.

        What was typed is answered where it was typed; the room speaks in its owner's.
        """
        before = self._keeper.conversation
        match begin:
            case Typed(_, conversation, asked):
                if asked and not asked.waits:
                    begin.clauses.put_nowait(None)
                    return False
                # A command is about the conversation that is open, where the same person has it.
                if asked or (before.owner != conversation.owner and not conversation.begun):
                    self._keeper.open(conversation)
                elif before.owner != conversation.owner:  # it was about one that has ended
                    self._keeper.begin_another(conversation.owner)
            case _Called() | _Pressed():
                self._keeper.take_back()
        if self._keeper.conversation is not before:
            self._answering.read_anew()
        return True

    def _give_up_what_waits(self) -> None:
        """Echo stops: whoever waits hears of it, and no question stays without an answer."""
        while self._waiting:
            begin = self._waiting.popleft()
            if isinstance(begin, Opening):
                begin.refuse(_stopping())
                continue
            if isinstance(begin, _Announced) and not begin.done.done():
                begin.done.set_exception(_stopping())
            self._let_go(begin, Status.FAILED)

    def _let_go(self, begin: _Begin, status: Status) -> None:
        """Whoever waits for the end of this turn hears of it, also where it never ran."""
        match begin:
            case Typed(_, _, asked, clauses):
                if asked:  # where it was answered, this does nothing
                    self._keeper.answer(asked, "", status, "text", EngineNames())
                clauses.put_nowait(None)
            case _Announced(_, _, done) if not done.done():
                done.set_result(None)

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
            case Typed():
                await self._typed_turn(begin)
            case _Announced():
                await self._announced_turn(begin)
            case _Called(wake_up, trace):
                await self._talk(wake_up.detection.end - PRE_ROLL, wake_up, trace)
            case _Pressed():
                await self._talk(self._ear.now - PRESS_PRE_ROLL, None, Trace(time.time()))

    async def _announced_turn(self, announced: _Announced) -> None:
        self._announcing = True
        self._set_state(State.SPEAKING)
        try:
            await self._answering.say_aside(announced.text, announced.sound)
        except EchoError as error:
            if not announced.done.done():
                announced.done.set_exception(error)
        finally:
            self._announcing = False

    async def _typed_turn(self, typed: Typed) -> None:
        trace = Trace(time.time(), spoken=False)
        trace.mark(Stage.TRANSCRIPT, time.monotonic())
        self._keeper.turn_begins()
        try:
            question = Question(typed.text, 1.0, "text", typed.clauses.put_nowait, typed.asked)
            await self._answering.answer(question, None, trace)
        finally:
            self._keep_trace(trace)

    async def _talk(self, since: int, wake_up: WakeUp | None, trace: Trace) -> None:
        """A question, and what follows it up without the wake word."""
        if self._closed_because:
            return
        said = await self._spoken_turn(since, wake_up, Addressed(self._answering), trace)
        level = phrase_level(wake_up.before, wake_up.detection) if wake_up else None
        if said and level is None:
            level = speech_level(said.speech)
        guard = FollowUpGuard(level or 0.0, self._answering)
        while said:
            if self._answering.asks:
                guard = FollowUpGuard(level or 0.0, self._answering)
            elif not guard.open or not self._settings.dialogue.follow_up:
                break
            await asyncio.sleep(ECHO_TAIL_SECONDS)
            if self._waiting or self._closed_because:
                break
            said = await self._spoken_turn(self._ear.now, None, guard, Trace(time.time()))
            guard.answered()
        self._answering.leave()

    async def _spoken_turn(
        self, since: int, wake_up: WakeUp | None, gate: Gate, trace: Trace
    ) -> Utterance | None:
        """Listen, and answer. None where nothing was said, or not to Echo."""
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
                self._keep_trace(trace)

    def _keep_trace(self, trace: Trace) -> None:
        self._traces.add(trace)
        self._events.publish(TurnTraced(trace))

    async def _listen(
        self, since: int, wake_up: WakeUp | None, gate: Gate, trace: Trace
    ) -> Utterance | None:
        """What was said, if it was said to Echo; a doubtful wake-up is judged beside it."""
        self._set_state(State.LISTENING)
        window = self._settings.dialogue.follow_up_seconds
        recogniser = self._engines.recogniser
        if wake_up and self._steering:
            recogniser = self._steering.towards(wake_up, recogniser)
        listening = Listening(
            recogniser,
            self._settings.endpoint,
            self._settings.language,
            window if gate.follow_up else self._settings.endpoint.nothing_said_seconds,
            wake_up.detection.end + WAKE_TAIL if wake_up else 0,
            gate,
            trace,
            lambda transcript: self._answering.prepare(
                transcript.text, transcript.confidence, trace
            ),
            self._on_partial,
        )
        self._window = listening if gate.follow_up else None
        self._heard = asyncio.Queue()
        self._session = self._ear.attend(since)
        verdict = asyncio.create_task(self._verify(wake_up, trace))
        wake_chime = None
        if self._settings.audio.chimes and not gate.follow_up:
            wake_chime = WakeChime(since + (PRE_ROLL if wake_up else PRESS_PRE_ROLL))
        hearing = asyncio.create_task(listening.utterance(self._frames(wake_chime, verdict)))
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
            if self._chiming:
                await _end(self._chiming)
                self._chiming = None
            if not utterance and not hearing.cancelled() and not hearing.exception():
                await _discard(hearing.result())

    async def _frames(
        self, wake_chime: WakeChime | None, verdict: asyncio.Task[bool]
    ) -> AsyncGenerator[Heard, None]:
        while not (self._source_ended and self._heard.empty()):
            heard = await self._heard.get()
            if heard is None:
                return
            if wake_chime and wake_chime.due(heard):
                self._chiming = asyncio.create_task(self._chime_if_meant(verdict))
            yield heard

    async def _chime_if_meant(self, verdict: asyncio.Task[bool]) -> None:
        await asyncio.wait([verdict])
        if not verdict.cancelled() and not verdict.exception() and verdict.result():
            await self._answering.say_aside("", chime("wake"))

    def _on_partial(self, text: str) -> None:
        self._events.publish(PartialTranscript(text))
        self._answering.anticipate(text)

    async def _verify(self, wake_up: WakeUp | None, trace: Trace) -> bool:
        """The second look at a doubtful wake-up, unless it had one; it runs beside listening."""
        verifier = self._engines.verifier
        if not wake_up or wake_up.detection.certain or not verifier:
            return True
        if trace.second_stage_accepted is not None:
            return trace.second_stage_accepted
        began = time.monotonic()
        before = [frame.samples for frame in wake_up.before]
        verdict = await verifier.verify(np.concatenate(before), wake_up.detection)
        trace.second_stage_ms = (time.monotonic() - began) * 1000
        trace.second_stage_score = verdict.score
        trace.second_stage_accepted = verdict.accepted
        return verdict.accepted

    def note_false_wake(self) -> None:
        """The last turn that began with the wake word, before any that runs, was not for Echo."""
        for trace in reversed(self._traces.recent()):
            if trace.wake_score is not None:
                trace.false_wake = True
                self._events.publish(WakeWasFalse(trace))
                return

    def _drop(self, trace: Trace, outcome: Outcome) -> None:
        trace.outcome = outcome
        self._events.publish(TurnDropped(outcome))


def _trace_of(wake_up: WakeUp) -> Trace:
    """Of the turn that it begins."""
    trace = Trace(time.time(), wake_score=wake_up.detection.score)
    trace.mark(Stage.DETECTION, wake_up.detection.heard_at)
    return trace


def _stopping() -> ServiceError:
    return ServiceError("stopping", "Echo is stopping.", "Try again when it runs.")


async def _end(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def _discard(utterance: Utterance | None) -> None:
    if utterance and utterance.prepared:
        await utterance.prepared.discard()
