"""Answering a question: what is said, what is kept of it, and what happens when thinking fails."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from itertools import chain, repeat

from firmware_app.dialogue.commands import Command
from firmware_app.dialogue.conversation import Conversation
from firmware_app.dialogue.keeping import Asked, Keeper
from firmware_app.dialogue.obeying import Obeying
from firmware_app.dialogue.phrases import phrases
from firmware_app.dialogue.reply import Mouth, Reply, say
from firmware_app.dialogue.thinking import Thinking, Thought
from firmware_app.engines import EngineNames, LanguageModel, Voice
from firmware_app.errors import EchoError, EngineError
from firmware_app.events import (
    Events,
    ModelReady,
    Notice,
    QuestionAsked,
    ReplyClause,
    ReplyEnded,
    State,
    Status,
    ToolUsed,
)
from firmware_app.frames import Samples
from firmware_app.history.records import InputMode
from firmware_app.settings import Settings
from firmware_app.skills import ToolResult
from firmware_app.skills.registry import Skills, Understood
from firmware_app.traces import Outcome, Stage, Trace

# What is no answer to a question of Echo's own.
ASIDE = (
    None,
    Command.STOP,
    Command.REPLAY,
    Command.REPLAY_SLOWLY,
    Command.NOT_FOR_ECHO,
)

SLOWER, SLOWEST = 0.7, 0.5  # share of the pace, and pace, of what is said again slowly

PASSING = frozenset({"server-unreachable", "server-busy", "server-failed"})
RETRY_SECONDS = (2.0, 5.0, 15.0, 60.0)
MODEL_DIED = "model-died"  # the error code of a model whose process ended during a reply

_OUTCOMES = {
    Status.COMPLETE: Outcome.ANSWERED,
    Status.INTERRUPTED: Outcome.INTERRUPTED,
    Status.FAILED: Outcome.FAILED,
}


@dataclass(frozen=True, slots=True)
class Question:
    """asked: where it was committed already, as a typed message is when it is accepted."""

    text: str
    confidence: float
    input_mode: InputMode
    on_clause: Callable[[str], None] | None = None
    asked: Asked | None = None


class _Use:
    """A skill's turn: what it is to do, and what came of it once `done` is set."""

    def __init__(self, understood: Understood) -> None:
        self.understood = understood
        self.result: ToolResult | None = None
        self.done = asyncio.Event()


class Answering:
    """Gives the answers of one dialogue.

    skills: are asked before the model is. mouth: None where answers are shown only.
    keeper: has the open conversation.
    on_state: called with THINKING, RECONNECTING and SPEAKING as they come.
    on_false_wake: called when somebody says that the last wake-up was none.
    """

    def __init__(
        self,
        settings: Settings,
        model: LanguageModel,
        mouth: Mouth | None,
        engines: EngineNames,
        keeper: Keeper,
        events: Events,
        skills: Skills,
        on_state: Callable[[State], None],
        on_false_wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._language = settings.language
        self._thinking = Thinking(settings, model, keeper, skills)
        self._mouth = mouth
        self._engines = engines
        self._keeper = keeper
        self._events = events
        self._on_state = on_state
        self._on_false_wake = on_false_wake
        self._phrases = phrases(settings.language)
        self.obeying = Obeying(keeper, settings.language, skills.time)
        self._skills = skills
        # At the provisional endpoint.
        self._prepared: tuple[Reply, _Use | Thought] | None = None
        self._text_only = False
        self._reply: Reply | None = None  # that sounds or is shown now
        self._asked: Asked | None = None  # what it answers
        self._warming: asyncio.Task[None] | None = None
        self._summing_up: asyncio.Task[None] | None = None
        self._model_ready = False
        self.just_said = ""
        self.sounding: deque[str] = deque(maxlen=2)  # the clauses that began to sound last

    async def warm_up(self) -> None:
        """Wait for the model, and let it read the prompt and the conversation beforehand.

        A server that cannot be reached is waited for. Raises EngineError where the model will never
        answer.
        """
        for wait in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
            try:
                await self._thinking.model.ready()
                break
            except EngineError as error:
                if error.code not in PASSING:
                    raise
                self._events.publish(Notice(error.code, str(error)))
                await asyncio.sleep(wait)
        self._model_ready = True
        self._events.publish(ModelReady(self._thinking.model.name))
        await self._thinking.read(None)

    async def close(self) -> None:
        for task in (self._warming, self._summing_up):
            if task:
                task.cancel()
                await asyncio.wait([task])

    def use(self, model: LanguageModel, voice: Voice, engines: EngineNames) -> None:
        """Think and speak with these from the next question on; the model must be ready."""
        self.attend()
        self._thinking.use(model)
        self._engines = engines
        if self._mouth:
            self._mouth = replace(self._mouth, voice=voice)
        self.read_anew()

    async def say_aside(self, text: str, sound: Samples | None) -> None:
        """Play the sound and say the text, which is no answer; also where answers are shown only.

        Raises EngineError where the voice fails.
        """
        if self._mouth:
            if text:
                self.sounding.append(text)
            await say(self._mouth, text, self._language, sound)

    def set_volume(self, volume: float) -> None:
        """0 to 100; counts from the next reply."""
        if self._mouth:
            self._mouth = replace(self._mouth, volume=volume)

    def as_text(self, text_only: bool) -> None:
        """Whether answers are shown and not spoken; one that sounds now goes on as text."""
        self._text_only = text_only
        if text_only and self._reply:
            self._reply.go_on_as_text()

    def so_far(self, conversation: Conversation) -> str | None:
        """The answer in progress, as far as it was said or shown; None where there is none."""
        if not self._asked or self._asked.conversation is not conversation:
            return None
        return self._reply.so_far if self._reply else ""

    def read_anew(self) -> None:
        """Let the model read the conversation as it is now."""
        if self._model_ready:
            self._keep_warming(None)

    def anticipate(self, partial: str) -> None:
        """Let the model read the beginning of a question while the rest is being said."""
        if self._model_ready:
            self._keep_warming(partial)

    def rest(self) -> None:
        """Nobody talks to Echo: there is time for a summary, until `attend`."""
        if self._model_ready and (self._summing_up is None or self._summing_up.done()):
            self._summing_up = asyncio.create_task(self._sum_up())

    def attend(self) -> None:
        """Somebody is about to talk to Echo: what had time is given up at once."""
        if self._summing_up:
            self._summing_up.cancel()

    @property
    def asks(self) -> bool:
        """Whether Echo has asked something, and waits for the answer."""
        return self.obeying.asks or self._skills.asks

    def leave(self) -> None:
        """Whoever was asked said nothing, or something else."""
        self.obeying.leave()
        self._skills.leave()

    def makes_an_exchange(self, text: str, input_mode: InputMode) -> bool:
        """Whether this is a question that is kept; what is about the dialogue itself is none."""
        if self.obeying.meant(text, input_mode) is not None:
            return False
        understood = self._skills.understand(text, 1.0, input_mode)
        return understood is None or understood.kept

    def prepare(self, text: str, confidence: float, trace: Trace) -> Reply | None:
        """Begin the answer in silence; None where it changes something, or cannot be begun yet."""
        match self.obeying.meant(text, "voice"):
            case Command.REPLAY:
                return self._begin(_these(self._replay), trace)
            case None:
                if understood := self._skills.understand(text, confidence, "voice"):
                    return None if understood.changes else self._prepare_use(understood, trace)
                return self._prepare_thought(text, trace) if self._model_ready else None
            case _:
                return None

    async def answer(self, question: Question, prepared: Reply | None, trace: Trace) -> None:
        """Answer, and keep question and answer; a cancelled answer is kept as far as it got."""
        trace.outcome = Outcome.ANSWERED
        meant = None
        if not question.asked:
            meant = self.obeying.meant(question.text, question.input_mode)
        if meant in ASIDE:
            self.obeying.leave()
        way = self._way_to(question, prepared)
        if meant is not Command.REPLAY:
            self._skills.leave()
        match meant:
            case Command.STOP:
                return
            case Command.REPLAY_SLOWLY:
                await self._replay_slowly(question, trace)
            case Command.REPLAY:
                again = prepared or self._begin(_these(self._replay), trace, question.on_clause)
                await self._speak(again, trace)
            case Command.NOT_FOR_ECHO:
                self._on_false_wake()
                await self._say(self._phrases.not_for_echo, trace)
            case None if isinstance(way, _Use) and not way.understood.kept and not question.asked:
                await self._use_aside(way, question, prepared, trace)
            case None:
                await self._answer_question(question, prepared, way, trace)
            case _:
                said = await self.obeying.obey(meant, question.input_mode)
                await self._say(said, trace, question.on_clause)
                self.read_anew()

    async def _answer_question(
        self, question: Question, prepared: Reply | None, way: _Use | Thought, trace: Trace
    ) -> None:
        """Answer by a skill, else by the model, and keep what was asked, found and said."""
        self._on_state(State.THINKING)
        asked = self._asked = question.asked or self._keeper.ask(
            question.text, question.input_mode, self._engines, question.confidence
        )
        self._events.publish(
            QuestionAsked(question.text, question.confidence, question.input_mode == "voice")
        )
        reply = prepared
        status = Status.FAILED
        try:
            if isinstance(way, _Use):
                reply = reply or self._begin(self._using(way), trace, question.on_clause)
                await self._finish_use(way, reply, question)
                self._note_use(way, asked, question)
                status = await self._speak(reply, trace)
            else:
                reply = reply or await self._begin_when_ready(way, question, trace)
                status = await self._speak(reply, trace)
                if self._died_before_a_word(reply, way):
                    self._on_state(State.RECONNECTING)
                    reply = await self._begin_when_ready(way, question, trace)
                    status = await self._speak(reply, trace)
            if reply.error:
                raise reply.error
        except EchoError as error:
            status = Status.FAILED
            self._events.publish(Notice(error.code, str(error)))
            await self._say(self._phrases.failed, trace)
        except asyncio.CancelledError:
            status = Status.INTERRUPTED
            raise
        finally:
            self._asked = None
            text = reply.text if reply else ""
            names = self._engines
            if isinstance(way, _Use):
                names = replace(names, model="")
            else:
                self._note_thought(way, asked, question)
            if not reply or not reply.voiced:
                names = replace(names, voice="")
            self._keeper.answer(asked, text, status, question.input_mode, names)
            trace.outcome = _OUTCOMES[status]
            self._events.publish(ReplyEnded(status, text))
            self.read_anew()

    # What a skill does.

    def _prepare_use(self, understood: Understood, trace: Trace) -> Reply:
        use = _Use(understood)
        reply = self._begin(self._using(use), trace)
        self._prepared = reply, use
        return reply

    def _way_to(self, question: Question, prepared: Reply | None) -> _Use | Thought:
        """The one that was prepared; else a skill's, where one is meant; else the model's."""
        before, self._prepared = self._prepared, None
        if before and before[0] is prepared:
            return before[1]
        understood = self._skills.understand(
            question.text, question.confidence, question.input_mode
        )
        if understood:
            return _Use(understood)
        return Thought(question.text, question.input_mode == "voice")

    async def _using(self, use: _Use) -> AsyncGenerator[str, None]:
        try:
            understood = use.understood
            use.result = understood.says
            if understood.call:
                use.result = await self._skills.use(understood.call)
        finally:
            use.done.set()
        if use.result:
            yield use.result.text

    async def _finish_use(self, use: _Use, reply: Reply, question: Question) -> None:
        """Wait until it has come to something; what it asks may be answered from now on."""
        try:
            await use.done.wait()
        except asyncio.CancelledError:
            await reply.stop()
            raise
        if use.result:
            self._skills.asked(use.result, question.input_mode)

    def _note_use(self, use: _Use, asked: Asked, question: Question) -> None:
        if use.result and use.understood.call:
            name = use.understood.call.tool
            self._keeper.used(asked, name, use.result.text, question.input_mode)
            self._events.publish(ToolUsed(name, use.result.text))

    async def _use_aside(
        self, use: _Use, question: Question, prepared: Reply | None, trace: Trace
    ) -> None:
        """It is about the conversation, and no part of it."""
        reply = prepared or self._begin(self._using(use), trace, question.on_clause)
        await self._finish_use(use, reply, question)
        self.read_anew()  # while "Continuing ..." is heard, the model reads that conversation
        await self._speak(reply, trace)

    async def _replay_slowly(self, question: Question, trace: Trace) -> None:
        voice = self._mouth.voice if self._mouth else None
        pace = voice.speed if voice else 1.0
        try:
            if voice:
                voice.speed = max(SLOWEST, pace * SLOWER)
            await self._say(self._replay, trace, question.on_clause)
        finally:
            if voice:
                voice.speed = pace

    # What the model thinks.

    def _prepare_thought(self, text: str, trace: Trace) -> Reply:
        thought = Thought(text)
        reply = self._begin(self._thinking.words(thought), trace)
        self._prepared = reply, thought
        return reply

    async def _begin_when_ready(self, thought: Thought, question: Question, trace: Trace) -> Reply:
        if not self._model_ready:
            await self._say(self._phrases.waking_up, trace)
        await self._thinking.model.ready()
        return self._begin(self._thinking.words(thought), trace, question.on_clause)

    def _died_before_a_word(self, reply: Reply, thought: Thought) -> bool:
        died = reply.error is not None and reply.error.code == MODEL_DIED
        return died and not reply.text and not thought.used

    def _note_thought(self, thought: Thought, asked: Asked, question: Question) -> None:
        """Keep what tools found; what Echo asks may be answered from now on."""
        for used in thought.used:
            self._keeper.used(asked, used.tool, used.text, question.input_mode)
            self._events.publish(ToolUsed(used.tool, used.text))
        if thought.asks:
            self._skills.asked(thought.asks, question.input_mode)

    async def _say(
        self, phrase: str, trace: Trace, on_clause: Callable[[str], None] | None = None
    ) -> None:
        await self._speak(self._begin(_these(phrase), trace, on_clause), trace)

    async def _speak(self, reply: Reply, trace: Trace) -> Status:
        """Let the reply sound to its end; cancelled, it falls silent at once."""
        self._reply = reply
        self.sounding.clear()
        if self._text_only:
            reply.go_on_as_text()
        reply.release()
        try:
            return await reply.finished()
        except asyncio.CancelledError:
            await reply.stop()
            raise
        finally:
            self._reply = None
            self.just_said = reply.text or self.just_said
            trace.mark(Stage.REPLY_END, time.monotonic())

    def _begin(
        self,
        words: AsyncGenerator[str, None],
        trace: Trace,
        on_clause: Callable[[str], None] | None = None,
    ) -> Reply:
        def announce(clause: str) -> None:
            if reply.aloud:
                self.sounding.append(clause)
                self._on_state(State.SPEAKING)
            self._events.publish(ReplyClause(clause))
            if on_clause:
                on_clause(clause)

        mouth = None if self._text_only else self._mouth
        reply = Reply(words, mouth, trace, self._language, announce)
        return reply

    def _keep_warming(self, question: str | None) -> None:
        """Let the model read what there is while nobody waits for it."""
        if self._warming:
            self._warming.cancel()
        self._warming = asyncio.create_task(self._warm(question))

    async def _warm(self, question: str | None) -> None:
        # A fault shows with the next question, where someone hears of it.
        with contextlib.suppress(EchoError):
            await self._thinking.read(question)

    async def _sum_up(self) -> None:
        with contextlib.suppress(EchoError):
            if await self._thinking.sum_up():
                self.read_anew()

    @property
    def _replay(self) -> str:
        return self.just_said or self._phrases.nothing_to_repeat


async def _these(words: str) -> AsyncGenerator[str, None]:
    yield words
