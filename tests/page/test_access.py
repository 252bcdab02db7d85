"""The page for everybody: screen readers, large text, no JavaScript, slow radios."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Response, expect

from tests.page.conftest import Phones
from tests.web.stand import OWNER, Stand

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="package")]

LARGEST_LOAD = 60 * 1024  # bytes over the air, the first time


async def grave_faults(page: Page, scheme: str) -> list[str]:
    """What axe-core finds serious or critical, and where; in the dark only colours differ."""
    script = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    await page.evaluate(script)
    rules = [] if scheme == "light" else ["color-contrast", "link-in-text-block"]
    found: dict[str, Any] = await page.evaluate(
        "rules => axe.run(rules.length ? {runOnly: {type: 'rule', values: rules}} : {})", rules
    )
    assert found["passes"], "axe looked at nothing"
    return [
        f"{fault['id']}: {node['html'][:160]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_no_grave_fault_in_any_view(
    phones: Phones, there: Stand, scheme: str
) -> None:
    phone = await phones(color_scheme=scheme, reduced_motion="reduce")
    stranger = await phones(None, color_scheme=scheme, reduced_motion="reduce")
    await stranger.open()
    await expect(stranger.page.locator("h1")).to_be_visible()
    faults = {"pair": await grave_faults(stranger.page, scheme)}
    await phone.open()
    await expect(phone.page.locator(".latest .chat").first).to_be_visible()
    faults["start"] = await grave_faults(phone.page, scheme)
    await there.live.wake("How old is the moon?")
    await phone.button("Volume").click()
    await expect(phone.entries("assistant")).to_have_count(1)
    faults["live"] = await grave_faults(phone.page, scheme)
    kept = await there.store.conversations(OWNER, limit=100)
    letter = next(one.uuid for one in kept if "landlord" in one.title)
    lima = next(one.uuid for one in kept if "Lima" in one.title)
    for place in ("history", "settings", f"chat/{letter}", f"chat/{lima}"):
        await phone.open(place)
        await expect(phone.page.locator(".chat, .phones li, .entry").first).to_be_visible()
        faults[place] = await grave_faults(phone.page, scheme)
    for name in ("Rename", "Export", "Delete"):
        await phone.button(name).click()
        await expect(phone.page.get_by_role("dialog")).to_be_visible()
        faults[name] = await grave_faults(phone.page, scheme)
        await phone.page.keyboard.press("Escape")
        await expect(phone.page.get_by_role("dialog")).to_be_hidden()
    await phone.button("Continue with Echo").click()
    await expect(phone.button("Continue")).to_be_visible()
    faults["continue"] = await grave_faults(phone.page, scheme)
    await phone.page.goto(f"{there.url}/plain/{lima}")
    faults["plain"] = await grave_faults(phone.page, scheme)
    assert {view: found for view, found in faults.items() if found} == {}


async def test_it_is_worked_by_keyboard_alone(phones: Phones, there: Stand) -> None:
    phone = await phones()
    await phone.open("history")
    await expect(phone.page.locator(".chat").first).to_be_visible()
    keyboard = phone.page.keyboard
    await phone.page.locator(".chat").last.focus()
    await keyboard.press("Enter")
    await expect(phone.page.locator("h1")).to_be_focused()
    await phone.button("Delete").focus()
    await keyboard.press("Enter")
    await expect(phone.page.get_by_role("dialog")).to_be_visible()
    await keyboard.press("Escape")
    await expect(phone.button("Delete")).to_be_focused()
    await phone.page.get_by_role("link", name="Live").focus()
    await keyboard.press("Enter")
    await expect(phone.page.locator(".live h1")).to_be_focused()
    await phone.page.get_by_role("radio", name="Voice").focus()
    await keyboard.press("ArrowRight")
    await expect(phone.page.locator(".microphone")).to_have_text("Microphone off in text mode")


async def test_a_reply_is_announced_clause_by_clause(phones: Phones, there: Stand) -> None:
    phone = await phones()
    await phone.open()
    await expect(phone.state).to_have_text("Ready")
    there.live.answers.append(["It is four,", "and it rains."])
    await there.live.wake("What time is it")
    said = phone.page.locator("[aria-live=polite] p")
    await expect(said).to_have_text(["Listening", "It is four,", "and it rains."])


@pytest.mark.parametrize("size", [200, 320])
async def test_large_text_is_cut_off_nowhere(phones: Phones, there: Stand, size: int) -> None:
    """At twice the size of letters, and on the narrowest screen, nothing lies outside."""
    narrow = {"width": 320, "height": 370} if size == 320 else {"width": 360, "height": 740}
    phone = await phones(viewport=narrow)
    kept = await there.store.conversations(OWNER, limit=100)
    lima = next(one.uuid for one in kept if "Lima" in one.title)
    for place in ("", "history", "settings", f"chat/{lima}"):
        await phone.open(place)
        await expect(phone.page.locator(".chat, .phones li, .entry").first).to_be_attached()
        if size == 200:
            await phone.page.evaluate("document.documentElement.style.fontSize = '200%'")
        outside = await phone.page.evaluate(
            """() => [...document.querySelectorAll("button, a, input, p, h1, h2, span")]
                .filter(element => element.checkVisibility() && !element.closest(".unseen"))
                .filter(element => {
                    const box = element.getBoundingClientRect();
                    return box.width > 1 && (box.left < -1 || box.right > innerWidth + 1);
                })
                .map(element => element.outerHTML.slice(0, 120))"""
        )
        assert outside == [], place
    await phone.open()
    await phone.box.tap()
    await expect(phone.button("Send")).to_be_in_viewport()


async def test_letters_of_twice_the_size_leave_everything_within_reach(
    phones: Phones, there: Stand
) -> None:
    """What head and foot leave no room for is scrolled to, and lies under nothing."""
    phone = await phones()
    await there.live.wake("How old is the moon?")
    kept = await there.store.conversations(OWNER, limit=100)
    lima = next(one.uuid for one in kept if "Lima" in one.title)
    larger = "document.documentElement.style.fontSize = '200%'"
    await phone.open()
    await phone.page.evaluate(larger)
    await expect(phone.entries("assistant")).to_have_count(1)
    for _ in ("opened", "closed"):
        await phone.button("Volume").click()
    await phone.type("Can you read this?")
    await expect(phone.entries("user")).to_have_count(2)
    await expect(phone.entries("assistant")).to_have_count(2)
    await expect(phone.entries("assistant").last).to_be_in_viewport()
    await phone.open(f"chat/{lima}")
    await phone.page.get_by_text("Usage and cost").click()
    await expect(phone.page.get_by_text("Cost: unavailable.")).to_be_visible()
    await phone.entries("user").first.scroll_into_view_if_needed()
    await expect(phone.entries("user").first).to_be_in_viewport()
    await phone.button("Delete").click()
    await phone.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await expect(phone.button("Continue with Echo")).to_be_in_viewport()


SMALLEST_TARGET = 44  # CSS pixels: Web Content Accessibility Guidelines 2.2, 2.5.5


async def small_targets(page: Page) -> list[str]:
    """Whatever can be tapped and is too small for a thumb; a label counts with its control."""
    found: list[str] = await page.evaluate(
        """least => [...document.querySelectorAll("button, a, summary, textarea, input, label")]
            .filter(element => element.checkVisibility() && !element.closest(".unseen"))
            .filter(element => !element.matches("label input, label:not(:has(input))"))
            .map(element => [element, element.getBoundingClientRect()])
            .filter(([, {width, height}]) => Math.min(width, height) < least - 0.5)
            .map(([element, {width, height}]) =>
                `${element.outerHTML.slice(0, 100)}: ${width.toFixed()} x ${height.toFixed()}`)""",
        SMALLEST_TARGET,
    )
    return found


async def test_everything_is_large_enough_for_a_thumb(phones: Phones, there: Stand) -> None:
    phone, stranger = await phones(), await phones(None)
    await stranger.open()
    await expect(stranger.page.locator("h1")).to_be_visible()
    small = {"pair": await small_targets(stranger.page)}
    await phone.open()
    await expect(phone.page.locator(".latest .chat").first).to_be_visible()
    small["start"] = await small_targets(phone.page)
    await there.live.wake("How old is the moon?")
    await phone.button("Volume").click()
    await expect(phone.page.get_by_role("button", name="for Echo")).to_be_visible()
    small["live"] = await small_targets(phone.page)
    kept = await there.store.conversations(OWNER, limit=100)
    letter = next(one.uuid for one in kept if "landlord" in one.title)
    sums = next(one.uuid for one in kept if "Sums" in one.title)
    for place in ("history", "settings", f"chat/{sums}", f"chat/{letter}"):
        await phone.open(place)
        await expect(phone.page.locator(".chat, .phones li, .entry").first).to_be_visible()
        small[place] = await small_targets(phone.page)
    for name in ("Rename", "Export", "Delete"):
        await phone.button(name).click()
        await expect(phone.page.get_by_role("dialog")).to_be_visible()
        small[name] = await small_targets(phone.page)
        await phone.page.keyboard.press("Escape")
        await expect(phone.page.get_by_role("dialog")).to_be_hidden()
    await phone.button("Continue with Echo").click()
    await expect(phone.button("Continue")).to_be_visible()
    small["continue"] = await small_targets(phone.page)
    await phone.button("Continue").click()
    await expect(phone.page.locator(".continued")).to_be_visible()
    small["continued"] = await small_targets(phone.page)
    await phone.page.goto(f"{there.url}/plain/{sums}")
    small["plain"] = await small_targets(phone.page)
    assert {view: found for view, found in small.items() if found} == {}


async def test_an_address_that_leads_nowhere_shows_a_view_all_the_same(
    phones: Phones, there: Stand
) -> None:
    phone = await phones()
    phone.expects_refusals = True
    for place in ("constructor", "toString/x", "__proto__", "chat/%", "chat/%E0%A4%A", "chat", "?"):
        await phone.open(place)
        await expect(phone.page.locator("main h1")).to_be_visible()
    await phone.open("history")
    await expect(phone.page.locator(".chat").first).to_be_visible()


async def test_without_javascript_the_conversations_are_a_list(
    phones: Phones, there: Stand
) -> None:
    phone = await phones(java_script_enabled=False)
    await phone.page.goto(there.url)
    await expect(phone.page).to_have_url(f"{there.url}/plain")
    await phone.page.get_by_role("link", name="How many people live in Lima?").click()
    await expect(phone.page.locator(".thread li")).to_have_count(4)
    await phone.page.go_back()
    await phone.page.get_by_role("link", name="Sums").click()
    await expect(phone.page.locator(".thread li")).to_have_count(50)
    await phone.page.get_by_role("link", name="Older").click()
    await expect(phone.page.locator(".thread li").last).to_contain_text("It is 68.")
    stranger = await phones(None, java_script_enabled=False)
    stranger.expects_refusals = True
    await stranger.page.goto(f"{there.url}/plain")
    await expect(stranger.page.locator("main")).to_contain_text("not paired")
    await expect(stranger.page.locator("main")).not_to_contain_text("Lima")
    bob = await phones("bob", java_script_enabled=False)
    await bob.page.goto(f"{there.url}/plain")
    await expect(bob.page.locator("main")).to_contain_text("Where are my keys?")
    await expect(bob.page.locator("main")).not_to_contain_text("Lima")


async def test_the_first_load_is_small_and_asks_nobody_else(phones: Phones, there: Stand) -> None:
    phone = await phones()
    answers: list[Response] = []
    phone.page.on("response", lambda answer: answers.append(answer))
    await phone.open()
    await expect(phone.page.locator(".latest .chat").first).to_be_visible()
    sizes = [await answer.request.sizes() for answer in answers if "/api/live" not in answer.url]
    total = sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)
    assert 10_000 < total <= LARGEST_LOAD
    assert {answer.url.startswith(there.url) for answer in answers} == {True}


async def test_every_module_is_sound_and_every_file_is_named(phones: Phones) -> None:
    """Whatever no other test happens to open is parsed here, by the browser itself."""
    phone = await phones()
    await phone.open()
    folder = Path(__file__).parents[2] / "firmware_app" / "web" / "static"
    modules = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.js"))]
    await phone.page.evaluate(
        "async names => { for (const name of names) await import(`/static/${name}`); }",
        [name for name in modules if name != "app.js"],
    )
    index = (folder / "index.html").read_text(encoding="utf-8")
    preloaded = [name for name in modules if f'preload" href="/static/{name}"' in index]
    views = {"views/history.js", "views/chat.js", "views/settings.js", "views/pair.js"}
    later = views | {"strings/en.js", "strings/es.js"} | {"parts/chat_actions.js", "parts/usage.js"}
    assert sorted({*preloaded, *later, "app.js"}) == modules
