"""A command calls the service, and gets an answer, an error, or a stream."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import pytest

from firmware_app.control.client import call
from firmware_app.control.protocol import Json, RemoteError
from firmware_app.control.server import Call, ControlServer
from firmware_app.control.stream import stream
from firmware_app.errors import DeviceError, ServiceError, UsageError
from tests.conftest import PATIENCE


async def ask(runtime: Path, name: str, /, **args: Json) -> object:
    return await asyncio.to_thread(lambda: call(runtime, name, **args))


async def test_a_handler_answers_with_what_it_returns(runtime: Path, server: ControlServer) -> None:
    async def twice(call: Call) -> Json:
        return {"said": call.text("word") * 2, "by": call.peer.pid}

    server.handle("twice", twice)
    assert await ask(runtime, "twice", word="né") == {"said": "néné", "by": os.getpid()}


async def test_an_argument_may_be_called_name(runtime: Path, server: ControlServer) -> None:
    async def named(call: Call) -> Json:
        return call.text("name")

    server.handle("named", named)
    assert await ask(runtime, "named", name="voice.volume") == "voice.volume"


async def test_an_error_keeps_its_words_and_exit_status(
    runtime: Path, server: ControlServer
) -> None:
    async def fail(call: Call) -> Json:
        raise DeviceError("microphone_gone", "The microphone is gone.", "Plug it in.")

    server.handle("fail", fail)
    with pytest.raises(RemoteError) as caught:
        await ask(runtime, "fail")
    assert (caught.value.code, caught.value.what, caught.value.mend, caught.value.exit_status) == (
        "microphone_gone",
        "The microphone is gone.",
        "Plug it in.",
        DeviceError.exit_status,
    )


async def test_a_handler_that_breaks_answers_without_its_details(
    runtime: Path, server: ControlServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(call: Call) -> Json:
        raise OSError("words that were said")

    async def unspeakable(call: Call) -> Json:
        return {"what JSON cannot say": object()}

    server.handle("broken", broken)
    server.handle("unspeakable", unspeakable)
    for name in ("broken", "unspeakable"):
        with pytest.raises(RemoteError) as caught:
            await ask(runtime, name)
        assert caught.value.code == "internal"
        assert "words" not in str(caught.value)
        assert f"the call {name} failed" in caplog.text


async def test_an_unknown_call_is_named(runtime: Path, server: ControlServer) -> None:
    with pytest.raises(RemoteError, match="knows no call 'dance'"):
        await ask(runtime, "dance")


async def test_an_argument_that_is_missing_is_named(runtime: Path, server: ControlServer) -> None:
    async def named(call: Call) -> Json:
        return call.text("name")

    server.handle("named", named)
    calls: tuple[dict[str, Json], ...] = ({}, {"name": 3})
    for args in calls:
        with pytest.raises(RemoteError, match='needs "name" as text'):
            await ask(runtime, "named", **args)


async def test_a_stream_gives_each_event_when_it_happens(
    runtime: Path, server: ControlServer
) -> None:
    taken = asyncio.Event()

    async def speak(call: Call) -> Json:
        await call.event({"clause": "It is"})
        await taken.wait()  # the first event has arrived before the second is made
        await call.event({"clause": "noon."})
        return {"status": "complete"}

    server.handle("ask", speak)
    got = []
    async for answer in stream(runtime, "ask", text="What time is it?"):
        got.append(answer)
        taken.set()
    assert got == [
        {"event": {"clause": "It is"}},
        {"event": {"clause": "noon."}},
        {"result": {"status": "complete"}},
    ]


async def test_an_error_ends_a_stream(runtime: Path, server: ControlServer) -> None:
    async def speak(call: Call) -> Json:
        await call.event({"clause": "It"})
        raise ServiceError("stopped", "Stopped.", "Ask again.")

    server.handle("ask", speak)
    answers = stream(runtime, "ask")
    assert await anext(answers) == {"event": {"clause": "It"}}
    with pytest.raises(RemoteError, match="Stopped"):
        await anext(answers)


async def test_a_plain_call_passes_over_events(runtime: Path, server: ControlServer) -> None:
    async def speak(call: Call) -> Json:
        await call.event({"clause": "It"})
        return 7

    server.handle("ask", speak)
    assert await ask(runtime, "ask") == 7


async def test_hanging_up_cancels_the_call(runtime: Path, server: ControlServer) -> None:
    cancelled = asyncio.Event()

    async def long(call: Call) -> Json:
        try:
            await call.event({"clause": "Once"})
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return None

    server.handle("ask", long)
    async with aclosing(stream(runtime, "ask")) as answers:
        await anext(answers)
    async with asyncio.timeout(PATIENCE):
        await cancelled.wait()


async def test_closing_ends_calls_with_a_sentence(runtime: Path) -> None:
    server = ControlServer(runtime)
    await server.open()
    started = asyncio.Event()

    async def long(call: Call) -> Json:
        started.set()
        await asyncio.Event().wait()
        return None

    server.handle("ask", long)
    asked = asyncio.create_task(ask(runtime, "ask"))
    await started.wait()
    async with asyncio.timeout(PATIENCE):
        await server.close()
    with pytest.raises(RemoteError, match="Echo is stopping"):
        await asked
    assert not server.path.exists()


async def test_without_a_service_one_hears_how_to_start_it(runtime: Path) -> None:
    with pytest.raises(ServiceError, match="systemctl start hey-echo") as caught:
        await ask(runtime, "status")
    assert caught.value.code == "not-running"
    with pytest.raises(ServiceError, match="systemctl start hey-echo"):
        await anext(stream(runtime, "status"))


async def test_what_is_too_long_for_a_line_is_refused_before_it_is_sent(
    runtime: Path, server: ControlServer
) -> None:
    with pytest.raises(UsageError, match="fewer words"):
        await ask(runtime, "ask", text="blah " * 20_000)


@pytest.mark.parametrize("babble", [b"", b"hello\n", b"[]\n", b'{"other": 1}\n', b'{"result"'])
async def test_a_service_that_hangs_up_or_babbles_is_no_answer(
    runtime: Path, babble: bytes
) -> None:
    async def babbling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(babble)
        writer.close()

    async with await asyncio.start_unix_server(babbling, runtime / "control.sock"):
        with pytest.raises(ServiceError) as caught:
            await ask(runtime, "status")
        assert caught.value.code == "no-answer"
        with pytest.raises(ServiceError) as caught:
            await anext(stream(runtime, "status"))
        assert caught.value.code == "no-answer"
