"""The page over TLS, with a certificate as `hey-echo tls create` makes it, in a real browser."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect
from playwright.async_api import Error as PlaywrightError

from firmware_app.settings import WebSettings
from tests.conftest import PATIENCE
from tests.page.conftest import OTHER_NAME, PATIENCE_MS, PHONE, Phone, chromium_path
from tests.web.stand import OWNER, Stand, stand

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="package")]

# As a phone's: Chromium on Linux has no share sheet. What it is given stands in window.shared.
SHARE_SHEET = """
    window.shared = [];
    navigator.share = async given => {
        if (!navigator.userActivation.isActive) throw new DOMException("", "NotAllowedError");
        window.shared.push(given);
    };
"""


@pytest_asyncio.fixture(loop_scope="package", scope="module")
async def safe(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stand]:
    """The server of a box with a certificate of its own."""
    web = WebSettings(port=0, hosts=OTHER_NAME)
    async with stand(tmp_path_factory.mktemp("safe"), web, secure=True) as made:
        yield made


async def pair_by_hand(page: Page, there: Stand) -> None:
    await page.goto(there.pairing_url())
    await page.get_by_role("button", name="Pair", exact=True).click()
    await expect(page.get_by_role("navigation", name="Views")).to_be_visible()


@pytest_asyncio.fixture(loop_scope="package")
async def phone(browser: Browser, safe: Stand) -> AsyncIterator[Phone]:
    """A paired phone whose owner has said yes to the certificate."""
    context = await browser.new_context(
        **PHONE, ignore_https_errors=True, permissions=["clipboard-read", "clipboard-write"]
    )
    context.set_default_timeout(PATIENCE_MS)
    made = Phone(context, await context.new_page(), safe.url)
    made.listen()
    await pair_by_hand(made.page, safe)
    yield made
    await context.close()
    assert made.complaints == []


async def lima(safe: Stand) -> str:
    kept = await safe.store.conversations(OWNER, limit=100)
    return next(one.uuid for one in kept if "Lima" in one.title)


async def test_the_cookie_is_for_this_host_and_for_tls_alone(phone: Phone, safe: Stand) -> None:
    (cookie,) = await phone.context.cookies()
    assert cookie["name"] == f"__Host-hey-echo-{safe.server.port}"
    assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
    assert (cookie["path"], cookie["domain"]) == ("/", "127.0.0.1")
    await phone.page.reload()
    await expect(phone.state).to_have_text("Ready")
    await safe.live.wake("Who can hear this?")
    await expect(phone.entries("user")).to_have_text("Who can hear this?")


async def test_nobody_is_warned_of_listeners_where_there_are_none(
    phone: Phone, browser: Browser, safe: Stand
) -> None:
    await phone.open("settings")
    await expect(phone.page.locator(".phones li").first).to_be_visible()
    await expect(phone.page.locator("main")).not_to_contain_text("could listen in")
    context = await browser.new_context(**PHONE, ignore_https_errors=True)
    stranger = await context.new_page()
    await stranger.goto(safe.url)
    await expect(stranger.get_by_role("heading", name="Pair this phone")).to_be_visible()
    await expect(stranger.locator("main")).not_to_contain_text("could listen in")
    await context.close()


async def test_by_any_of_its_names_it_is_a_secure_context(phone: Phone, safe: Stand) -> None:
    await phone.page.goto(safe.url.replace("127.0.0.1", OTHER_NAME))
    await expect(phone.page.get_by_role("heading", name="Pair this phone")).to_be_visible()
    assert await phone.page.evaluate("isSecureContext")


async def test_copying_goes_to_the_clipboard(phone: Phone, safe: Stand) -> None:
    await phone.open(f"chat/{await lima(safe)}")
    await phone.button("Copy").click()
    await expect(phone.page.get_by_text("Copied.")).to_be_visible()
    copied = await phone.page.evaluate("navigator.clipboard.readText()")
    assert "About ten million people live in Lima" in copied


async def test_sharing_is_offered_where_there_is_a_share_sheet(phone: Phone, safe: Stand) -> None:
    uuid = await lima(safe)
    await phone.page.evaluate("delete Navigator.prototype.share")
    await phone.open(f"chat/{uuid}")
    await expect(phone.button("Copy")).to_be_visible()
    await expect(phone.button("Share")).to_have_count(0)
    await phone.page.add_init_script(SHARE_SHEET)
    await phone.page.reload()
    await expect(phone.button("Share")).to_be_visible()


async def test_what_is_shared_is_told_first_and_then_given(phone: Phone, safe: Stand) -> None:
    uuid = await lima(safe)
    await phone.page.add_init_script(SHARE_SHEET)
    await phone.page.goto(f"{safe.url}/#/chat/{uuid}")
    await phone.page.reload()
    await phone.button("Share").click()
    dialog = phone.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Goes out: 4 entries, 0 images")
    assert await phone.page.evaluate("window.shared") == []
    await dialog.get_by_role("button", name="Cancel").click()
    assert await phone.page.evaluate("window.shared") == []
    # The text is there before the tap: a browser gives a sheet to a recent tap alone.
    async with phone.page.expect_request_finished(lambda asked: "format=txt" in asked.url):
        await phone.button("Share").click()
    await dialog.get_by_role("button", name="Share").click()
    await expect(dialog).to_have_count(0)
    (given,) = await phone.page.evaluate("window.shared")
    exported = await phone.page.request.get(f"{safe.url}/api/chats/{uuid}/export?format=txt")
    assert given == {"title": "How many people live in Lima?", "text": await exported.text()}
    assert "Tokyo has about fourteen million" in given["text"]


async def test_a_share_sheet_that_fails_is_told_and_one_that_is_closed_is_not(
    phone: Phone, safe: Stand
) -> None:
    for name, told in (("AbortError", False), ("NotAllowedError", True)):
        await phone.page.add_init_script(
            f'navigator.share = async () => {{ throw new DOMException("", "{name}"); }};'
        )
        await phone.page.goto(f"{safe.url}/#/chat/{await lima(safe)}")
        await phone.page.reload()
        await phone.button("Share").click()
        await phone.page.get_by_role("dialog").get_by_role("button", name="Share").click()
        await expect(phone.page.get_by_role("dialog")).to_have_count(0)
        failed = phone.page.get_by_text("This could not be shared.")
        await expect(failed).to_have_count(int(told))


@pytest_asyncio.fixture(loop_scope="package")
async def daily_browser(tmp_path: Path) -> AsyncIterator[BrowserContext]:
    """With a profile on the disk, for private windows install nothing; it trusts no certificate."""
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            tmp_path / "profile",
            executable_path=chromium_path(),
            args=[
                "--bypass-app-banner-engagement-checks",  # as if visited often enough
                f"--host-resolver-rules=MAP {OTHER_NAME} 127.0.0.1",
            ],
            **PHONE,
        )
        context.set_default_timeout(PATIENCE_MS)
        yield context
        await context.close()


async def test_whoever_goes_on_past_the_browsers_warning_is_as_safe_and_keeps_the_code(
    daily_browser: BrowserContext, safe: Stand
) -> None:
    page = await daily_browser.new_page()
    await past_the_warning(page, safe.pairing_url())
    await expect(page.get_by_label("Code", exact=True)).not_to_be_empty()
    await page.get_by_role("button", name="Pair", exact=True).click()
    await expect(page.locator(".state")).to_have_text("Ready")
    async with asyncio.timeout(PATIENCE):
        while not await daily_browser.cookies():  # the browser tells of it a little later
            await asyncio.sleep(0.05)
    (cookie,) = await daily_browser.cookies()
    assert cookie["name"].startswith("__Host-")
    assert cookie["secure"]
    assert await page.evaluate("isSecureContext && Boolean(navigator.clipboard)")


async def past_the_warning(page: Page, url: str) -> None:
    """Chromium's page about a certificate that it cannot check is passed by typing this word."""
    with pytest.raises(PlaywrightError, match="ERR_CERT_AUTHORITY_INVALID"):
        await page.goto(url)
    await page.wait_for_url("chrome-error://**")
    await expect(page.locator("body")).to_contain_text("not private")
    await page.keyboard.type("thisisunsafe")
    await page.wait_for_url(f"{url.partition('#')[0]}**")


async def test_the_browser_finds_it_fit_to_be_installed_and_is_asked_to_by_the_button(
    daily_browser: BrowserContext, safe: Stand
) -> None:
    page = await daily_browser.new_page()
    await page.add_init_script(
        """
        addEventListener("beforeinstallprompt", () => { window.offered = true; });
        const {prompt} = BeforeInstallPromptEvent.prototype;
        BeforeInstallPromptEvent.prototype.prompt = function () {
            window.asked = (window.asked ?? 0) + 1;
            return prompt.call(this);
        };
        """
    )
    await past_the_warning(page, safe.pairing_url())
    await page.get_by_role("button", name="Pair", exact=True).click()
    await expect(page.get_by_role("navigation", name="Views")).to_be_visible()
    devtools = await daily_browser.new_cdp_session(page)
    manifest: dict[str, Any] = await devtools.send("Page.getAppManifest")
    assert manifest["errors"] == []
    assert manifest["manifest"]["name"] == "Hey Echo"
    assert manifest["manifest"]["startUrl"] == f"{safe.url}/#/"
    assert await devtools.send("Page.getInstallabilityErrors") == {"installabilityErrors": []}
    # The browser offers it while the live page is shown, and the button is in the settings.
    await page.wait_for_function("window.offered")
    await page.get_by_role("link", name="Settings").click()
    install = page.get_by_role("button", name="Install as an app")
    await expect(install).to_be_visible()
    await install.click()
    await page.wait_for_function("window.asked === 1")
    await expect(page.get_by_role("alert")).to_have_count(0)


async def test_without_tls_nothing_is_offered_to_be_installed(
    daily_browser: BrowserContext, there: Stand
) -> None:
    page = await daily_browser.new_page()
    home = there.url.replace("127.0.0.1", OTHER_NAME)
    await page.goto(re.sub(r"^[^#]*", f"{home}/", there.pairing_url()))
    await page.get_by_role("button", name="Pair", exact=True).click()
    await page.get_by_role("link", name="Settings").click()
    await expect(page.locator(".phones li").first).to_be_visible()
    assert not await page.evaluate("isSecureContext")
    await expect(page.get_by_role("button", name="Install as an app")).to_be_hidden()
    devtools = await daily_browser.new_cdp_session(page)
    found: dict[str, Any] = await devtools.send("Page.getInstallabilityErrors")
    assert "not-from-secure-origin" in [error["errorId"] for error in found["installabilityErrors"]]
