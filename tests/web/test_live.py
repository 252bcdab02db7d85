"""The live events: who hears what, and what a phone that slept is told."""

import asyncio
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from firmware_app.events import (
    EntriesForgotten,
    Notice,
    PartialTranscript,
    RingingChanged,
    State,
    StateChanged,
    TurnDropped,
)
from firmware_app.web import live
from tests.conftest import PATIENCE
from tests.web.phone import Follow, Phone
from tests.web.stand import ANSWER, Stand


async def names_until_idle(events: Follow) -> list[str]:
    await events.until("state", state="idle")
    return [told.name for told in events.seen]


async def test_a_spoken_exchange_is_followed_as_it_happens(there: Stand, phone: Phone) -> None:
    async with phone.follow() as events:
        ready = await events.until("ready")
        assert ready.data["situation"]["state"] == "idle"
        assert ready.data["last_id"] == ready.id
        assert "reset" not in ready.data
        asyncio.create_task(there.live.wake("How high is it?"))  # noqa: RUF006
        await events.until("partial", text="How high")
        question = await events.until("entry", kind="user")
        assert question.data["input_mode"] == "voice"
        await events.until("clause", text=ANSWER[0])
        answer = await events.until("entry", kind="assistant")
        assert answer.data["text"] == " ".join(ANSWER)
        await events.until("reply", status="complete")
        numbers = [int(told.id.rpartition("-")[2]) for told in events.seen]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_the_page_and_the_documents_know_the_same_events() -> None:
    script = (files("firmware_app.web") / "static" / "talk.js").read_text(encoding="utf-8")
    handlers = script.partition("const HANDLERS = {")[2].partition("\n};")[0]
    handled = re.findall(r"^  (\w+)(?:\(|:)", handlers, re.MULTILINE)
    assert sorted(handled) == sorted(live.EVENTS)
    page = Path(__file__).parents[2] / "docs" / "ARCHITECTURE.md"
    told = page.read_text(encoding="utf-8").partition("GET  /api/live")[2].partition("(usage")[0]
    named = re.findall(r"\w+", re.sub(r"{[^}]*}", "", told))
    assert sorted(named) == sorted(live.EVENTS)


async def test_every_event_is_told_under_a_name_that_is_documented(
    there: Stand, phone: Phone
) -> None:
    async with phone.follow() as events:
        await events.until("ready")
        there.live.answers.append(["tool:Looked at the clock.", "It is four."])
        await there.live.wake("What time is it?")
        (kept,) = await there.store.conversations("home", limit=1)
        there.events.publish(TurnDropped("not-heard"))  # type: ignore[arg-type]
        there.events.publish(Notice("card-full", "The card is full."))
        there.live.ring("pasta")
        await there.live.set_muted(True)
        await phone.put("/api/voice/mode", {"mode": "text"})
        await phone.put("/api/settings/voice.volume", {"value": 35})
        await phone.post("/api/voice/sessions", {"save": False, "new": True})
        await phone.ask("DELETE", f"/api/chats/{kept.uuid}")
        await events.until("forgotten")
        await there.server.pairings.revoke(there.server.pairings.of_owner("home")[0].id)
        assert await events.ended()
        assert {told.name for told in events.seen} == set(live.EVENTS)


async def test_others_see_the_state_and_no_word(there: Stand, phone: Phone, bob: Phone) -> None:
    async with phone.follow() as mine, bob.follow() as theirs:
        ready = await theirs.until("ready")
        assert ready.data["conversation"] is None
        assert ready.data["situation"]["conversation"] is None
        await there.live.wake()
        assert "clause" in await names_until_idle(mine)
        assert set(await names_until_idle(theirs)) == {"ready", "state"}
    assert (await bob.get("/api/voice/sessions/current")).status == 404


async def test_the_conversation_passes_from_one_to_another(
    there: Stand, phone: Phone, bob: Phone
) -> None:
    async with phone.follow() as mine, bob.follow() as theirs:
        await mine.until("ready")
        await theirs.until("ready")
        message = {"number": 1, "key": "12345678", "parts": [{"type": "text", "text": "hello"}]}
        assert (await bob.post("/api/voice/sessions", {})).status == 200
        assert (await bob.post("/api/voice/sessions/current/messages", message)).status == 202
        assert "clause" in await names_until_idle(theirs)
        await mine.until("opened", conversation=None)
        assert not {"entry", "clause", "reply"} & set(await names_until_idle(mine))
        assert (await phone.get("/api/voice/sessions/current")).status == 404


async def test_opened_in_the_middle_it_shows_the_conversation(there: Stand, phone: Phone) -> None:
    await there.live.wake("First of all?")
    async with phone.follow() as events:
        conversation = (await events.until("ready")).data["conversation"]
    assert [e["text"] for e in conversation["entries"]] == ["First of all?", " ".join(ANSWER)]
    assert conversation["last_number"] == 2


async def test_a_phone_that_slept_catches_up_without_a_gap_or_a_double(
    there: Stand, phone: Phone, new_phone: Callable[[], Phone]
) -> None:
    other = new_phone()
    await other.pair()
    async with other.follow() as awake:
        await awake.until("ready")
        async with phone.follow() as events:
            await events.until("ready")
            await there.live.wake("One?")
            last = await events.until("reply")
        await there.live.wake("Two?")
        async with phone.follow(last.id) as again:
            missed = []
            while (told := await again.next()).name != "ready":
                missed.append(told)
            assert "reset" not in told.data
            await there.live.wake("Three?")
            await again.until("reply")
        await awake.until("entry", text="Three?")
        await awake.until("reply")
    slept = [told for told in (*events.seen, *again.seen) if told.name != "ready"]
    whole = [told for told in awake.seen if told.name != "ready"]
    assert slept == whole


@pytest.mark.parametrize("last_id", ["00000000-3", "nonsense", "-", "9" * 40])
async def test_an_id_from_another_start_begins_anew(phone: Phone, last_id: str) -> None:
    async with phone.follow(last_id) as events:
        ready = await events.next()
        assert (ready.name, ready.data["reset"]) == ("ready", True)


async def test_who_missed_too_much_begins_anew(
    there: Stand, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "REPLAYED", 4)
    async with phone.follow() as events:
        first = await events.until("ready")
        for n in range(4):
            there.events.publish(PartialTranscript(str(n)))
        await events.until("partial", text="3")
    async with phone.follow(first.id) as events:
        assert (await events.next()).name == "partial"
    there.events.publish(PartialTranscript("4"))
    await asyncio.sleep(0)
    async with phone.follow(first.id) as events:
        assert (await events.next()).data["reset"]


async def test_what_is_kept_for_catching_up_is_bounded_in_bytes(
    there: Stand, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LONGEST_REPLAY", 10_000)
    async with phone.follow() as events:
        first = await events.until("ready")
        for n in range(6):
            there.events.publish(PartialTranscript(f"{n} " + "word " * 400))
        last = await events.until("partial", text="5 " + "word " * 400)
    async with phone.follow(first.id) as events:
        assert (await events.next()).data["reset"]
    held = [int(told.id.rpartition("-")[2]) for told in events.seen]
    near = f"{last.id.rpartition('-')[0]}-{held[0] - 4}"
    async with phone.follow(near) as events:
        told = [await events.next() for _ in range(5)]
    assert [one.name for one in told] == ["partial"] * 4 + ["ready"]


async def test_what_was_deleted_is_not_told_again(there: Stand, phone: Phone) -> None:
    async with phone.follow() as events:
        first = await events.until("ready")
        await there.live.wake("A secret?")
        uuid = (await events.until("entry", kind="user")).data["conversation"]
        await events.until("state", state="idle")
        await phone.ask("DELETE", f"/api/chats/{uuid}")
        await events.until("forgotten", conversations=[uuid])
        await events.until("opened")
    async with phone.follow(first.id) as again:
        ready = await again.next()
        assert ready.data["reset"]
        assert ready.data["conversation"]["entries"] == []


async def test_a_deleted_entry_is_told_by_its_number(there: Stand, phone: Phone) -> None:
    async with phone.follow() as events:
        await events.until("ready")
        there.events.publish(EntriesForgotten(frozenset(), {"a-b": frozenset({3, 2})}))
        forgotten = await events.until("forgotten")
        assert forgotten.data == {"conversations": [], "entries": {"a-b": [2, 3]}}


async def test_changes_of_the_box_reach_every_phone(there: Stand, phone: Phone, bob: Phone) -> None:
    async with bob.follow() as events:
        await events.until("ready")
        assert (await phone.put("/api/voice/mode", {"mode": "text"})).status == 204
        await events.until("mode", mode="text")
        await events.until("mute", muted=False, closed=True)
        assert (await phone.put("/api/voice/mode", {"mode": "voice"})).status == 204
        assert (await phone.put("/api/voice/mute", {"muted": True})).status == 204
        await events.until("mute", muted=True, closed=True)
        assert (await phone.put("/api/settings/voice.volume", {"value": 35})).status == 204
        await events.until("setting", name="voice.volume", value=35)
        there.events.publish(Notice("card-full", "The card is full."))
        await events.until("notice", code="card-full")


async def test_the_name_of_a_missed_alarm_is_for_the_rooms_owner(
    there: Stand, phone: Phone, bob: Phone
) -> None:
    async with phone.follow() as mine, bob.follow() as theirs:
        await theirs.until("ready")
        there.events.publish(Notice("alarm-missed", "Ring the clinic could not ring in time."))
        await mine.until("notice", code="alarm-missed")
        there.events.publish(Notice("card-full", "The card is full."))
        await theirs.until("notice", code="card-full")
        assert "clinic" not in str(theirs.seen)


async def test_the_name_of_a_timer_is_for_the_rooms_owner(
    there: Stand, phone: Phone, bob: Phone
) -> None:
    async with phone.follow() as mine, bob.follow() as theirs:
        await mine.until("ready")
        await theirs.until("ready")
        there.live.ring("pasta")
        await mine.until("ringing", ringing=True, name="pasta")
        there.live.ring(None)
        await theirs.until("ringing", ringing=False)
        assert "pasta" not in str(theirs.seen)
        there.live.ring("tea")
        assert (await bob.get("/api/status")).body["ringing"] == ""
        assert (await phone.get("/api/status")).body["ringing"] == "tea"


async def test_silence_is_broken_by_comments(
    phone: Phone, monkeypatch: pytest.MonkeyPatch, there: Stand
) -> None:
    await there.server.streams.close()
    monkeypatch.setattr(live, "COMMENT_SECONDS", 0.05)
    there.server.streams.open()
    async with phone.follow() as events:
        await events.until("ready")
        line = await events.response.content.readline()
        assert line.startswith(b":")


async def test_a_phone_that_goes_leaves_nothing_behind(there: Stand, phone: Phone) -> None:
    async with phone.follow() as events:
        await events.until("ready")
        assert there.server.streams.followers == 1
    async with asyncio.timeout(PATIENCE):
        while there.server.streams.followers:
            there.events.publish(StateChanged(State.IDLE))
            await asyncio.sleep(0.01)


async def test_one_phone_follows_a_dozen_times_at_most(there: Stand, phone: Phone) -> None:
    from contextlib import AsyncExitStack

    async with AsyncExitStack() as stack:
        for _ in range(live.FOLLOWERS_OF_ONE):
            events = await stack.enter_async_context(phone.follow())
            await events.until("ready")
        refused = await phone.get("/api/live", headers={"Accept": "text/event-stream"})
        assert (refused.status, refused.code) == (429, "too-many-streams")


async def test_the_stream_is_for_streams_of_this_page_alone(phone: Phone) -> None:
    assert (await phone.get("/api/live")).status == 406
    stream = {"Accept": "text/event-stream"}
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "same-site"}):
        assert (await phone.get("/api/live", headers={**stream, **headers})).status == 403


async def test_an_event_that_nobody_shows_is_not_told(there: Stand, phone: Phone) -> None:
    from firmware_app.events import ModelReady, SettingChanged

    async with phone.follow() as events:
        await events.until("ready")
        there.events.publish(ModelReady("llama"))
        there.events.publish(SettingChanged("model.api_key"))
        there.events.publish(RingingChanged(False, ""))
        assert (await events.next()).name == "ringing"


class FakeWriter:
    def __init__(self) -> None:
        self.chunks: list[bytes] = []

    def send_now(self, data: bytes) -> bool:
        self.chunks.append(data)
        return True


async def test_what_is_in_the_snapshot_is_not_told_after_it(there: Stand, phone: Phone) -> None:
    """Between a room's telling and the stream's there is a turn of the loop."""
    (pairing,) = there.server.pairings.of_owner("home")
    writer = FakeWriter()
    there.events.publish(PartialTranscript("just said"))
    follower = live.Follower(pairing, writer)
    there.server.streams.join(follower, "")
    await asyncio.sleep(0.05)
    assert [b"event: ready" in chunk for chunk in writer.chunks] == [True]
    there.server.streams.leave(follower)
