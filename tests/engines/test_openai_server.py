"""The llama.cpp server that the package brings, with the packaged model, as the other machine."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firmware_app.engines import Message
from firmware_app.engines.openai import OpenAIModel
from firmware_app.errors import EngineError
from firmware_app.settings import ModelSettings
from tests.llama_server import llama_server, needs_server

pytestmark = [pytest.mark.journey, needs_server]

SYSTEM = Message("system", "You are Echo, a voice assistant. Answer in one short sentence.")


@pytest.fixture
async def url(models: Path) -> AsyncIterator[str]:
    """Base address of a server with SmolLM2 on a free port."""
    async with llama_server(1024) as address:
        yield address + "/v1"


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
