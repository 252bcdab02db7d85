"""The llama.cpp server that the package brings, with the packaged model, as the other machine."""

import asyncio
import importlib.util
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firmware_app import models as catalogue
from firmware_app.engines import Message
from firmware_app.engines.openai import OpenAIModel
from firmware_app.errors import EngineError
from firmware_app.settings import ModelSettings, Settings

pytestmark = [
    pytest.mark.journey,
    pytest.mark.skipif(
        importlib.util.find_spec("uvicorn") is None,
        reason="llama-cpp-python's server is not installed (extra: server)",
    ),
]

SYSTEM = Message("system", "You are Echo, a voice assistant. Answer in one short sentence.")


@pytest.fixture
async def url(models: Path) -> AsyncIterator[str]:
    """Base address of a server with SmolLM2 on a free port."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "llama_cpp.server"),
        *("--model", str(catalogue.find("llama", "", Settings())), "--model_alias", "smollm2"),
        *("--host", "127.0.0.1", "--port", "0", "--n_threads", "1", "--n_ctx", "1024"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert server.stderr is not None
    drained = None
    try:
        async with asyncio.timeout(60):
            found = None
            while not found:
                line = (await server.stderr.readline()).decode(errors="replace")
                assert line, "the server ended before it listened"
                found = re.search(r"running on (http://\S+)", line)
        drained = asyncio.create_task(server.stderr.read())
        yield found[1] + "/v1"
    finally:
        server.kill()
        await server.wait()
        if drained:
            await drained


async def test_it_answers_stops_and_answers_again_until_it_is_gone(url: str) -> None:
    settings = ModelSettings(
        backend="openai", url=url, send_words_to="127.0.0.1", temperature=0.0, reply_tokens=64
    )
    model = OpenAIModel(settings)
    await model.ready()
    assert model.name == "smollm2"
    question = [SYSTEM, Message("user", "What is the capital of France?")]
    pieces = [str(part) async for part in model.reply(question)]
    assert "Paris" in "".join(pieces)
    assert len(pieces) > 3

    story = model.reply([SYSTEM, Message("user", "Tell me a long story about a dog.")])
    await anext(story)
    await story.aclose()
    assert "Paris" in "".join([str(part) async for part in model.reply(question)])

    with pytest.raises(EngineError) as caught:  # this server says nothing, it breaks off
        await anext(model.reply([Message("user", "word " * 2000)]))
    assert caught.value.code == "server-broke-off"
    await model.close()
