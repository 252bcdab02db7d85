"""Typing into the thread: what happens to a message, whatever the network does."""

import asyncio
import json

import pytest
from playwright.async_api import Request, Route, expect

from firmware_app.events import Mode
from tests.page.conftest import PATIENCE_MS, Phone, Phones
from tests.web.stand import OWNER, Stand

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="package")]

MESSAGES = "**/api/voice/sessions/current/messages"


async def test_a_message_goes_from_sending_to_accepted_to_answered(
    phone: Phone, there: Stand
) -> None:
    let_go = asyncio.Event()

    async def hold(route: Route) -> None:
        await let_go.wait()
        await route.continue_()

    await phone.page.route(MESSAGES, hold)
    await phone.type("How far is the sun?")
    await expect(phone.page.locator(".message .mark")).to_have_text("Sending…")
    await expect(phone.box).to_have_value("")
    let_go.set()
    await expect(phone.entries("assistant")).to_have_count(1)
    await expect(phone.page.locator(".message")).to_have_count(0)
    await expect(phone.page.locator(".thread .user .who")).to_contain_text("You typed")
    assert there.live.situation.mode is Mode.VOICE
    await expect(phone.page.get_by_text("Answered aloud, and here.")).to_be_visible()


async def test_enter_sends_and_shift_enter_begins_a_line(phone: Phone) -> None:
    await phone.box.press_sequentially("One")
    await phone.box.press("Shift+Enter")
    await phone.box.press_sequentially("Two")
    await phone.box.press("Enter")
    await expect(phone.entries("user").first).to_have_text("One\nTwo")


async def test_a_stale_number_is_put_right_once_with_the_same_key(
    phone: Phone, there: Stand
) -> None:
    await there.live.wake("Something else first")
    await expect(phone.entries("assistant")).to_have_count(1)
    sent: list[dict[str, object]] = []

    async def lag(route: Route) -> None:
        """The page knows less than the device: the number that it sends is an old one."""
        body = json.loads(route.request.post_data or "")
        sent.append(body)
        if len(sent) == 1:
            body = {**body, "number": 1}
        await route.continue_(post_data=json.dumps(body))

    phone.expects_refusals = True
    await phone.page.route(MESSAGES, lag)
    await phone.type("Am I late?")
    await expect(phone.entries("assistant")).to_have_count(2)
    await expect(phone.page.locator(".message")).to_have_count(0)
    assert [body["number"] for body in sent] == [3, 3]
    assert len({str(body["key"]) for body in sent}) == 1


async def test_a_refused_message_is_sent_again_with_the_same_key_when_asked(
    phone: Phone, there: Stand
) -> None:
    keys: list[str] = []

    async def refuse_once(route: Route) -> None:
        keys.append(json.loads(route.request.post_data or "")["key"])
        if len(keys) > 1:
            await route.continue_()
            return
        problem = {"status": 503, "code": "not-awake", "detail": "Echo sleeps.", "mend": "Wait."}
        await route.fulfill(status=503, body=json.dumps(problem))

    phone.expects_refusals = True
    await phone.page.route(MESSAGES, refuse_once)
    await phone.type("Are you there?")
    await expect(phone.page.locator(".message")).to_contain_text("Echo is not awake yet")
    assert len(keys) == 1
    await phone.button("Try again").click()
    await expect(phone.entries("assistant")).to_have_count(1)
    assert keys[0] == keys[1]


@pytest.mark.parametrize("arrives", [True, False])
async def test_a_message_of_unknown_fate_is_asked_for_and_never_sent_twice(
    phone: Phone, there: Stand, arrives: bool
) -> None:
    """The connection ends after the message left: it may have arrived."""
    posts: list[Request] = []
    asked = asyncio.Event()

    async def lose(route: Route) -> None:
        posts.append(route.request)
        if arrives:
            await route.fetch()
        await route.abort("connectionreset")

    async def unreachable(route: Route) -> None:
        await route.abort("internetdisconnected")
        asked.set()

    phone.expects_refusals = True
    await phone.page.route(MESSAGES, lose)
    await phone.page.route(f"{MESSAGES}/*", unreachable)
    there.live.pace = 1.0
    await phone.type("Is it on its way?")
    await asyncio.wait_for(asked.wait(), PATIENCE_MS / 1000)
    message = phone.page.locator(".message")
    if not arrives:
        await expect(message).to_contain_text("It may have arrived")
        await expect(phone.button("Try again")).to_have_count(0)
    await phone.page.unroute(f"{MESSAGES}/*")
    await phone.context.set_offline(True)
    await expect(phone.state).to_have_text("Not connected")
    await phone.context.set_offline(False)
    there.live.pace = 0.05
    if arrives:
        await expect(message).to_have_count(0)
        await expect(phone.entries("user")).to_have_text("Is it on its way?")
    else:
        await expect(message).to_contain_text("It did not arrive.")
        await expect(phone.button("Try again")).to_be_visible()
    assert len(posts) == 1
    said = [entry.text for entry in there.live.current(OWNER, None, 50).entries]
    assert said.count("Is it on its way?") == int(arrives)


async def test_by_typing_begins_in_text_mode(phones: Phones, there: Stand) -> None:
    phone = await phones()
    await phone.open()
    await phone.button("By typing").click()
    await expect(phone.page.get_by_role("radio", name="Text")).to_be_checked()
    await expect(phone.page.locator(".microphone")).to_have_text("Microphone off in text mode")
    assert there.live.situation.mode is Mode.TEXT


async def test_what_people_say_is_text_and_never_markup(phone: Phone, there: Stand) -> None:
    evil = '<img src=x onerror="window.evil=1"><script>window.evil=1</script>'
    there.live.answers.append([evil, "{{1}} javascript:alert(1)"])
    await there.live.wake(evil)
    await expect(phone.entries("user")).to_have_text(evil)
    await expect(phone.entries("assistant")).to_contain_text(evil)
    await expect(phone.page.locator("h1")).to_have_text(evil)
    kept = (await there.store.conversations(OWNER, limit=1))[0]
    await there.change("voice.model", evil)
    for place in ("history", f"chat/{kept.uuid}", "settings"):
        await phone.open(place)
        if place != "settings":
            await expect(phone.page.locator("main")).to_contain_text(evil)
    await phone.open("history")
    await phone.page.get_by_role("searchbox").fill("onerror")
    await expect(phone.page.locator(".chats mark")).to_have_text("onerror")
    await phone.page.goto(f"{there.url}/plain/{kept.uuid}")
    await expect(phone.page.locator(".thread .user .text")).to_have_text(evil)
    assert await phone.page.evaluate("window.evil") is None
    assert await phone.page.locator("main img").count() == 0
