"""A language model that calls tools: checked, confirmed before they change things, run once."""

import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from aiohttp import web

from firmware_app.dialogue.language import dialogue_words
from firmware_app.dialogue.open_talk import OpenTalk
from firmware_app.dialogue.thinking import ROUNDS
from firmware_app.events import Events, ToolUsed
from firmware_app.settings import Settings
from firmware_app.skills.building import World, build
from firmware_app.skills.registry import Skills
from tests.dialogue.conftest import Keep, Kept, MakeRoom, Room, keep, room
from tests.dialogue.scripted import ScriptedModel
from tests.engines.test_openai import DONE, END, FakeServer, Serve, data, serve, stream, text
from tests.skills.conftest import DrivenClock

__all__ = ["keep", "room", "serve"]  # fixtures

ROOMY = replace(Settings(), model=replace(Settings().model, context_tokens=16_384))


def call(name: str, arguments: str = "{}", number: int = 1) -> str:
    function = {"name": name, "arguments": arguments}
    part = {"index": 0, "id": f"call-{number}", "function": function}
    return data(choices=[{"delta": {"tool_calls": [part]}}])


class Meeting:
    """A room whose model is a fake server with a script: a line of its stream for each reply."""

    def __init__(self, room: Room, kept: Kept, server: FakeServer, skills: Skills) -> None:
        self.room = room
        self.kept = kept
        self.server = server
        self.skills = skills

    async def says(self, text: str) -> str:
        return await self.room.typed(text)

    def request(self, number: int) -> dict[str, Any]:
        return self.server.requests[number]

    def offered(self, number: int) -> set[str]:
        return {tool["function"]["name"] for tool in self.request(number).get("tools", ())}

    async def entries(self) -> list[tuple[str, str]]:
        return [(entry.kind, entry.text) for entry in await self.kept.entries()]


@asynccontextmanager
async def meeting(
    room: MakeRoom,
    keep: Keep,
    serve: Serve,
    script: Sequence[str],
    settings: Settings = ROOMY,
) -> AsyncIterator[Meeting]:
    lines = iter(script)

    async def answer(request: web.Request) -> web.StreamResponse:
        return await stream(request, next(lines), END, DONE)

    model, server = await serve(answer)
    async with keep() as kept:
        talk = OpenTalk(kept.keeper, Events())
        skills = build(World(time=DrivenClock().local(), talk=talk))
        as_model = cast("ScriptedModel", model)
        async with room(model=as_model, keeper=kept.keeper, skills=skills, settings=settings) as r:
            yield Meeting(r, kept, server, skills)


async def test_a_tool_is_used_its_result_kept_and_never_run_again(
    room: MakeRoom, keep: Keep, serve: Serve
) -> None:
    script = [call("time"), text("Five in the afternoon."), text("You are welcome.")]
    async with meeting(room, keep, serve, script) as m:
        assert await m.says("Is it tea time yet?") == "Five in the afternoon."
        assert "set_timer" in m.offered(0)
        asked, result = m.request(1)["messages"][-2:]
        assert asked["tool_calls"][0]["function"] == {"name": "time", "arguments": "{}"}
        assert result == {"role": "tool", "content": "It is 5:00 PM.", "tool_call_id": "call-1"}
        assert await m.entries() == [
            ("user", "Is it tea time yet?"),
            ("tool", "It is 5:00 PM."),
            ("assistant", "Five in the afternoon."),
        ]
        await m.says("Thank you so much.")
        roles = [message["role"] for message in m.request(2)["messages"]]
        assert roles == ["system", "user", "assistant", "user"]
        assert len(m.room.all(ToolUsed)) == 1


async def test_what_changes_something_is_asked_about_once_and_then_done(
    room: MakeRoom, keep: Keep, serve: Serve
) -> None:
    script = [call("set_timer", '{"seconds": 600}')]
    async with meeting(room, keep, serve, script) as m:
        asked = await m.says("The eggs go into the water now, ten of them minutes please help.")
        assert "ten minutes" in asked or "10 minutes" in asked
        assert asked.endswith("?")
        assert not m.skills.timers.schedule.alerts()
        assert not m.room.all(ToolUsed)
        await m.says("yes")
        assert len(m.skills.timers.schedule.alerts()) == 1
        assert [used.name for used in m.room.all(ToolUsed)] == ["set_timer"]
        assert len(m.server.requests) == 1


async def test_a_no_leaves_everything_as_it_is(room: MakeRoom, keep: Keep, serve: Serve) -> None:
    script = [call("set_timer", '{"seconds": 600}')]
    async with meeting(room, keep, serve, script) as m:
        await m.says("The eggs go into the water now, ten of them minutes please help.")
        await m.says("no")
        assert not m.skills.timers.schedule.alerts()


async def test_who_reads_what_was_said_before_may_change_nothing(
    room: MakeRoom, keep: Keep, serve: Serve
) -> None:
    script = [
        text("Noted."),
        call("conversation_history", '{"first": 1}', 1),
        call("set_timer", '{"seconds": 600}', 2),
        text("Ask me for the timer alone."),
    ]
    async with meeting(room, keep, serve, script) as m:
        await m.says("The eggs want ten minutes.")
        said = await m.says("As long as the eggs want, from now on.")
        assert said == "Ask me for the timer alone."
        assert {"set_timer", "set_volume"} <= m.offered(1)
        assert not {"set_timer", "set_volume"} & m.offered(2)
        assert "conversation_history" in m.offered(2)
        assert "eggs want ten minutes" in m.request(2)["messages"][-1]["content"]
        assert m.request(3)["messages"][-1]["content"] == dialogue_words("en")["model"]["refused"]
        assert not m.skills.timers.schedule.alerts()


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("set_timer", '{"seconds": "ten"}', "not of the type"),
        ("set_timer", "{", "no JSON"),
        ("calculate", "{}", "is missing"),
        ("rm_rf", "{}", "no tool rm_rf"),
        ("continue_conversation", '{"uuid": "x"}', "no tool continue_conversation"),
    ],
)
async def test_a_call_that_does_not_fit_is_told_why_and_nothing_is_done(
    room: MakeRoom, keep: Keep, serve: Serve, name: str, arguments: str, why: str
) -> None:
    script = [call(name, arguments), text("I cannot.")]
    async with meeting(room, keep, serve, script) as m:
        assert await m.says("Do the thing with the eggs.") == "I cannot."
        assert why in m.request(1)["messages"][-1]["content"]
        assert not m.room.all(ToolUsed)


async def test_a_model_that_only_calls_is_stopped_and_what_it_found_is_said(
    room: MakeRoom, keep: Keep, serve: Serve
) -> None:
    async with meeting(room, keep, serve, [call("time", number=n) for n in range(9)]) as m:
        assert await m.says("Is it tea time yet?") == "It is 5:00 PM."
        assert len(m.server.requests) == ROUNDS + 1
        assert m.offered(ROUNDS - 1)
        assert not m.offered(ROUNDS)
        assert len(m.room.all(ToolUsed)) == 1  # the same call is not run twice


async def test_no_tools_are_offered_where_they_would_leave_no_room(
    room: MakeRoom, keep: Keep, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    script = [text("Hello."), text("Bye.")]
    async with meeting(room, keep, serve, script, Settings()) as m:
        await m.says("Is it tea time yet?")
        await m.says("Is it coffee time yet?")
        assert "tools" not in json.dumps(m.request(0))
    assert "model.context_tokens" in caplog.text
    assert len(caplog.records) == 1
