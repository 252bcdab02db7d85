"""A server on another machine answers, fails in many ways, and never gets words unasked."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from firmware_app.engines import Message, Tool, ToolCall, openai
from firmware_app.engines.openai import OpenAIModel, is_home, where_words_go
from firmware_app.errors import EchoError, EngineError, SettingsError
from firmware_app.settings import ModelSettings
from tests.conftest import PATIENCE

QUESTION = [Message("user", "What is the capital of France?")]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FakeServer:
    """Speaks as much of the protocol as its handler does; keeps what it was sent."""

    def __init__(self, handler: Handler) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[str | None] = []
        self.gone = asyncio.Event()  # the client has closed its side
        self._handler = handler
        self._runner: web.AppRunner | None = None

    async def start(self) -> ModelSettings:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        port = self._runner.addresses[0][1]
        return ModelSettings(
            backend="openai",
            url=f"http://127.0.0.1:{port}/v1/",
            send_words_to="127.0.0.1",
            model="small",
            api_key="secret",
        )

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "small"}, {"id": "large"}]})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.json())
        self.headers.append(request.headers.get("Authorization"))
        try:
            return await self._handler(request)
        except (asyncio.CancelledError, ConnectionError):
            self.gone.set()
            raise


async def stream(request: web.Request, *lines: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for line in lines:
        await response.write(line.encode() + b"\n\n")
    return response


def data(**event: object) -> str:
    return "data: " + json.dumps(event)


def text(content: str) -> str:
    return data(choices=[{"delta": {"content": content}}])


END = data(choices=[{"delta": {}, "finish_reason": "stop"}])
USAGE = data(choices=[], usage={"prompt_tokens": 9, "completion_tokens": 2})
DONE = "data: [DONE]"


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[Handler], Awaitable[tuple[OpenAIModel, FakeServer]]]]:
    opened: list[OpenAIModel | FakeServer] = []

    async def start(handler: Handler) -> tuple[OpenAIModel, FakeServer]:
        server = FakeServer(handler)
        model = OpenAIModel(await server.start())
        opened.extend([model, server])
        return model, server

    yield start
    for each in opened:
        await (each.close() if isinstance(each, OpenAIModel) else each.stop())


Serve = Callable[[Handler], Awaitable[tuple[OpenAIModel, FakeServer]]]


async def collect(model: OpenAIModel, tools: tuple[Tool, ...] = ()) -> list[str | ToolCall]:
    return [part async for part in model.reply(QUESTION, tools)]


async def test_the_reply_streams_with_its_usage_and_the_key_is_sent(serve: Serve) -> None:
    model, server = await serve(
        lambda r: stream(r, ": ping", text("Par"), text("is."), END, USAGE, DONE)
    )
    await model.ready()
    assert await collect(model) == ["Par", "is."]
    assert (model.usage.prompt_tokens, model.usage.generated_tokens) == (9, 2)
    assert not model.usage.incomplete
    assert server.headers == ["Bearer secret"]
    sent = server.requests[0]
    assert sent["messages"] == [{"role": "user", "content": QUESTION[0].content}]
    assert (sent["model"], sent["stream"], sent["max_tokens"]) == ("small", True, 160)
    assert "tools" not in sent


async def test_without_usage_the_count_is_marked_incomplete(serve: Serve) -> None:
    model, _ = await serve(lambda r: stream(r, text("Paris."), END, DONE))
    assert await collect(model) == ["Paris."]
    assert model.usage.incomplete


async def test_a_tool_call_arrives_in_parts_and_comes_out_whole(serve: Serve) -> None:
    def part(**function: str) -> str:
        call = {"index": 0, "id": "c1" if "name" in function else None, "function": function}
        return data(choices=[{"delta": {"tool_calls": [call]}}])

    model, server = await serve(
        lambda r: stream(
            r, part(name="timer"), part(arguments='{"min'), part(arguments='": 5}'), END, DONE
        )
    )
    tool = Tool("timer", "Sets a timer.", {"type": "object"})
    assert await collect(model, (tool,)) == [ToolCall("c1", "timer", '{"min": 5}')]
    assert server.requests[0]["tools"][0]["function"]["name"] == "timer"


async def test_a_name_that_a_server_repeats_with_each_part_is_taken_once(serve: Serve) -> None:
    def part(arguments: str) -> str:
        function = {"name": "timer", "arguments": arguments}
        return data(choices=[{"delta": {"tool_calls": [{"index": 0, "function": function}]}}])

    model, _ = await serve(lambda r: stream(r, part('{"min'), part('": 5}'), END, DONE))
    assert await collect(model) == [ToolCall("", "timer", '{"min": 5}')]


async def test_closing_the_reply_stops_the_server(serve: Serve) -> None:
    async def talk(request: web.Request) -> web.StreamResponse:
        response = await stream(request)
        while True:
            await response.write(text("and ").encode() + b"\n\n")
            await asyncio.sleep(0.01)

    model, server = await serve(talk)
    reply = model.reply(QUESTION)
    assert await anext(reply) == "and "
    await reply.aclose()
    await asyncio.wait_for(server.gone.wait(), PATIENCE)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "server-key"),
        (403, "server-key"),
        (404, "server-model"),
        (400, "server-refused"),
        (429, "server-busy"),
        (500, "server-failed"),
        (503, "server-failed"),
        (307, "server-redirect"),
    ],
)
async def test_a_status_becomes_one_sentence(serve: Serve, status: int, code: str) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": "http://192.0.2.1/"})

    model, _ = await serve(refuse)
    with pytest.raises(EngineError) as caught:
        await collect(model)
    assert caught.value.code == code
    assert "127.0.0.1" in caught.value.what


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([text("Par")], "server-broke-off"),
        ([text("Par"), "data: {half"], "server-kind"),
        ([text("Par"), "data: [1, 2]"], "server-kind"),
        ([text("Par"), data(choices=[7])], "server-kind"),
        ([text("Par"), data(error={"code": "overloaded", "message": "words"})], "server-failed"),
    ],
)
async def test_a_stream_that_breaks_keeps_what_came(
    serve: Serve, lines: list[str], code: str
) -> None:
    model, _ = await serve(lambda r: stream(r, *lines))
    reply = model.reply(QUESTION)
    assert await anext(reply) == "Par"
    with pytest.raises(EngineError) as caught:
        await anext(reply)
    assert caught.value.code == code
    assert "words" not in str(caught.value)


async def test_a_web_page_is_no_server(serve: Serve) -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>", content_type="text/html")

    model, _ = await serve(page)
    with pytest.raises(EngineError, match="is not an OpenAI-compatible server: it sent text/html"):
        await collect(model)


async def test_a_server_that_is_silent_is_given_up(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "FIRST_TOKEN_SECONDS", 0.3)

    async def silent(request: web.Request) -> web.StreamResponse:
        response = await stream(request)
        while True:
            await response.write(b": ping\n\n")
            await asyncio.sleep(0.05)

    model, _ = await serve(silent)
    with pytest.raises(EngineError, match="took too long"):
        await collect(model)


async def test_nothing_listens_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        settings = ModelSettings(
            backend="openai",
            url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1",
            send_words_to="127.0.0.1",
        )
        model = OpenAIModel(settings)
        with pytest.raises(EngineError, match=r"Nothing answers at 127\.0\.0\.1") as caught:
            await model.ready()
        await model.close()
    assert caught.value.code == "server-unreachable"


async def test_a_model_the_server_has_not_is_named_at_start(serve: Serve) -> None:
    model, server = await serve(lambda r: stream(r, DONE))
    other = OpenAIModel(replace(model._settings, model="huge"))
    with pytest.raises(EngineError, match="no model 'huge'; it has small, large"):
        await other.ready()
    await other.close()
    unnamed = OpenAIModel(replace(model._settings, model=""))
    await unnamed.ready()
    await unnamed.close()
    assert unnamed.name == "small"
    assert server.requests == []


HOME_SERVER = ModelSettings(
    backend="openai", url="http://127.0.0.1:1/v1", send_words_to="127.0.0.1"
)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"url": ""}, "model-url"),
        ({"url": "ftp://127.0.0.1"}, "model-url"),
        ({"url": "http://[::1"}, "model-url"),
        ({"url": "http://127.0.0.1:99999"}, "model-url"),
        ({"url": "http://me:pw@127.0.0.1"}, "model-url"),
        ({"send_words_to": ""}, "send-words"),
        ({"send_words_to": "other.example"}, "send-words"),
        ({"url": "http://192.0.2.7", "send_words_to": "192.0.2.7"}, "send-words-abroad"),
        ({"url": "http://[2001:db8::1]", "send_words_to": "2001:db8::1"}, "send-words-abroad"),
    ],
)
def test_words_are_not_sent_where_the_owner_did_not_say(changed: dict[str, str], code: str) -> None:
    with pytest.raises(SettingsError) as caught:
        where_words_go(replace(HOME_SERVER, **changed))  # type: ignore[arg-type]
    assert caught.value.code == code


def test_status_says_where_words_go() -> None:
    assert where_words_go(ModelSettings()) == "Words stay on this device."
    assert where_words_go(HOME_SERVER) == (
        "Words go to 127.0.0.1, which must be on the home network."
    )
    abroad = replace(
        HOME_SERVER,
        url="http://192.0.2.7/v1",
        send_words_to="192.0.2.7",
        send_words_off_the_home_network=True,
    )
    assert where_words_go(abroad) == (
        "Words go to 192.0.2.7, which may be outside the home network, unencrypted."
    )


async def test_an_address_abroad_is_refused_before_anything_is_sent() -> None:
    model = OpenAIModel(replace(HOME_SERVER, url="http://192.0.2.7/v1", send_words_to="192.0.2.7"))
    with pytest.raises(SettingsError, match="outside the home network"):
        await collect(model)
    await model.close()


async def test_a_name_that_begins_to_point_abroad_is_refused(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, server = await serve(lambda r: stream(r, text("Yes."), END, DONE))
    url = model._settings.url.replace("127.0.0.1", "box.home.arpa")
    settings = replace(model._settings, url=url, send_words_to="box.home.arpa")
    address = "127.0.0.1"

    async def look_up(*args: object, **kwargs: object) -> list[tuple[object, ...]]:
        port = int(url.split(":")[2].split("/")[0])
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    named = OpenAIModel(settings)
    assert await collect(named) == ["Yes."]
    address = "203.0.113.9"
    await named.close()
    again = OpenAIModel(settings)
    with pytest.raises(EchoError, match=r"203\.0\.113\.9, which is outside the home network"):
        await collect(again)
    await again.close()
    assert len(server.requests) == 1


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "::1", "fd00::1", "fe80::1%eth0"])
def test_home_addresses(address: str) -> None:
    assert is_home(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "100.64.0.1", "172.32.0.1", "::ffff:8.8.8.8"])
def test_addresses_abroad(address: str) -> None:
    assert not is_home(address)
