"""Requests that are wrong, hostile or nonsense: a problem document, and nothing changed."""

import json
import logging
import re
from typing import Any

import pytest

from firmware_app.web.limits import Limit
from firmware_app.web.openapi import DOCUMENT
from firmware_app.web.problems import WebError
from tests.web.phone import Phone
from tests.web.stand import Stand
from tests.web.test_chats import listed, named

CURRENT = "/api/voice/sessions/current"
BODIES = (
    ("POST", "/api/pair"),
    ("POST", "/api/chats/search"),
    ("PATCH", "/api/chats/{uuid}"),
    ("POST", "/api/voice/sessions"),
    ("POST", f"{CURRENT}/messages"),
    ("PUT", "/api/voice/mode"),
    ("PUT", "/api/voice/mute"),
    ("PUT", "/api/settings/voice.volume"),
)
NONSENSE = (
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"17",
    b"\xff\xfe",
    b"[" * 30_000,
    b'{"a":' * 9_000,
    b'{"number": NaN}',
    b'{"value": Infinity}',
    b'{"value": 1' + b"0" * 5_000 + b"}",
    b'{"q": "\\ud800"}',
    b'{"title": "a\\u0000b"}',
    b'{"unknown": 1}',
    b'{"title": null}',
    b'{"code": 12345678}',
    b'{"chat": ["a"], "new": "yes"}',
    b'{"number": -1, "key": "12345678", "parts": []}',
    b'{"number": 1.5, "key": "12345678", "parts": [1]}',
    b'{"number": 1, "key": "../../x", "parts": [{"type": "text", "text": "a"}]}',
    b'{"number": 1, "key": "12345678", "parts": [{"type": "text", "text": ""}]}',
    b'{"number": 1, "key": "12345678", "parts": [{"type": "text"}]}',
    b'{"number": 1, "key": "12345678", "parts": [{"type": {}, "text": "a"}]}',
    b'{"number": 1, "key": "12345678", "parts": [{"type": "text", "text": "a", "more": 1}]}',
)


async def everything(there: Stand, phone: Phone) -> Any:  # noqa: ANN401
    situation = there.live.situation
    return await listed(phone), there.loaded, situation


@pytest.mark.parametrize(("method", "path"), BODIES)
async def test_nonsense_is_refused_and_changes_nothing(
    there: Stand, phone: Phone, method: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = path.format(uuid=await named(phone, "build"))
    before = await everything(there, phone)
    for body in NONSENSE:
        answer = await phone.ask(
            method, path, data=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status in (400, 422, 403, 429), (body[:40], answer)
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert await everything(there, phone) == before
    assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []


async def test_what_is_not_json_is_not_taken(phone: Phone) -> None:
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = await phone.ask(
            "PUT", "/api/voice/mute", data=b"muted=1", headers={"Content-Type": content_type}
        )
        assert (answer.status, answer.code) == (415, "not-json")
    zipped = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = await phone.ask("PUT", "/api/voice/mute", data=b"\x1f\x8b", headers=zipped)
    assert (answer.status, answer.code) == (415, "not-json")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=-1",
        "limit=501",
        "limit=1e3",
        "limit=٣",
        "limit=" + "9" * 400,
        "before=0",
        "before=99999999999999999999",
        "before=",
        "kind=all",
        "kind=voice&kind=chat",
        "unknown=1",
        "limit=%ED%A0%80",
        "limit=%00",
    ],
)
async def test_a_wrong_question_is_refused(phone: Phone, query: str) -> None:
    answer = await phone.get(f"/api/chats?{query}")
    assert (answer.status, answer.code) == (422, "invalid")


@pytest.mark.parametrize(
    "uuid",
    [
        "x",
        "%2e%2e%2f",
        "00000000-0000-0000-0000-00000000000G",
        "00000000-0000-0000-0000-000000000000",
        "' OR 1=1 --",
        "%00",
        "%ED%A0%80",
        "a" * 4000,
    ],
)
async def test_an_unknown_conversation_is_not_found(phone: Phone, uuid: str) -> None:
    for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/export/preview")):
        answer = await phone.ask(method, f"/api/chats/{uuid}{rest}")
        assert answer.status in (404, 405)
    page = await phone.get(f"/plain/{uuid}")
    assert page.status == 404


async def test_a_wrong_method_names_the_right_ones(phone: Phone) -> None:
    for method, path, allowed in (
        ("DELETE", "/api/chats", "GET"),
        ("GET", "/api/voice/stop", "POST"),
        ("POST", "/api/voice/mute", "PUT"),
        ("HEAD", "/api/chats", "GET"),
        ("OPTIONS", "/api/pair", "POST"),
    ):
        answer = await phone.ask(method, path)
        assert answer.status == 405
        assert answer.headers["Allow"] == allowed


@pytest.mark.parametrize("path", DOCUMENT["paths"])
async def test_no_method_but_those_described_does_anything(phone: Phone, path: str) -> None:
    asked = re.sub(r"{\w+}", "0", path)
    allowed = {"HEAD"} if path == "/healthz" else set()
    for template, methods in DOCUMENT["paths"].items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), asked):
            allowed |= {method.upper() for method in methods}
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE"} - allowed:
        answer = await phone.ask(method, asked)
        assert answer.status == 405, method
        assert set(answer.headers["Allow"].split(", ")) == allowed


async def test_paths_lead_to_no_other_file(phone: Phone) -> None:
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd"):
        assert (await phone.get(path)).status == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
async def test_another_page_changes_nothing(
    there: Stand, phone: Phone, headers: dict[str, str]
) -> None:
    answer = await phone.put("/api/voice/mute", {"muted": True}, headers=headers)
    assert (answer.status, answer.code) == (403, "cross-site")
    assert not there.live.situation.muted


async def test_who_does_not_say_where_from_changes_nothing(there: Stand, phone: Phone) -> None:
    phone.origin = {}
    assert (await phone.put("/api/voice/mute", {"muted": True})).status == 403
    assert (await phone.get("/api/chats")).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.2", "[::1]", "", "a b", "localhost.evil"]
)
async def test_a_name_of_another_is_no_way_in(phone: Phone, host: str) -> None:
    answer = await phone.get("/api/session", headers={"Host": host})
    assert (answer.status, answer.code) == (421, "unknown-host")


async def test_its_own_names_are(phone: Phone) -> None:
    import socket

    own = socket.gethostname().partition(".")[0]
    for host in ("localhost:8080", "127.0.0.1", own, f"{own.upper()}.local:1"):
        assert (await phone.get("/api/session", headers={"Host": host})).status == 200


@pytest.mark.parametrize("cookie", ["", "x", "a" * 4000, "ÿ", '"', "0" * 43])
async def test_a_forged_cookie_opens_nothing(there: Stand, stranger: Phone, cookie: str) -> None:
    name = f"hey-echo-{there.server.port}"
    answer = await stranger.get("/api/chats", headers={"Cookie": f"{name}={cookie}"})
    assert answer.status == 401


async def test_every_answer_is_strict_with_browsers(phone: Phone) -> None:
    for path in ("/", "/static/app.js", "/api/chats", "/api/nothing", "/plain", "/healthz"):
        headers = (await phone.get(path)).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "microphone=()" in headers["Permissions-Policy"]
        assert "Server" not in headers
    assert (await phone.get("/api/chats")).headers["Cache-Control"] == "no-store"
    assert (await phone.get("/plain")).headers["Cache-Control"] == "no-store"


async def test_static_files_are_asked_after_and_come_once(phone: Phone) -> None:
    first = await phone.get("/static/app.js")
    assert first.headers["Cache-Control"] == "no-cache"
    again = await phone.get("/static/app.js", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")
    plain = await phone.get("/static/app.js", headers={"Accept-Encoding": "identity"})
    assert plain.body == first.body
    assert plain.headers["ETag"] != first.headers["ETag"]


async def test_a_failure_of_ours_tells_no_word_of_it(
    phone: Phone, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: object) -> None:
        raise KeyError("a secret word")

    monkeypatch.setattr("firmware_app.web.chats._head", broken)
    async with phone.session.get(f"{phone.stand.url}/api/chats") as answer:
        text = await answer.text()
    assert (answer.status, json.loads(text)["code"]) == (500, "internal")
    assert "secret" not in text + caplog.text
    assert "KeyError at web/chats.py:" in caplog.text


async def test_guessing_codes_is_slow(there: Stand, stranger: Phone) -> None:
    statuses = [(await stranger.post("/api/pair", {"code": "0"})).status for _ in range(12)]
    assert statuses[:10] == [403] * 10
    refused = await stranger.post("/api/pair", {"code": "0"})
    assert (refused.status, refused.code) == (429, "too-often")
    assert int(refused.headers["Retry-After"]) > 5
    assert (await stranger.get("/api/session")).status == 200


async def test_asking_without_a_pause_is_refused_in_the_end(stranger: Phone) -> None:
    for _ in range(400):
        answer = await stranger.get("/healthz")
        if answer.status == 429:
            assert answer.headers["Retry-After"] == "1"
            return
    raise AssertionError("nobody said stop")


def test_a_limit_fills_again_and_remembers_no_more_than_it_must() -> None:
    now = 0.0
    limit = Limit(burst=2, each_second=0.5, now=lambda: now)
    for _ in range(2):
        limit.spend("a")
    with pytest.raises(WebError) as refused:
        limit.spend("a")
    assert refused.value.headers["Retry-After"] == "2"
    limit.spend("b")
    now = 2.0
    limit.spend("a")
    for n in range(3000):
        limit.spend(str(n))
    assert len(limit._left) <= 1024
