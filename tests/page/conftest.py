"""A real browser with the viewport of a phone, before the real web server."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    async_playwright,
    expect,
)

from firmware_app.events import Mode
from firmware_app.settings import WebSettings
from tests.conftest import absent
from tests.web.stand import OWNER, Stand, stand

PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 740},
    "is_mobile": True,
    "has_touch": True,
    "locale": "en-GB",
}
PATIENCE_MS = 30_000  # a busy machine is no fault of the page
OTHER_NAME = "echo.home"  # leads here too, and is no secure context, as at home

expect.set_options(timeout=PATIENCE_MS)

Phones: TypeAlias = Callable[..., Awaitable["Phone"]]


@dataclass
class Phone:
    """A browser with cookies of its own; what it complains of is a fault of the test's."""

    context: BrowserContext
    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    expects_refusals: bool = False  # of requests: the browser says so on its console

    def listen(self) -> None:
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._note)

    def _note(self, message: ConsoleMessage) -> None:
        refusal = "Failed to load resource" in message.text
        if message.type == "error" and not (refusal and self.expects_refusals):
            self.complaints.append(message.text)

    async def open(self, place: str = "") -> None:
        """A view: "", history, settings, chat/UUID. It has taken the place of the one before."""
        url = f"{self.url}/#/{place}"
        if self.page.url != url:  # else it is loaded anew
            await self.page.evaluate(
                "document.querySelector('main > section')?.setAttribute('data-before', '')"
            )
        await self.page.goto(url)
        heading = self.page.locator("main > section:not([data-before]) h1")
        await expect(heading).not_to_have_text("…")  # as a conversation's, until it is there

    def entries(self, kind: str = "") -> Locator:
        return self.page.locator(f".thread .entry{kind and '.'}{kind} .text")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    @property
    def state(self) -> Locator:
        return self.page.locator(".state")

    @property
    def box(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message")

    async def type(self, text: str) -> None:
        await self.box.fill(text)
        await self.button("Send").click()

    async def watch(self, selector: str) -> None:
        """Note every text that stands there from now on, however briefly; see `seen`."""
        await self.page.evaluate(
            """async selector => {
                const {watch} = await import("/static/store.js");
                const seen = window.seen = [];
                watch(["state", "partial", "reply", "tools", "conversation"], () => {
                    const text = document.querySelector(selector).textContent;
                    if (text && text !== seen.at(-1)) seen.push(text);
                });
            }""",
            selector,
        )

    async def seen(self) -> list[str]:
        texts: list[str] = await self.page.evaluate("window.seen")
        return texts


def chromium_path() -> str:
    path = shutil.which("chromium")
    if path is None:
        absent("there is no chromium: sudo apt-get install chromium")
    return path


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium_path(),
            args=[f"--host-resolver-rules=MAP {OTHER_NAME} 127.0.0.1"],
        )
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="package", scope="package")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as launched:
        yield launched


@pytest_asyncio.fixture(loop_scope="package", scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stand]:
    web = WebSettings(port=0, hosts=OTHER_NAME)
    async with stand(tmp_path_factory.mktemp("stand"), web) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="package")
async def there(stage: Stand) -> Stand:
    """The server, with nothing said yet and the microphone open."""
    stage.live.muted_by_button, stage.live.pace = False, 0.05
    stage.live.answers.clear()
    stage.live.stop()
    await stage.live.set_muted(False)
    await stage.live.begin(OWNER, chat=None, new=True, save=True, mode=Mode.VOICE)
    return stage


async def pair(context: BrowserContext, server: Stand, owner: str, name: str) -> None:
    """As if it had been paired some time ago; pairing itself has tests of its own."""
    token = await server.server.pairings.add(owner, name)
    cookie = f"hey-echo-{server.server.port}"
    await context.add_cookies([{"name": cookie, "value": token, "url": server.url}])


@pytest_asyncio.fixture(loop_scope="package")
async def phones(browser: Browser, there: Stand) -> AsyncIterator[Phones]:
    """Makes phones: await phones(), or phones("bob"); owner None: not paired. More is given to
    the browser's context."""
    made: list[Phone] = []

    async def make(
        owner: str | None = OWNER,
        name: str = "Phone",
        **more: Any,  # noqa: ANN401 - Playwright's
    ) -> Phone:
        context = await browser.new_context(**{**PHONE, **more})
        context.set_default_timeout(PATIENCE_MS)
        if owner:
            await pair(context, there, owner, name)
        phone = Phone(context, await context.new_page(), there.url)
        phone.listen()
        made.append(phone)
        return phone

    yield make
    for phone in made:
        await phone.context.close()
    assert [complaint for phone in made for complaint in phone.complaints] == []


@pytest_asyncio.fixture(loop_scope="package")
async def phone(phones: Phones) -> Phone:
    """A paired phone that shows the live page."""
    made = await phones()
    await made.open()
    return made
