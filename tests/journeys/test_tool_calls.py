"""A tool call from question to entry, through a real llama.cpp server with the packaged model.

That model is too small to choose a tool by itself: a proxy forces its choice. So this shows that
the wiring works, and nothing about how well a model chooses.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, web

from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.thinking import Thinking, Thought
from firmware_app.engines.openai import OpenAIModel
from firmware_app.settings import ModelSettings, Settings
from firmware_app.skills.building import World, build
from tests.llama_server import llama_server, needs_server
from tests.skills.conftest import DrivenClock

pytestmark = [pytest.mark.journey, needs_server]


@pytest.fixture
async def server(models: Path) -> AsyncIterator[str]:
    """Base address of a llama.cpp server that takes tools, on a free port."""
    async with llama_server(8192, "--chat_format", "chatml-function-calling") as address:
        yield address


@pytest.fixture
async def forced(server: str) -> AsyncIterator[tuple[str, list[dict[str, str]]]]:
    """A proxy before the server that forces the tool `convert` at first, and none after it.

    Its address, and the last message of each request.
    """
    last: list[dict[str, str]] = []

    async def forward(request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.method == "POST" else None
        if body:
            last.append(body["messages"][-1])
            if last[-1]["role"] == "user":
                choice = {"type": "function", "function": {"name": "convert"}}
                named = [t for t in body["tools"] if t["function"]["name"] == "convert"]
                body |= {"tool_choice": choice, "tools": named}
            else:
                del body["tools"]
        async with session.request(request.method, server + request.path, json=body) as answer:
            response = web.StreamResponse(headers={"Content-Type": answer.headers["Content-Type"]})
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(app)
    async with ClientSession() as session:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1", last
        await runner.cleanup()


async def test_a_forced_call_is_checked_run_and_answered(
    forced: tuple[str, list[dict[str, str]]],
) -> None:
    url, last = forced
    settings = ModelSettings(
        backend="openai",
        url=url,
        send_words_to="127.0.0.1",
        context_tokens=8192,
        reply_tokens=48,
    )
    model = OpenAIModel(settings)
    await model.ready()
    whole = Settings(model=settings)
    skills = build(World(time=DrivenClock().local()))
    thinking = Thinking(whole, model, Keeper(whole), skills)
    thought = Thought("How much is five miles in kilometres?")
    answer = "".join([piece async for piece in thinking.words(thought)])
    await model.close()
    question, result = last
    assert (question["role"], result["role"]) == ("user", "tool")
    assert answer.strip()
    # Whatever it wrote into the arguments was run by the skill, or refused with the reason.
    assert [used.text for used in thought.used] == [result["content"]] or (
        "do not fit" in result["content"] and not thought.used
    )
