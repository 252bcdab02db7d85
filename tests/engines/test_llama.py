"""The language model's process may die, be wrong or be slow; what is asked hears of it at once."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from firmware_app.engines import Message, llama
from firmware_app.engines.llama import LlamaModel, check_model_file, threads_for
from firmware_app.engines.llama_child import Ending
from firmware_app.errors import EngineError
from firmware_app.settings import ModelSettings
from tests.conftest import PATIENCE, until

QUESTION = [Message("user", "Where do purple walruses live?")]

FAKE_CHILD = """
import json, os, signal, sys, time

def tell(**event):
    print(json.dumps(event), flush=True)

def end(number):
    tell(id=number, end="stop", prompt=9, cached=5, generated=2, seconds=0.1)

def serve():
    for line in sys.stdin:
        request = json.loads(line)
        number = request["id"]
        if request["do"] == "reply":
            reply(number)
        elif request["do"] == "count":
            tell(id=number, counts=[len(text) for text in request["texts"]])
        elif request["do"] == "prefill":
            end(number)

def reply(number):
    tell(id=number, text="In the ")
    tell(id=number, text="sea.")
    end(number)

def life():  # of this child, counted from 1
    with open("LIVES", "a+") as lives:
        lives.write("x")
        lives.seek(0)
        return len(lives.read())
"""


class WatchedModel(LlamaModel):
    """Keeps the states that it told."""

    def __init__(self, path: Path, child: list[str]) -> None:
        self.states: list[str] = []
        super().__init__(
            "fake",
            path,
            ModelSettings(),
            on_state=lambda state, detail: self.states.append(state),
            child=child,
        )

    async def told_ready(self) -> None:
        await until(lambda: "ready" in self.states)  # the callback is what is tested


Start = Callable[[str], WatchedModel]


@pytest.fixture
async def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Starts a model whose child is a fake with the given body."""
    monkeypatch.setattr(llama, "FIRST_BACK_OFF", 0.02)
    started: list[WatchedModel] = []

    def make(body: str) -> WatchedModel:
        script = tmp_path / "fake_child.py"
        script.write_text(FAKE_CHILD.replace("LIVES", str(tmp_path / "lives")) + body)
        path = tmp_path / "model.gguf"
        path.write_bytes(b"GGUF and so on")
        started.append(WatchedModel(path, [sys.executable, str(script)]))
        return started[-1]

    yield make
    for model in started:
        await model.close()


async def collect(model: LlamaModel) -> str:
    return "".join([str(part) async for part in model.reply(QUESTION)])


async def fault_of(action: Awaitable[object]) -> EngineError:
    with pytest.raises(EngineError) as caught:
        await asyncio.wait_for(action, PATIENCE)
    return caught.value


READY = "tell(stage='loaded')\ntell(stage='ready')\nserve()\n"


async def test_a_reply_streams_and_is_accounted_for(start: Start) -> None:
    model = start(READY)
    assert await collect(model) == "In the sea."
    assert await model.count(["a", "four"]) == [1, 4]
    await model.prefill(QUESTION)
    usage = model.usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens) == (18, 10, 4)
    assert usage.compute_seconds == pytest.approx(0.2)


async def test_closing_a_reply_tells_the_child_to_stop(start: Start, tmp_path: Path) -> None:
    model = start(
        "def reply(number):\n"
        "    tell(id=number, text='On ')\n"
        "    stop = json.loads(sys.stdin.readline())\n"
        "    open('stopped', 'w').write(json.dumps([stop['do'], stop['id'] == number]))\n"
        "    tell(id=number, text='late')\n"
        + READY.replace("serve", f"os.chdir({str(tmp_path)!r}); serve")
    )
    reply = model.reply(QUESTION)
    assert await anext(reply) == "On "
    await reply.aclose()
    await model.count(["the child is at rest again"])
    assert (tmp_path / "stopped").read_text() == '["stop", true]'


async def test_death_fails_the_reply_and_a_new_child_takes_over(start: Start) -> None:
    model = start(
        "if life() == 1:\n    def reply(number):\n        os.kill(os.getpid(), 9)\n" + READY
    )
    assert (await fault_of(collect(model))).code == "model-died"
    assert await asyncio.wait_for(collect(model), PATIENCE) == "In the sea."
    assert model.states == ["ready", "reconnecting", "ready"]


async def test_dying_again_and_again_is_said_once_and_nobody_waits(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    model = start("life()\nos.kill(os.getpid(), 9)\n")
    fault = await fault_of(model.ready())
    assert fault.code == "model-keeps-dying"
    assert (await fault_of(collect(model))).code == "model-keeps-dying"
    await asyncio.sleep(0.5)
    assert caplog.text.count("dies again and again") == 1


async def test_it_recovers_even_after_dying_again_and_again(start: Start) -> None:
    model = start("if life() < 6: os.kill(os.getpid(), 9)\n" + READY)
    assert (await fault_of(model.ready())).code == "model-keeps-dying"
    await model.told_ready()
    assert await collect(model) == "In the sea."


@pytest.mark.parametrize("name", ["SIGILL", "SIGSEGV"])
async def test_a_build_for_another_processor_is_recognised(start: Start, name: str) -> None:
    fault = await fault_of(
        start(f"tell(stage='loaded')\nos.kill(os.getpid(), signal.{name})").ready()
    )
    assert fault.code == "model-build"
    assert name in fault.what
    assert "./scripts/setup --rebuild-model" in fault.mend
    assert "-mno-amx-tile" in fault.mend


async def test_a_missing_package_names_its_mend(start: Start) -> None:
    fault = await fault_of(start("tell(stage='failed', code='missing', why='no such')").ready())
    assert "llama-cpp-python cannot be used (no such)" in fault.what
    assert "./scripts/setup" in fault.mend


async def test_a_file_the_engine_refuses_is_named(start: Start) -> None:
    fault = await fault_of(start("tell(stage='failed', code='model', why='half a file')").ready())
    assert "model.gguf (setting model.model) cannot be loaded (half a file)" in fault.what


async def test_a_question_that_is_too_long_is_said_to_be(start: Start) -> None:
    model = start(
        "def reply(number):\n    tell(id=number, error='too-long', prompt=3000, room=2048)\n"
        + READY
    )
    fault = await fault_of(collect(model))
    assert fault.what == "What was asked has 3000 tokens, and 2048 fit."


async def test_no_word_is_ever_logged(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    model = start(
        "def reply(number):\n"
        "    print('purple walruses\\n/src/ggml.c:123: GGML_ASSERT(x) failed', file=sys.stderr)\n"
        "    os.abort()\n" + READY
    )
    await fault_of(collect(model))
    assert "/src/ggml.c:123: GGML_ASSERT(x) failed" in caplog.text
    assert "walruses" not in caplog.text


async def test_the_child_leaves_with_its_parent(tmp_path: Path) -> None:
    """The real child, without a model, ends when its input does."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import threading, sys; from firmware_app.engines.llama_child import Child;"
        "c = Child(sys.stdin, sys.stdout); threading.Thread(target=c._read).start();"
        "threading.Event().wait()",
        stdin=subprocess.PIPE,
    )
    assert child.stdin is not None
    child.stdin.close()
    assert await asyncio.wait_for(child.wait(), PATIENCE) == 0


@pytest.mark.parametrize(
    ("content", "what"),
    [(None, "is not there"), (b"", "is empty"), (b"<!DOCTYPE html>", "is not a GGUF file")],
)
def test_what_is_no_model_is_refused_before_a_process_starts(
    tmp_path: Path, content: bytes | None, what: str
) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EngineError, match=what) as caught:
        check_model_file(path)
    assert str(path) in caught.value.what
    assert "model.model" in caught.value.what


async def test_a_file_that_comes_later_is_taken_up(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = start(READY)
    (tmp_path / "model.gguf").rename(tmp_path / "away")
    assert (await fault_of(model.ready())).code == "model-file"
    (tmp_path / "away").rename(tmp_path / "model.gguf")
    await model.told_ready()
    assert await collect(model) == "In the sea."


def test_the_audio_keeps_a_core() -> None:
    assert [threads_for(0, cores) for cores in (1, 2, 4)] == [1, 1, 3]
    assert threads_for(4, 2) == 4


def ended(text: str, limit: int) -> tuple[str, str | None]:
    """What is kept of a stream of words, and why it ended."""
    ending = Ending(limit)
    for word in text.split(" "):
        if reason := ending.reason(" " + word if ending.text else word):
            return ending.text, reason
    return ending.text, None


def test_a_reply_within_its_limit_is_left_alone() -> None:
    assert ended("Paris lies there. It is large.", 20) == ("Paris lies there. It is large.", None)


def test_after_half_the_limit_no_sentence_begins() -> None:
    text = "one two three four five. Six seven eight nine ten."
    assert ended(text, 10) == ("one two three four five.", "length")
    assert ended(text, 12) == (text, None)


def test_a_sentence_without_end_is_cut_at_the_limit() -> None:
    assert ended("one two three four five six seven", 4) == ("one two three four", "length")


def test_a_full_stop_after_a_short_word_ends_no_long_reply() -> None:
    assert ended("I asked old Dr. Brown about this.", 8) == (
        "I asked old Dr. Brown about this.",
        None,
    )


def test_a_sentence_is_not_said_twice() -> None:
    kept, reason = ended("Paris is large. It is nice there. Paris is large. More comes.", 100)
    assert (kept, reason) == ("Paris is large. It is nice there. Paris is large.", "repeat")


def test_the_same_words_over_and_over_end_it() -> None:
    kept, reason = ended("and so it goes on " * 40, 500)
    assert reason == "repeat"
    assert len(kept) < 150
