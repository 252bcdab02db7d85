"""Settings on a phone: changed here, or by somebody else while they are looked at."""

import asyncio

import pytest
from playwright.async_api import Route, expect

from tests.page.conftest import Phone
from tests.web.stand import Stand

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="package")]


async def test_saving_is_explained_and_switched(phone: Phone, there: Stand) -> None:
    await phone.open("settings")
    await expect(phone.page.get_by_text("sound never is")).to_be_visible()
    await phone.page.get_by_role("switch", name="Save conversations").click()
    while there.loaded.settings.voice.save_conversations:
        await asyncio.sleep(0.01)
    await there.change("voice.save_conversations", True)
    await expect(phone.page.get_by_role("switch", name="Save conversations")).to_be_checked()


async def test_an_answer_that_comes_late_undoes_nothing(phone: Phone, there: Stand) -> None:
    let_go = asyncio.Event()

    async def late(route: Route) -> None:
        answer = await route.fetch()
        await let_go.wait()
        await route.fulfill(response=answer)

    await phone.open("settings")
    save = phone.page.get_by_role("switch", name="Save conversations")
    await expect(save).to_be_checked()
    await phone.page.route("**/api/settings/voice.save_conversations", late)
    async with phone.page.expect_response("**/api/settings/voice.save_conversations"):
        await save.click()
        while there.loaded.settings.voice.save_conversations:
            await asyncio.sleep(0.01)
        await there.change("voice.save_conversations", True)
        await expect(save).to_be_checked()
        let_go.set()
    await phone.page.evaluate("new Promise(resolve => setTimeout(resolve, 50))")
    await expect(save).to_be_checked()


async def test_changes_by_others_appear_at_once(phone: Phone, there: Stand) -> None:
    await phone.open("settings")
    await expect(phone.page.get_by_role("radio", name="Normally")).to_be_checked()
    await there.change("wake.sensitivity", "high")
    await expect(phone.page.get_by_role("radio", name="Readily")).to_be_checked()
    await there.change("dialogue.follow_up_seconds", 12.0)
    await expect(phone.page.get_by_role("slider", name="How long it listens on")).to_have_value(
        "12"
    )


async def test_what_is_refused_goes_back_and_says_why(phone: Phone, there: Stand) -> None:
    phone.expects_refusals = True
    await phone.open("settings")
    hours = phone.page.get_by_role("textbox", name="Night hours")
    before = there.loaded.settings.lights.night_hours
    await hours.fill("from dusk till dawn")
    await hours.press("Tab")
    await expect(phone.page.get_by_role("alert")).to_be_visible()
    await expect(hours).to_have_value(before)
    assert there.loaded.settings.lights.night_hours == before


async def test_what_only_ssh_changes_is_shown_with_its_name(phone: Phone) -> None:
    await phone.open("settings")
    fixed = phone.page.locator(".fixed > div", has_text="dialogue.owner")
    await expect(fixed.locator("dd")).to_have_text("home")
    await expect(phone.page.get_by_text("/etc/hey-echo/config.toml")).to_be_visible()
