"""Getting in: codes, cookies, the list of phones, and being shut out."""

import asyncio
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_app.web import codes, pairings
from firmware_app.web.codes import Codes
from firmware_app.web.openapi import DOCUMENT
from firmware_app.web.pairings import KEPT_SECONDS, NOTED_SECONDS, Pairings
from firmware_app.web.problems import WebError
from tests.web.phone import Phone
from tests.web.stand import Stand, stand

EVERYTHING = (
    ("GET", "/api/chats"),
    ("POST", "/api/chats/search"),
    ("GET", "/api/chats/8a3f65ea-ca05-4ec5-b790-ae7f47f9710b"),
    ("DELETE", "/api/chats/8a3f65ea-ca05-4ec5-b790-ae7f47f9710b"),
    ("GET", "/api/voice/sessions/current"),
    ("POST", "/api/voice/sessions/current/messages"),
    ("POST", "/api/voice/stop"),
    ("PUT", "/api/voice/mute"),
    ("GET", "/api/settings"),
    ("PUT", "/api/settings/voice.volume"),
    ("GET", "/api/pairings"),
    ("POST", "/api/unpair"),
    ("GET", "/api/live"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/nothing"),
    ("GET", "/elsewhere"),
)


@pytest.mark.parametrize(("method", "path"), EVERYTHING)
async def test_a_stranger_gets_nothing_else(stranger: Phone, method: str, path: str) -> None:
    answer = await stranger.ask(method, path)
    assert (answer.status, answer.code) == (401, "not-paired")


async def test_a_stranger_gets_the_page_and_a_state_without_content(stranger: Phone) -> None:
    page = await stranger.get("/")
    assert page.status == 200
    assert b"<!doctype html>" in page.body
    assert (await stranger.get("/healthz")).body == b"ok\n"
    session = (await stranger.get("/api/session")).body
    assert session == {"paired": False, "secure": False, "needs": "pairing", "language": "en"}
    status = (await stranger.get("/api/status")).body
    assert status.keys() == {"state", "microphone_closed", "muted", "mode", "version"}


async def test_a_code_pairs_one_phone_once(there: Stand, new_phone: Callable[[], Phone]) -> None:
    code, first, second = there.code(), new_phone(), new_phone()
    assert len(code) == 8
    assert code.isdigit()
    typed = f"{code[:4]} {code[4:]}"
    paired = await first.post("/api/pair", {"code": typed, "name": " Ann's \n phone "})
    assert paired.status == 204
    cookie = paired.headers["Set-Cookie"]
    assert cookie.startswith(f"hey-echo-{there.server.port}=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={KEPT_SECONDS}"} <= set(
        cookie.split("; ")
    )
    assert "Secure" not in cookie
    session = (await first.get("/api/session")).body
    assert (session["owner"], session["name"]) == ("home", "Ann's phone")
    again = await second.post("/api/pair", {"code": code})
    assert (again.status, again.code) == (403, "wrong-code")


async def test_five_wrong_tries_void_a_code(there: Stand, stranger: Phone) -> None:
    code = there.code()
    wrong = "00000000" if code != "00000000" else "11111111"
    for _ in range(5):
        assert (await stranger.post("/api/pair", {"code": wrong})).status == 403
    assert (await stranger.post("/api/pair", {"code": code})).code == "wrong-code"


def test_a_code_lives_two_minutes() -> None:
    now = 0.0
    made = Codes(lambda: now)
    code = made.new("ann", 6)
    assert len(code) == 6
    now = codes.SECONDS - 1
    assert made.take(code) == "ann"
    code = made.new("ann", 6)
    now += codes.SECONDS + 1
    with pytest.raises(WebError):
        made.take(code)


def test_a_new_code_takes_the_place_of_the_old() -> None:
    made = Codes()
    old, new = made.new("ann", 8), made.new("bob", 8)
    with pytest.raises(WebError):
        made.take(old)
    assert made.take(new) == "bob"


async def test_the_button_makes_echo_speak_a_code(there: Stand, stranger: Phone) -> None:
    await there.server.speak_code()
    said = there.live.announced[0]
    digits = [word for word in said.replace(",", "").replace(".", "").split() if word.isdigit()]
    assert digits[:6] == digits[6:]
    assert (await stranger.post("/api/pair", {"code": "".join(digits[:6])})).status == 204


async def test_the_token_is_nowhere_but_in_the_cookie(there: Stand, phone: Phone) -> None:
    (cookie,) = phone.session.cookie_jar
    rows = there.state.work(lambda d: d.execute("SELECT * FROM pairings").fetchall()).result()
    assert hashlib.sha256(cookie.value.encode()).digest() in rows[0]
    held = b"".join(path.read_bytes() for path in there.folder.rglob("state.db*"))
    assert cookie.value.encode() not in held


async def test_a_paired_phone_is_known_after_a_restart(there: Stand, phone: Phone) -> None:
    again = Pairings(there.state)
    await again.load()
    (cookie,) = phone.session.cookie_jar
    found = again.of_token(cookie.value)
    assert found is not None
    assert (found.owner, found.name) == ("home", "phone")
    assert again.of_token(cookie.value + "x") is None


async def test_pairing_anew_ends_the_old_session(there: Stand, phone: Phone) -> None:
    (old,) = phone.session.cookie_jar
    await phone.pair("home", "same phone")
    (new,) = phone.session.cookie_jar
    assert old.value != new.value
    assert there.server.pairings.of_token(old.value) is None
    assert [p["name"] for p in (await phone.get("/api/pairings")).body] == ["same phone"]


async def test_a_phone_is_forgotten_after_90_days_without_use(there: Stand) -> None:
    now = 1_800_000_000.0
    made = Pairings(there.state, now=lambda: now)
    token = await made.add("ann", "")
    now += KEPT_SECONDS - 1
    assert made.of_token(token)
    assert made.use(token)
    now += KEPT_SECONDS - 1
    assert made.of_token(token)
    now += 2
    assert made.of_token(token) is None


async def test_a_box_without_a_clock_forgets_nobody(there: Stand) -> None:
    now = 100.0
    made = Pairings(there.state, now=lambda: now)
    token = await made.add("ann", "")
    now = 1_800_000_000.0
    assert made.of_token(token)


async def test_the_last_use_is_noted_once_an_hour(there: Stand) -> None:
    now = 1_800_000_000.0
    made = Pairings(there.state, now=lambda: now)
    token = await made.add("ann", "")
    now += NOTED_SECONDS - 1
    assert not made.use(token)
    now += 2
    assert made.use(token)
    assert not made.use(token)
    stored = there.state.work(
        lambda d: d.execute("SELECT last_used FROM pairings").fetchall()
    ).result()
    assert stored == [(now,)]


async def test_the_cookie_is_renewed_with_use(
    phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Set-Cookie" not in (await phone.get("/api/session")).headers
    monkeypatch.setattr(pairings, "NOTED_SECONDS", 0)
    (before,) = phone.session.cookie_jar
    renewed = await phone.get("/api/session")
    assert f"Max-Age={KEPT_SECONDS}" in renewed.headers["Set-Cookie"]
    async with phone.follow() as events:  # a page that wakes up asks for nothing else
        assert before.value in events.response.headers["Set-Cookie"]
    given = (await phone.post("/api/unpair")).headers.getall("Set-Cookie")
    assert ["Max-Age=0" in cookie for cookie in given] == [True]  # and it is not given anew


async def test_a_phone_cannot_give_itself_a_name_that_a_terminal_obeys(
    there: Stand, stranger: Phone
) -> None:
    name = "Ann\x1b[2J\x07 \u202eenohp\u2028 2"
    assert (await stranger.post("/api/pair", {"code": there.code(), "name": name})).status == 204
    assert (await stranger.get("/api/session")).body["name"] == "Ann [2J enohp 2"


async def test_nothing_on_the_network_makes_a_code(
    there: Stand, stranger: Phone, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for strangers, and not for paired phones: only the button and SSH do."""
    made: list[int] = []

    def new(codes: Codes, owner: str, digits: int) -> str:
        made.append(digits)
        return "1" * digits

    monkeypatch.setattr(Codes, "new", new)
    asked = [
        (method, re.sub(r"{\w+}", "0", path))
        for path, methods in DOCUMENT["paths"].items()
        for method in methods
        if path not in ("/api/live", "/api/unpair")  # has no end; ends the session
    ]
    for who in (stranger, phone):
        for method, path in asked:
            async with who.session.request(
                method, there.url + path, json={}, headers=who.origin
            ) as answer:
                assert answer.status < 500, path
    assert made == []
    await there.server.speak_code()
    assert made == [codes.SPOKEN_DIGITS]


async def test_two_boxes_of_one_name_keep_their_cookies_apart(
    there: Stand, phone: Phone, tmp_path: Path
) -> None:
    """Browsers send the cookies of all ports of a host to each of them."""
    (tmp_path / "other").mkdir()
    async with stand(tmp_path / "other", filled=False) as other:
        beside = Phone(other, phone.session)
        assert (await beside.get("/api/chats")).status == 401
        await beside.pair()
        assert (await phone.get("/api/chats")).body["chats"]
        assert (await beside.get("/api/chats")).body["chats"] == []
        await beside.post("/api/unpair")
        assert (await phone.get("/api/chats")).status == 200


async def test_phones_are_listed_and_revoked_by_their_owner_alone(
    new_phone: Callable[[], Phone], phone: Phone, bob: Phone
) -> None:
    other = new_phone()
    await other.pair("home", "tablet")
    listed = (await phone.get("/api/pairings")).body
    assert {p["name"]: p["current"] for p in listed} == {"phone": True, "tablet": False}
    tablet = next(p["id"] for p in listed if p["name"] == "tablet")
    assert (await bob.ask("DELETE", f"/api/pairings/{tablet}")).status == 404
    assert (await phone.ask("DELETE", f"/api/pairings/{tablet}")).status == 204
    assert (await phone.ask("DELETE", f"/api/pairings/{tablet}")).status == 404
    assert (await other.get("/api/chats")).status == 401
    assert (await bob.get("/api/chats")).status == 200


async def test_revoking_ends_the_streams_of_that_phone_at_once(
    there: Stand, phone: Phone, bob: Phone
) -> None:
    async with phone.follow() as mine, bob.follow() as theirs:
        await mine.until("ready")
        await theirs.until("ready")
        number = there.server.pairings.of_owner("home")[0].id
        began = asyncio.get_running_loop().time()
        await there.server.pairings.revoke(number)
        await mine.until("revoked")
        assert await mine.ended()
        assert asyncio.get_running_loop().time() - began < 1
        await there.live.wake()
        await theirs.until("state", state="idle")


async def test_unpairing_forgets_this_phone(phone: Phone) -> None:
    assert (await phone.post("/api/unpair")).status == 204
    assert not list(phone.session.cookie_jar)
    assert (await phone.get("/api/chats")).status == 401


async def test_a_new_code_is_not_noticed_by_paired_phones(there: Stand, phone: Phone) -> None:
    async with phone.follow() as events:
        await events.until("ready")
        there.code()
        await there.server.speak_code()
        with pytest.raises(TimeoutError):
            await events.next(0.3)
    assert (await phone.get("/api/chats")).status == 200


async def test_without_a_state_database_no_phone_is_paired() -> None:
    from firmware_app.errors import StorageError

    with pytest.raises(StorageError):
        await Pairings(None).add("ann", "")
