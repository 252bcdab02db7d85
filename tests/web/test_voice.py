"""Talking and typing through the API: one thread, one message for one key, mode, mute, stop."""

import asyncio

import pytest

from tests.web.phone import Answer, Phone
from tests.web.stand import PNG, Stand
from tests.web.test_chats import named

CURRENT = "/api/voice/sessions/current"


def message(number: int, text: str = "hello", key: str = "key-0001") -> dict[str, object]:
    return {"number": number, "key": key, "parts": [{"type": "text", "text": text}]}


async def send(phone: Phone, number: int, text: str = "hello", key: str = "key-0001") -> Answer:
    return await phone.post(f"{CURRENT}/messages", message(number, text, key))


async def test_a_typed_message_is_answered_in_the_thread(there: Stand, phone: Phone) -> None:
    async with phone.follow() as events:
        await events.until("ready")
        accepted = await send(phone, 1, "What shall I wear?")
        assert (accepted.status, accepted.body) == (202, {"number": 1})
        await events.until("reply", status="complete")
    current = (await phone.get(CURRENT)).body
    assert [(e["number"], e["kind"]) for e in current["entries"]] == [(1, "user"), (2, "assistant")]
    assert current["entries"][0]["input_mode"] == "text"


async def test_one_message_for_one_key(phone: Phone) -> None:
    assert (await send(phone, 1)).body == {"number": 1}
    assert (await send(phone, 1)).body == {"number": 1}
    assert (await send(phone, 9)).body == {"number": 1}
    assert (await phone.get(f"{CURRENT}/messages/key-0001")).body == {"number": 1}
    unknown = await phone.get(f"{CURRENT}/messages/key-0002")
    assert (unknown.status, unknown.code) == (404, "no-message")


async def test_a_stale_number_gets_the_right_one_back(there: Stand, phone: Phone) -> None:
    await there.live.wake()
    stale = await send(phone, 1)
    assert (stale.status, stale.code, stale.body["last_id"]) == (409, "stale-number", 2)
    assert (await send(phone, 3)).status == 202


async def test_a_picture_is_refused_and_nothing_is_said(there: Stand, phone: Phone) -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image", "data": PNG.hex()}]
    refused = await phone.post(
        f"{CURRENT}/messages", {"number": 1, "key": "key-0001", "parts": parts}
    )
    assert (refused.status, refused.code) == (422, "text-only")
    assert (await phone.get(CURRENT)).body["entries"] == []


async def test_an_old_conversation_is_carried_on(phone: Phone) -> None:
    uuid = await named(phone, "A letter to the landlord")
    begun = await phone.post("/api/voice/sessions", {"chat": uuid, "mode": "text"})
    assert (begun.status, begun.body) == (200, {"conversation": uuid, "ready": True})
    current = (await phone.get(CURRENT)).body
    assert (current["title"], current["continued"]) == ("A letter to the landlord", True)
    assert (await phone.get("/api/status")).body["mode"] == "text"
    older = (await phone.get(f"{CURRENT}?before=3")).body
    assert [e["number"] for e in older["entries"]] == [1, 2]


async def test_a_pane_is_not_carried_on(phone: Phone) -> None:
    refused = await phone.post("/api/voice/sessions", {"chat": await named(phone, "build")})
    assert (refused.status, refused.code) == (409, "is-a-pane")


async def test_a_conversation_begun_unsaved_is_shown_and_not_kept(
    there: Stand, phone: Phone
) -> None:
    begun = await phone.post("/api/voice/sessions", {"new": True, "save": False})
    await there.live.wake("Not to be kept?")
    current = (await phone.get(CURRENT)).body
    assert current["saved"] == "not saved"
    assert current["entries"][0]["text"] == "Not to be kept?"
    assert (await phone.get(f"/api/chats/{begun.body['conversation']}")).status == 404


async def test_stop_ends_the_reply_and_what_was_said_of_it_stays(
    there: Stand, phone: Phone
) -> None:
    there.live.pace = 0.3
    async with phone.follow() as events:
        await events.until("ready")
        speaking = asyncio.create_task(there.live.wake())
        first = await events.until("clause")
        assert (await phone.post("/api/voice/stop")).status == 204
        await events.until("reply", status="interrupted", text=first.data["text"])
        await speaking


async def test_what_was_muted_at_the_device_is_unmuted_there(there: Stand, phone: Phone) -> None:
    await phone.put("/api/voice/mute", {"muted": True})
    there.live.muted_by_button = True
    refused = await phone.put("/api/voice/mute", {"muted": False})
    assert (refused.status, refused.code) == (409, "muted-by-button")
    assert (await phone.get("/api/status")).body["microphone_closed"]


async def test_that_was_not_for_me(there: Stand, phone: Phone) -> None:
    assert (await phone.post("/api/voice/false-wake")).status == 204
    assert there.live.false_wakes == 1


async def test_settings_are_shown_and_the_changeable_ones_changed(
    there: Stand, phone: Phone
) -> None:
    shown = {s["name"]: s for s in (await phone.get("/api/settings")).body["settings"]}
    assert (
        shown["voice.volume"] | {"value": 80, "at_least": 0, "at_most": 100}
        == shown["voice.volume"]
    )
    assert shown["wake.sensitivity"]["choices"] == ["low", "normal", "high"]
    assert not shown["dialogue.owner"]["changeable"]
    assert "model.api_key" not in shown
    assert (await phone.put("/api/settings/wake.sensitivity", {"value": "high"})).status == 204
    assert there.loaded.settings.wake.sensitivity == "high"


@pytest.mark.parametrize(
    ("name", "value", "status", "code"),
    [
        ("voice.volume", 101, 422, "setting-invalid"),
        ("voice.volume", "loud", 422, "setting-invalid"),
        ("voice.volume", 10**400, 422, "setting-invalid"),
        ("voice.volume", [1], 422, "invalid"),
        ("voice.volume", True, 422, "setting-invalid"),
        ("dialogue.owner", "eve", 403, "setting-not-changeable"),
        ("web.port", 1, 403, "setting-not-changeable"),
        ("model.api_key", "x", 404, "no-setting"),
        ("nothing", 1, 404, "no-setting"),
    ],
)
async def test_a_wrong_setting_changes_nothing(
    there: Stand, phone: Phone, name: str, value: object, status: int, code: str
) -> None:
    before = there.loaded
    refused = await phone.put(f"/api/settings/{name}", {"value": value})
    assert (refused.status, refused.code) == (status, code)
    assert there.loaded is before
