"""The language model on this device: llama.cpp in a child process, spoken to in messages only."""

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from firmware_app.engines import Message, Tool, ToolCall, Usage
from firmware_app.errors import EngineError
from firmware_app.settings import ModelSettings

log = logging.getLogger(__name__)

ModelState: TypeAlias = Literal["ready", "reconnecting", "error"]
OnState: TypeAlias = Callable[[ModelState, str], None]

CHILD = (sys.executable, "-m", "firmware_app.engines.llama_child")
DIED = "model-died"  # the error that a new child mends
FIRST_BACK_OFF = 0.5  # seconds before a child that died is started again; doubles each time
LONGEST_BACK_OFF = 60.0
DEATHS_ACCEPTED = 3  # in a row, without a word between them, before nobody waits any more
CLOSE_PATIENCE = 1.0  # seconds a child gets to leave by itself
LINE_LIMIT = 1 << 20  # bytes of one message from the child
ENVIRONMENT = {
    "OMP_WAIT_POLICY": "passive",  # spinning threads starve the audio, and each other
    "GGML_NO_BACKTRACE": "1",  # a dying child must not start a debugger
}
WRONG_BUILD = {signal.SIGILL, signal.SIGSEGV}  # what a build for another processor dies of
_ASSERTION = re.compile(rb"^\S+\.(?:c|cpp|h):\d+: ", re.MULTILINE)  # ggml's manner of dying


def threads_for(asked: int, cores: int | None = None) -> int:
    """Threads of the model: as asked, or one core less than there are, for the audio."""
    return asked or max(1, (cores or os.cpu_count() or 1) - 1)


def check_model_file(path: Path) -> None:
    """Raise EngineError where the file is clearly not a model; does not read all of it."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError:
        raise _bad_file(path, "is not there") from None
    except OSError as error:
        raise _bad_file(path, f"cannot be read ({error.strerror})") from None
    if not magic:
        raise _bad_file(path, "is empty")
    if magic != b"GGUF":
        raise _bad_file(path, "is not a GGUF file")


def _bad_file(path: Path, what: str) -> EngineError:
    return EngineError(
        "model-file",
        f"The language model {path} (setting model.model) {what}.",
        "Run ./scripts/setup to fetch it again, or name another file in model.model.",
    )


class LlamaModel:
    """One model, one child process, which is started at once, and again whenever it dies.

    Made on the running loop.
    on_state hears "ready", "reconnecting" and "error" with a sentence; it must not block.
    """

    can_call_tools = False  # the packaged model is too small for it

    def __init__(
        self,
        name: str,
        path: Path,
        settings: ModelSettings,
        on_state: OnState = lambda state, detail: None,
        child: Sequence[str] = CHILD,
        *,
        small: bool = True,
    ) -> None:
        self.name = name
        self.small = small
        self.usage = Usage()
        self._path = path
        self._settings = settings
        self._on_state = on_state
        self._command = child
        self._process: asyncio.subprocess.Process | None = None
        self._ready = asyncio.Event()  # the child is ready, or `_fault` says why it cannot be
        self._fault: EngineError | None = None
        self._logged = ""  # code of the fault that was logged since the last answer
        self._exit = ""  # how the last child ended, for the log
        self._jobs: dict[int, asyncio.Queue[dict[str, Any]]] = {}
        self._number = 0
        self._keeper = asyncio.create_task(self._keep_alive(), name="language model")

    @property
    def pid(self) -> int | None:
        """Process id of the running child, for measurements."""
        return self._process.pid if self._process else None

    async def ready(self) -> None:
        """Return when the model is warm. Raises EngineError where waiting is of no use."""
        await self._ready.wait()
        if fault := self._fault:
            raise EngineError(fault.code, fault.what, fault.mend)

    async def close(self) -> None:
        self._keeper.cancel()
        await asyncio.wait([self._keeper])

    async def prefill(self, messages: Sequence[Message]) -> None:
        """Take the messages into the cache; given up quietly when a reply or a newer one comes."""
        with contextlib.suppress(EngineError):  # the reply that follows will say what is wrong
            await self.ready()
            async for _ in self._ask("prefill", messages=_as_pairs(messages)):
                pass

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as one message of a conversation. Raises EngineError."""
        await self.ready()
        async for event in self._ask("count", texts=list(texts)):
            if "counts" in event:
                return [int(n) for n in event["counts"]]
        return []

    async def reply(
        self, messages: Sequence[Message], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall, None]:
        """Yield the reply's text as it comes. tools are not offered to this model.

        Raises EngineError: model-died when the child dies, model-too-long when the conversation
        does not fit into the context.
        """
        await self.ready()
        events = self._ask(
            "reply",
            messages=_as_pairs(messages),
            temperature=self._settings.temperature,
            tokens=self._settings.reply_tokens,
        )
        async with contextlib.aclosing(events):
            async for event in events:
                if "text" in event:
                    yield event["text"]

    async def _ask(self, do: str, **request: object) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the child's events for one request; closing the iterator stops it in the child."""
        self._number += 1
        number = self._number
        events = self._jobs[number] = asyncio.Queue()
        finished = False
        try:
            self._send(number, do=do, **request)
            while not finished:
                event = await events.get()
                finished = not event.keys() & {"text"}
                if "error" in event:
                    raise _failed(event)
                if "end" in event:
                    self._add_usage(event)
                yield event
        finally:
            del self._jobs[number]
            if not finished:
                self._send(number, do="stop")

    def _send(self, number: int, **request: object) -> None:
        """Queue a request; where the child is gone, its keeper fails the job."""
        if self._process and self._process.stdin and not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps({"id": number, **request}).encode() + b"\n")
        elif events := self._jobs.get(number):
            events.put_nowait({"error": "died"})

    def _add_usage(self, event: dict[str, Any]) -> None:
        self.usage.prompt_tokens += event["prompt"]
        self.usage.cached_tokens += event["cached"]
        self.usage.generated_tokens += event["generated"]
        self.usage.compute_seconds += event["seconds"]

    async def _keep_alive(self) -> None:
        """Run one child after the other, with growing pauses, until cancelled."""
        deaths = 0
        while True:
            served = self.usage.generated_tokens
            fault = await self._run_child()
            if self.usage.generated_tokens > served:
                deaths, self._logged = 0, ""
            deaths += 1
            self._report(
                _keeps_dying() if fault.code == DIED and deaths > DEATHS_ACCEPTED else fault
            )
            await asyncio.sleep(min(FIRST_BACK_OFF * 2 ** min(deaths - 1, 10), LONGEST_BACK_OFF))

    def _report(self, fault: EngineError) -> None:
        """Tell of a child that is gone; whoever asks waits for the next one or hears the fault."""
        passing = fault.code == DIED
        self._fault = None if passing else fault
        if passing:
            self._ready.clear()
        else:
            self._ready.set()
        self._on_state("reconnecting" if passing else "error", str(fault))
        if fault.code != self._logged:
            self._logged = fault.code
            log.error("%s %s", fault, self._exit)

    async def _run_child(self) -> EngineError:
        """Run one child from its start to its end and return why it ended."""
        try:
            await asyncio.to_thread(check_model_file, self._path)
        except EngineError as error:
            return error
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                *self._command,
                json.dumps(self._options()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LINE_LIMIT,
                env=os.environ | ENVIRONMENT,
            )
        except OSError as error:
            return _died(f"could not be started ({error.strerror})")
        try:
            async with asyncio.TaskGroup() as group:
                last_words = group.create_task(_last_words(process))
                stages = await self._listen(process)
                status = await process.wait()
        finally:
            await _end(process)
            self._process = None
            for events in self._jobs.values():
                events.put_nowait({"error": "died"})
        if "failed" in stages:
            return self._unloadable(stages["failed"])
        self._exit = f"(status {status}) {last_words.result()}"
        if "loaded" in stages and "ready" not in stages and -status in WRONG_BUILD:
            return _wrong_build(signal.Signals(-status).name)
        return _died("ended unexpectedly")

    def _options(self) -> dict[str, Any]:
        return {
            "path": str(self._path),
            "context_tokens": self._settings.context_tokens,
            "threads": threads_for(self._settings.threads),
        }

    async def _listen(self, process: asyncio.subprocess.Process) -> dict[str, dict[str, Any]]:
        """Hand the child's events to their jobs until its output ends; return its stages."""
        stages: dict[str, dict[str, Any]] = {}
        assert process.stdout is not None  # noqa: S101  # it was opened as a pipe
        async for line in process.stdout:
            event = json.loads(line)
            if "stage" in event:
                stages[event["stage"]] = event
                if event["stage"] == "ready":
                    self._fault = None
                    self._ready.set()
                    self._on_state("ready", "")
            elif events := self._jobs.get(event["id"]):
                events.put_nowait(event)
        return stages

    def _unloadable(self, event: dict[str, Any]) -> EngineError:
        if event["code"] == "missing":
            return EngineError(
                "engine-missing",
                f"The package llama-cpp-python cannot be used ({event['why']}).",
                "Run ./scripts/setup, or set model.backend to openai.",
            )
        return _bad_file(self._path, f"cannot be loaded ({event['why']})")


def _as_pairs(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """The line of a failed native assertion, if there was one; all else may hold words."""
    found = b""
    assert process.stderr is not None  # noqa: S101  # it was opened as a pipe
    while chunk := await process.stderr.read(4096):
        if match := _ASSERTION.search(chunk):
            found = chunk[match.start() :].split(b"\n", 1)[0]
    return found[:200].decode(errors="replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let the child leave by closing its input, and kill it where it does not."""
    if process.returncode is not None:
        return
    assert process.stdin is not None  # noqa: S101  # it was opened as a pipe
    process.stdin.close()
    try:
        async with asyncio.timeout(CLOSE_PATIENCE):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _keeps_dying() -> EngineError:
    return EngineError(
        "model-keeps-dying",
        "The language model dies again and again.",
        "Run hey-echo doctor; free memory is the first thing to look at.",
    )


def _died(how: str) -> EngineError:
    return EngineError(
        DIED,
        f"The language model {how}.",
        "It is being started again; ask once more in a moment.",
    )


def _failed(event: dict[str, Any]) -> EngineError:
    if event["error"] == "died":
        return _died("died while it was thinking")
    if event["error"] == "too-long":
        return EngineError(
            "model-too-long",
            f"What was asked has {event['prompt']} tokens, and {event['room']} fit.",
            "Ask in fewer words, or raise model.context_tokens.",
        )
    return EngineError(
        "model-failed",
        f"The language model could not answer ({event['error']}).",
        "Ask once more; if it happens again, run ./scripts/setup --rebuild-model.",
    )


def _wrong_build(name: str) -> EngineError:
    return EngineError(
        "model-build",
        f"The language model's engine dies on this processor ({name}): it was built with "
        "instructions that do not work here, such as AMX in a virtual machine.",
        "Run ./scripts/setup --rebuild-model, which builds it with -mno-amx-tile -mno-amx-int8 "
        "-mno-amx-bf16 on x86.",
    )
