"""Draws docs/screens/*.png, and the icon as PNG: the real page over the real server, with a fake
talk and made-up conversations behind it.

    ./scripts/screenshots
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from playwright.async_api import Browser, Page, expect

from firmware_app.history.records import NewConversation, NewEntry
from firmware_app.history.store import Store
from firmware_app.settings import WebSettings
from tests.page.conftest import chromium, pair
from tests.web.stand import OWNER, Stand, stand

PROJECT = Path(__file__).parents[2]
SCREENS = PROJECT / "docs" / "screens"
STATIC = PROJECT / "firmware_app" / "web" / "static"
Scheme: TypeAlias = Literal["light", "dark"]
PHONE, DESKTOP = (360, 740), (1100, 720)

MOON = "About 384,400 kilometres, on average."
TALKS = (
    ("chat", "A letter to the landlord", "Make it friendlier.", "Dear Ms. Moreno, I hope you …"),
    (
        "voice",
        "How long do I boil an egg?",
        "And for soft ones?",
        "Six minutes, then cold water.",
    ),
    ("pane", "build", "Run the tests.", "All tests passed."),
    (
        "voice",
        "What can I cook with aubergines, tomatoes and not much time on a…",
        "What can I cook with aubergines, tomatoes and not much time on a Tuesday evening?",
        "Roast them together with garlic for half an hour, and fold in some pasta.",
    ),
    ("voice", "How far is the moon?", "And how long does light take?", "A little over a second."),
)


async def fill(store: Store) -> str:
    """Conversations worth looking at; the uuid of the last."""
    for kind, title, question, answer in TALKS:
        new = NewConversation(kind, OWNER, title)  # type: ignore[arg-type]
        await store.start(new)
        said: tuple[tuple[Any, str, Any], ...] = (
            ("user", title if kind == "voice" else question, "voice"),
            (
                "assistant",
                MOON if "moon" in title else answer,
                None,
            ),
            ("user", question, "text" if kind == "chat" else "voice"),
            ("assistant", answer, None),
        )
        for number, (who, text, mode) in enumerate(said, 1):
            await store.write(NewEntry(new.uuid, number, who, (text,), input_mode=mode))
        await store.end(new.uuid)
    return new.uuid


@asynccontextmanager
async def open_page(
    browser: Browser, there: Stand, scheme: Scheme, size: tuple[int, int], *, paired: bool = True
) -> AsyncIterator[Page]:
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        locale="en-GB",
        is_mobile=size == PHONE,
        reduced_motion="reduce",
    )
    if paired:
        await pair(context, there, OWNER, "Ann's phone")
    yield await context.new_page()
    await context.close()


async def save(page: Page, name: str) -> None:
    await page.wait_for_timeout(300)
    await page.screenshot(path=SCREENS / f"{name}.png")


async def draw_live(browser: Browser, there: Stand, scheme: Scheme, size: tuple[int, int]) -> None:
    """In the middle of an answer."""
    await there.live.begin(OWNER, chat=None, new=True, save=True, mode=None)
    async with open_page(browser, there, scheme, size) as page:
        await page.goto(f"{there.url}/#/")
        there.live.answers = [
            [MOON],
            [
                "A little over a second:",
                "when you look at it,",
                "you see it as it was just before.",
            ],
        ]
        await there.live.wake("How far is the moon?")
        there.live.pace = 1.0
        talk = asyncio.create_task(there.live.wake("And how long does its light take?"))
        await expect(page.locator(".now.assistant .text")).to_contain_text("when you look")
        await save(page, f"live-{scheme}-{'phone' if size == PHONE else 'desktop'}")
        there.live.stop()
        await talk
        there.live.pace = 0.05


async def draw(browser: Browser, there: Stand, moon: str) -> None:
    async with open_page(browser, there, "light", PHONE, paired=False) as page:
        await page.goto(there.pairing_url())
        await expect(page.get_by_label("Code", exact=True)).not_to_be_empty()
        await save(page, "pair-light-phone")
    async with open_page(browser, there, "dark", PHONE) as page:
        await page.goto(f"{there.url}/#/")
        await expect(page.locator(".latest .chat").first).to_be_visible()
        await save(page, "start-dark-phone")
    async with open_page(browser, there, "light", PHONE) as page:
        await page.goto(f"{there.url}/#/history")
        await expect(page.locator(".chat").first).to_be_visible()
        await save(page, "history-light-phone")
        await page.goto(f"{there.url}/#/settings")
        await expect(page.locator(".phones li").first).to_be_attached()
        await save(page, "settings-light-phone")
    async with open_page(browser, there, "dark", PHONE) as page:
        await page.goto(f"{there.url}/#/chat/{moon}")
        await expect(page.locator(".entry").first).to_be_visible()
        await save(page, "conversation-dark-phone")
    await draw_live(browser, there, "light", PHONE)
    await draw_live(browser, there, "dark", DESKTOP)


async def draw_icons(browser: Browser) -> None:
    page = await browser.new_page()
    for size in (192, 512):
        await page.set_viewport_size({"width": size, "height": size})
        await page.goto((STATIC / "icon.svg").as_uri())
        await page.screenshot(path=STATIC / f"icon-{size}.png")


async def main() -> None:
    SCREENS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="echo-screens-") as folder:
        async with chromium() as browser:
            await draw_icons(browser)
            async with stand(Path(folder), WebSettings(port=0), filled=False) as there:
                await draw(browser, there, await fill(there.store))
    for drawn in sorted(SCREENS.glob("*.png")):
        print(f"{drawn.stat().st_size // 1024:4} KB  {drawn.relative_to(PROJECT)}")


if __name__ == "__main__":
    asyncio.run(main())
