"""The page before the real talk: a real dialogue, keeper and history; only the engines are
scripted."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from firmware_app.events import Mode, ReplyClause, State
from firmware_app.history.records import NewConversation, NewEntry
from firmware_app.history.usage import Rates
from firmware_app.settings import WebSettings
from firmware_app.settings_change import set_changed
from firmware_app.settings_checks import Value
from firmware_app.settings_layers import Loaded, load
from firmware_app.state import StateStore
from firmware_app.web.parts import Parts
from firmware_app.web.server import WebServer
from tests.dialogue.conftest import keep, room
from tests.dialogue.scripted import ScriptedModel
from tests.dialogue.talking import MakeTalk, Talking, talking
from tests.page.conftest import PATIENCE_MS, PHONE, Phone

__all__ = ["keep", "room", "talking"]

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="package")]

NewPhone = Callable[..., Awaitable[Phone]]
WORDS = " ".join(f"word{n}" for n in range(200)) + "."


@asynccontextmanager
async def page_of(t: Talking, browser: Browser, folder: Path) -> AsyncIterator[NewPhone]:
    """The web server before this talk; await the yielded for a phone that shows the live page."""
    config = folder / "config.toml"
    config.write_text(f'[paths]\nstate = "{folder / "page"}"\n')
    environ = {"HEY_ECHO_CONFIG": str(config)}
    loaded = load(environ)
    loaded = replace(loaded, settings=replace(loaded.settings, web=WebSettings(port=0)))

    async def change(name: str, value: Value) -> Loaded:
        return set_changed(name, value, environ)

    state = StateStore(folder / "phones.db")
    server = WebServer(
        Parts(
            loaded=lambda: loaded,
            change=change,
            live=t.talk,
            history=t.kept.store,
            events=t.events,
            rates=Rates(),
            announce=t.talk.announce,
        ),
        state,
    )
    await server.open()
    await asyncio.wait_for(server.listening(), PATIENCE_MS / 1000)
    made: list[Phone] = []

    async def phone(owner: str = "home") -> Phone:
        context = await browser.new_context(**PHONE)
        context.set_default_timeout(PATIENCE_MS)
        url = f"http://127.0.0.1:{server.port}"
        token = await server.pairings.add(owner, "Phone")
        cookie: Any = {"name": f"hey-echo-{server.port}", "value": token, "url": url}
        await context.add_cookies([cookie])
        one = Phone(context, await context.new_page(), url)
        one.listen()
        made.append(one)
        await one.open()
        await expect(one.state).not_to_have_text("Waking up")
        return one

    try:
        yield phone
    finally:
        for one in made:
            await one.context.close()
        await server.close()
        state.close()
    assert [complaint for one in made for complaint in one.complaints] == []


async def test_a_spoken_question_and_a_typed_one_stand_in_one_thread(
    talking: MakeTalk, browser: Browser, tmp_path: Path
) -> None:
    model = ScriptedModel(("Four, I think.", "Five, on Sundays."))
    async with (
        talking(("How many doors are there?",), model=model) as t,
        page_of(t, browser, tmp_path) as new_phone,
    ):
        phone = await new_phone()
        await t.room.ask()
        await expect(phone.entries("user")).to_have_text(["How many doors are there?"])
        await expect(phone.entries("assistant")).to_have_text(["Four, I think."])
        await expect(phone.page.locator("h1")).to_have_text("How many doors are there?")
        await phone.type("And on Sundays?")
        await expect(phone.entries("assistant")).to_have_text(
            ["Four, I think.", "Five, on Sundays."]
        )
        await expect(phone.page.locator(".message")).to_have_count(0)
        await expect(phone.state).to_have_text("Ready")
        await expect(phone.page.locator(".saved")).to_have_text("Saved")
        spoken, typed = phone.page.locator(".thread .user .who").all(), 2
        assert len(await spoken) == typed
        assert [n for n, _ in await t.kept.texts()] == [1, 2, 3, 4]


async def test_switched_to_text_during_a_reply_it_goes_on_in_writing_and_back_again(
    talking: MakeTalk, browser: Browser, tmp_path: Path
) -> None:
    long = ScriptedModel((WORDS, "Short."), seconds_a_word=0.02)
    async with (
        talking(model=long, saving=False) as t,
        page_of(t, browser, tmp_path) as new_phone,
    ):
        phone = await new_phone()
        await phone.type("Tell me everything")
        await t.room.until(ReplyClause)
        await phone.page.get_by_role("radio", name="Text").check(force=True)
        await expect(phone.page.locator(".microphone")).to_have_text("Microphone off in text mode")
        assert not t.microphone.wanted
        await expect(phone.entries("assistant")).to_contain_text("word199.")
        await expect(phone.page.locator(".thread .assistant .mark")).to_have_count(0)
        await phone.type("And shortly?")
        await expect(phone.entries("assistant").last).to_have_text("Short.")
        assert t.talk.situation.mode is Mode.TEXT
        await phone.page.get_by_role("radio", name="Voice").check(force=True)
        await expect(phone.page.locator(".microphone")).to_have_text("Microphone on")
        assert t.microphone.wanted
        assert t.room.model.questions == ["Tell me everything", "And shortly?"]
        await expect(phone.page.locator(".saved")).to_have_text("Not saved")
        assert await t.kept.conversations() == []


async def test_stopped_and_deleted_while_it_is_said(
    talking: MakeTalk, browser: Browser, tmp_path: Path
) -> None:
    long = ScriptedModel((WORDS,), seconds_a_word=0.01)
    async with talking(model=long) as t, page_of(t, browser, tmp_path) as new_phone:
        phone, other = await new_phone(), await new_phone()
        await phone.type("First")
        await t.room.until(ReplyClause)
        await phone.button("Stop").click()
        await expect(phone.page.locator(".thread .assistant .mark")).to_have_text("Stopped here")
        await phone.type("Second")
        await expect(phone.state).to_have_text("Speaking")
        await other.open("history")
        await other.page.locator(".chat", has_text="First").click()
        await other.button("Delete").click()
        dialog = other.page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Delete").click()
        await expect(other.page.get_by_role("heading", name="History")).to_be_visible()
        for one in (phone, other):
            await expect(one.page.locator("main")).not_to_contain_text("First")
            await expect(one.page.locator("main")).not_to_contain_text("Second")
        t.talk.stop()
        await t.room.until_rest()
        assert await t.kept.conversations() == []


async def test_a_typed_command_is_done_and_is_no_entry(
    talking: MakeTalk, browser: Browser, tmp_path: Path
) -> None:
    async with talking() as t, page_of(t, browser, tmp_path) as new_phone:
        phone = await new_phone()
        await phone.type("Hello")
        await expect(phone.entries("assistant")).to_have_count(1)
        await phone.type("Don't save this")
        await expect(phone.page.locator(".saved")).to_have_text("Not saved")
        await expect(phone.page.locator(".message .mark")).to_have_text("Done")
        await phone.type("What now?")
        await expect(phone.entries("assistant")).to_have_count(2)
        await expect(phone.page.locator(".message")).to_have_count(0)


async def test_an_old_conversation_is_carried_on_and_another_person_has_his_own(
    talking: MakeTalk, browser: Browser, tmp_path: Path
) -> None:
    async with talking() as t, page_of(t, browser, tmp_path) as new_phone:
        old = NewConversation("voice", "home", "Sums", str(uuid.uuid4()))
        await t.kept.store.start(old)
        for n in range(1, 21, 2):
            for kind, number in (("user", n), ("assistant", n + 1)):
                entry: Any = NewEntry(old.uuid, number, kind, (f"{kind} {number}",))  # type: ignore[arg-type]
                await t.kept.store.write(entry)
        await t.kept.store.end(old.uuid)
        phone, bob = await new_phone(), await new_phone("bob")
        await phone.page.locator(".latest .chat", has_text="Sums").click()
        await phone.button("Continue with Echo").click()
        await phone.button("Continue").click()
        await expect(phone.page.locator(".continued")).to_have_text("Continuing “Sums”")
        await expect(phone.entries("user")).to_have_count(8)
        await t.room.ask()
        await expect(phone.page.locator(".thread > li").last).to_contain_text("Yes.")
        await expect(phone.page.locator(".thread > li")).to_have_count(8 * 2 + 1 + 2)
        await expect(bob.page.locator("main")).not_to_contain_text("What time is it?")
        await bob.type("Bob's own question")
        await expect(bob.entries("assistant")).to_have_text(["Yes."])
        await expect(phone.page.locator("main")).not_to_contain_text("Bob")
        assert t.talk.situation.owner == "bob"
        assert t.talk.situation.state is State.IDLE
