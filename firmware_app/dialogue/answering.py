"""Answering a question: what is said, what is kept of it, and what happens when thinking fails."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import chain, repeat

from firmware_app.dialogue.commands import Command
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.obeying import Obeying
from firmware_app.dialogue.phrases import phrases
from firmware_app.dialogue.prompt import Prompt, system_prompt
from firmware_app.dialogue.reply import Mouth, Reply
from firmware_app.engines import EngineNames, LanguageModel, Message, Voice
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
)
from firmware_app.history.records import InputMode
from firmware_app.settings import Settings
from firmware_app.traces import Outcome, Stage, Trace

# What is no answer to a question of Echo's own.
ASIDE = (None, Command.STOP, Command.REPLAY, Command.NOT_FOR_ECHO)

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
    text: str
    confidence: float
    input_mode: InputMode
    on_clause: Callable[[str], None] | None = None


class Answering:
    """Gives the answers of one dialogue.

    mouth: None where answers are shown only.
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
        on_state: Callable[[State], None],
        on_false_wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._language = settings.language
        self._model = model
        self._mouth = mouth
        self._engines = engines
        self._keeper = keeper
        self._events = events
        self._on_state = on_state
        self._on_false_wake = on_false_wake
        self._phrases = phrases(settings.language)
        self.obeying = Obeying(keeper, settings.language)
        self._prompt = Prompt(
            system_prompt(settings.dialogue.persona),
            settings.model.context_tokens - settings.model.reply_tokens,
            model.count,
        )
        self._warming: asyncio.Task[None] | None = None
        self._model_ready = False
        self.just_said = ""

    async def warm_up(self) -> None:
        """Wait for the model, and let it read the prompt and the conversation beforehand.

        A server that cannot be reached is waited for. Raises EngineError where the model will never
        answer.
        """
        for wait in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
            try:
                await self._model.ready()
                break
            except EngineError as error:
                if error.code not in PASSING:
                    raise
                self._events.publish(Notice(error.code, str(error)))
                await asyncio.sleep(wait)
        self._model_ready = True
        self._events.publish(ModelReady(self._model.name))
        await self._model.prefill(await self._messages(None))

    async def close(self) -> None:
        if self._warming:
            self._warming.cancel()
            await asyncio.wait([self._warming])

    def use(self, model: LanguageModel, voice: Voice, engines: EngineNames) -> None:
        """Think and speak with these from the next question on; the model must be ready."""
        self._model = model
        self._engines = engines
        self._prompt = self._prompt.counted_by(model.count)
        if self._mouth:
            self._mouth = replace(self._mouth, voice=voice)
        self.read_anew()

    def set_volume(self, volume: float) -> None:
        """0 to 100; counts from the next reply."""
        if self._mouth:
            self._mouth = replace(self._mouth, volume=volume)

    def read_anew(self) -> None:
        """Let the model read the conversation as it is now."""
        if self._model_ready:
            self._keep_warming(None)

    def anticipate(self, partial: str) -> None:
        """Let the model read the beginning of a question while the rest is being said."""
        if self._model_ready:
            self._keep_warming(partial)

    def prepare(self, text: str, trace: Trace) -> Reply | None:
        """Begin the answer in silence; None where it changes something, or cannot be begun yet."""
        match self.obeying.meant(text, "voice"):
            case Command.REPLAY:
                return self._begin(_these(self._replay), trace)
            case None:
                return self._begin(self._thoughts(text), trace) if self._model_ready else None
            case _:
                return None

    async def answer(self, question: Question, prepared: Reply | None, trace: Trace) -> None:
        """Answer, and keep question and answer; a cancelled answer is kept as far as it got."""
        trace.outcome = Outcome.ANSWERED
        meant = self.obeying.meant(question.text, question.input_mode)
        if meant in ASIDE:
            self.obeying.leave()
        match meant:
            case Command.STOP:
                return
            case Command.REPLAY:
                again = prepared or self._begin(_these(self._replay), trace, question.on_clause)
                await self._speak(again, trace)
            case Command.NOT_FOR_ECHO:
                self._on_false_wake()
                await self._say(self._phrases.not_for_echo, trace)
            case None:
                await self._answer_by_model(question, prepared, trace)
            case _:
                said = await self.obeying.obey(meant, question.input_mode)
                await self._say(said, trace, question.on_clause)
                self.read_anew()

    async def _answer_by_model(
        self, question: Question, prepared: Reply | None, trace: Trace
    ) -> None:
        self._on_state(State.THINKING)
        conversation = self._keeper.ask(
            question.text, question.input_mode, self._engines, question.confidence
        )
        self._events.publish(
            QuestionAsked(question.text, question.confidence, question.input_mode == "voice")
        )
        reply = prepared
        status = Status.FAILED
        try:
            reply = reply or await self._begin_when_ready(question, trace)
            status = await self._speak(reply, trace)
            if reply.error and reply.error.code == MODEL_DIED and not reply.text:
                self._on_state(State.RECONNECTING)
                reply = await self._begin_when_ready(question, trace)
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
            text = reply.text if reply else ""
            self._keeper.answer(conversation, text, status, question.input_mode, self._engines)
            trace.outcome = _OUTCOMES[status]
            self._events.publish(ReplyEnded(status, text))
            self.read_anew()

    async def _begin_when_ready(self, question: Question, trace: Trace) -> Reply:
        if not self._model_ready:
            await self._say(self._phrases.waking_up, trace)
        await self._model.ready()
        return self._begin(self._thoughts(question.text), trace, question.on_clause)

    async def _say(
        self, phrase: str, trace: Trace, on_clause: Callable[[str], None] | None = None
    ) -> None:
        await self._speak(self._begin(_these(phrase), trace, on_clause), trace)

    async def _speak(self, reply: Reply, trace: Trace) -> Status:
        """Let the reply sound to its end; cancelled, it falls silent at once."""
        reply.release()
        try:
            return await reply.finished()
        except asyncio.CancelledError:
            await reply.stop()
            raise
        finally:
            self.just_said = reply.text or self.just_said
            trace.mark(Stage.REPLY_END, time.monotonic())

    def _begin(
        self,
        words: AsyncGenerator[str, None],
        trace: Trace,
        on_clause: Callable[[str], None] | None = None,
    ) -> Reply:
        def announce(clause: str) -> None:
            self._on_state(State.SPEAKING)
            self._events.publish(ReplyClause(clause))
            if on_clause:
                on_clause(clause)

        return Reply(words, self._mouth, trace, self._language, announce)

    async def _thoughts(self, question: str) -> AsyncGenerator[str, None]:
        async with aclosing(self._model.reply(await self._messages(question))) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    yield piece

    async def _messages(self, question: str | None) -> Sequence[Message]:
        conversation = self._keeper.conversation
        return await self._prompt.messages(conversation.exchanges(), question, conversation.summary)

    def _keep_warming(self, question: str | None) -> None:
        """Let the model read what there is while nobody waits for it."""
        if self._warming:
            self._warming.cancel()
        self._warming = asyncio.create_task(self._warm(question))

    async def _warm(self, question: str | None) -> None:
        # A fault shows with the next question, where someone hears of it.
        with contextlib.suppress(EchoError):
            await self._model.prefill(await self._messages(question))

    @property
    def _replay(self) -> str:
        return self.just_said or self._phrases.nothing_to_repeat


async def _these(words: str) -> AsyncGenerator[str, None]:
    yield words
