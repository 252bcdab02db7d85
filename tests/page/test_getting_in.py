"""Pairing a phone, and what a stranger's phone is shown."""

import asyncio
import re

import pytest
from playwright.async_api import Route, expect

from tests.page.conftest import OTHER_NAME, PATIENCE_MS, Phone, Phones
from tests.web.stand import Stand

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="package")]


async def test_the_code_comes_out_of_the_address_and_stays_in_no_history(
    phones: Phones, there: Stand
) -> None:
    phone = await phones(None)
    await phone.page.goto(there.pairing_url())
    code = phone.page.get_by_label("Code", exact=True)
    await expect(code).to_have_value(re.compile(r"\d{8}"))
    await expect(phone.page).to_have_url(f"{there.url}/")
    await phone.page.goto(there.pairing_url())
    await phone.page.reload()
    await phone.page.goto(there.pairing_url())
    await expect(code).not_to_be_empty()  # or the name goes into the form before this one
    await phone.page.get_by_label("Name of this phone").fill("Ann and Bob")
    await phone.button("Pair").click()
    await expect(phone.page.get_by_role("navigation", name="Views")).to_be_visible()
    await expect(phone.state).to_have_text("Ready")
    await phone.open("settings")
    await expect(phone.page.locator(".phones")).to_contain_text("Ann and Bob")
    await phone.page.reload()
    await expect(phone.page.locator(".phones")).to_contain_text("this phone")


async def test_a_code_that_comes_while_the_view_is_on_its_way_is_not_lost(phones: Phones) -> None:
    phone = await phones(None)
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await let_go.wait()
        await route.continue_()

    await phone.page.route("**/static/views/pair.js", hold)
    await phone.page.goto(phone.url)
    await asyncio.wait_for(asked.wait(), PATIENCE_MS / 1000)
    await phone.page.evaluate("location.hash = '#pair=12345678'")
    await phone.page.evaluate("new Promise(resolve => setTimeout(resolve))")  # it is told of it
    let_go.set()
    await expect(phone.page.get_by_label("Code", exact=True)).to_have_value("12345678")


async def test_a_paired_phone_that_comes_with_a_code_may_change_hands_or_stay(
    phones: Phones, there: Stand
) -> None:
    phone = await phones()
    await phone.open()
    await expect(phone.state).to_have_text("Ready")
    await phone.page.goto(there.pairing_url("bob"))
    await expect(phone.page.get_by_label("Code", exact=True)).not_to_be_empty()
    await expect(phone.page).to_have_url(f"{there.url}/")
    await phone.button("Cancel").click()
    await phone.page.get_by_role("link", name="History").click()
    await expect(phone.page.locator(".chats")).to_contain_text("How many people live in Lima?")
    new_tab = await phone.context.new_page()
    await new_tab.goto(there.pairing_url("bob"))
    await new_tab.get_by_role("button", name="Pair", exact=True).click()
    await new_tab.get_by_role("link", name="History").click()
    await expect(new_tab.locator(".chats")).to_contain_text("Where are my keys?")
    await expect(new_tab.locator(".chats")).not_to_contain_text("Lima")
    # The first tab was the other owner's: its session has ended.
    await expect(phone.page.get_by_role("heading", name="Pair this phone")).to_be_visible()
    await expect(phone.page.locator("body")).not_to_contain_text("Lima")


async def test_a_stranger_sees_the_light_and_nothing_else(phones: Phones, there: Stand) -> None:
    await there.live.wake("A word of ours")
    phone = await phones(None)
    phone.expects_refusals = True
    for place in ("", "history", "settings", "chat/x"):
        await phone.open(place)
        await expect(phone.page.get_by_role("heading", name="Pair this phone")).to_be_visible()
        await expect(phone.state).to_have_text("Ready")
        await expect(phone.page.locator("body")).not_to_contain_text("A word of ours")
        await expect(phone.page.get_by_role("navigation")).to_be_hidden()
    await expect(phone.page.get_by_text("others on your network could listen in")).to_be_visible()


async def test_a_wrong_code_is_refused_with_a_sentence(phones: Phones) -> None:
    phone = await phones(None)
    phone.expects_refusals = True
    await phone.open()
    await phone.page.get_by_label("Code", exact=True).fill("0000 0000")
    await phone.button("Pair").click()
    await expect(phone.page.get_by_role("alert")).not_to_be_empty()
    await expect(phone.page.get_by_label("Code", exact=True)).to_be_focused()


async def test_a_revoked_phone_is_out_at_once(phones: Phones) -> None:
    ours, lost = await phones(), await phones(name="Lost")
    lost.expects_refusals = True
    await lost.open()
    await expect(lost.state).to_have_text("Ready")
    await ours.open("settings")
    await ours.button("Revoke Lost").click()
    await ours.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(lost.page.get_by_role("heading", name="Pair this phone")).to_be_visible()
    await expect(ours.page.locator(".phones")).not_to_contain_text("Lost")


async def test_without_a_secure_context_copying_has_another_way_and_sharing_is_hidden(
    phones: Phones, there: Stand
) -> None:
    phone = await phones()
    cookie = (await phone.context.cookies())[0]
    home = there.url.replace("127.0.0.1", OTHER_NAME)
    await phone.context.add_cookies(
        [{"name": cookie["name"], "value": cookie["value"], "url": home}]
    )
    kept = (await there.store.conversations("home"))[-1]
    await phone.page.goto(f"{home}/#/chat/{kept.uuid}")
    await expect(phone.entries("user").first).to_have_text("How many people live in Lima?")
    assert not await phone.page.evaluate("isSecureContext")
    await expect(phone.button("Share")).to_have_count(0)
    await phone.button("Copy").click()
    await expect(phone.page.get_by_text("Copied.")).to_be_visible()


async def test_the_page_speaks_spanish_to_a_spanish_browser(phones: Phones, there: Stand) -> None:
    phone = await phones(locale="es-ES")
    await phone.open()
    await expect(phone.state).to_have_text("Listo")
    await expect(phone.page.locator("html")).to_have_attribute("lang", "es")
    await asyncio.gather(there.live.wake("Hola"))
    await expect(phone.page.locator(".thread .user .who")).to_contain_text("Dijiste")
    for place, title in (("history", "Historial"), ("settings", "Ajustes")):
        await phone.open(place)
        await expect(phone.page.get_by_role("heading", name=title)).to_be_visible()


async def test_every_language_has_every_string(phone: Phone) -> None:
    names = await phone.page.evaluate(
        """async () => {
            const languages = ["en", "es"].map(name => import(`/static/strings/${name}.js`));
            return (await Promise.all(languages)).map(language =>
                Object.entries(language.default).map(([name, is]) => `${name} ${typeof is}`).sort()
            );
        }"""
    )
    assert names[0] == names[1]
    assert len(names[0]) > 100
