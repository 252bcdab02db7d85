"""Old conversations on a phone: found, read, carried on, renamed, taken away, deleted."""

import asyncio
from datetime import datetime
from pathlib import Path

import pytest
from playwright.async_api import Route, expect

from firmware_app.history.records import NewConversation, NewEntry
from tests.page.conftest import PATIENCE_MS, Phone, Phones
from tests.web.stand import LASTING, OWNER, Stand

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="package")]

LIMA = "How many people live in Lima?"


async def uuid_of(there: Stand, title: str) -> str:
    found = await there.store.conversations(OWNER, limit=100)
    return next(one.uuid for one in found if one.title == title)


async def test_the_list_is_newest_first_and_shows_one_kind_where_asked(
    phone: Phone, there: Stand
) -> None:
    await phone.open("history")
    titles = phone.page.locator(".chat .title")
    await expect(titles.first).to_have_text("Sums, many of them")
    await expect(titles.last).to_have_text(LIMA)
    await phone.page.get_by_role("radio", name="Panes").check(force=True)
    await expect(titles).to_have_text(["build"])
    await expect(phone.page.locator(".chat .meta")).to_contain_text("under 1 min")
    await phone.page.get_by_role("radio", name="Typed").check(force=True)
    await expect(titles).to_contain_text(["A letter to the landlord"])
    await expect(phone.page.locator(".chat .mark").first).to_have_text("carried on")


async def test_words_are_found_and_marked_and_lead_to_their_place(phone: Phone) -> None:
    await phone.open("history")
    await phone.page.get_by_role("searchbox", name="Search").fill("fourteen")
    await expect(phone.page.locator(".chats mark")).to_have_text("fourteen")
    await phone.page.locator(".chat").click()
    await expect(phone.page.locator(".entry.found .text")).to_contain_text("fourteen million")
    await phone.page.go_back()
    await expect(phone.page.get_by_role("searchbox", name="Search")).to_have_value("fourteen")
    await phone.page.get_by_role("searchbox", name="Search").fill("zebra")
    await expect(phone.page.get_by_text("Nothing found.")).to_be_visible()
    await phone.page.get_by_role("searchbox", name="Search").fill("")


async def test_older_conversations_come_below_and_nothing_jumps(phone: Phone, there: Stand) -> None:
    for n in range(40):
        await there.store.start(NewConversation("chat", OWNER, f"Chat {n}"))
    await phone.open("history")
    rows = phone.page.locator(".chat")
    await expect(rows).to_have_count(30)
    await rows.last.scroll_into_view_if_needed()
    place = "() => document.querySelectorAll('.chat')[29].getBoundingClientRect().top"
    before = await phone.page.evaluate(place)
    await phone.button("Load older").click()
    await expect(rows).not_to_have_count(30)
    assert await phone.page.evaluate(place) == pytest.approx(before, abs=60)  # the focus may show


async def test_a_long_thread_begins_at_its_end_and_grows_upwards_without_a_jump(
    phone: Phone, there: Stand
) -> None:
    await phone.open(f"chat/{await uuid_of(there, 'Sums, many of them')}")
    await expect(phone.entries("assistant").last).to_be_in_viewport()
    entries = phone.page.locator(".thread .entry")
    await expect(entries).to_have_count(50)
    place = "() => document.querySelector('[data-number=\"71\"]').getBoundingClientRect().top"
    await phone.page.locator(".scroll").evaluate("scroll => { scroll.scrollTop = 0; }")
    before = await phone.page.evaluate(place)
    await phone.button("Load older").evaluate("button => button.click()")
    await expect(entries).to_have_count(100)
    assert await phone.page.evaluate(place) == pytest.approx(before, abs=2)
    await phone.button("Load older").evaluate("button => button.click()")
    await expect(entries).to_have_count(120)
    await expect(phone.button("Load older")).to_be_hidden()


async def test_what_was_found_far_back_leads_on_to_what_came_after(
    phone: Phone, there: Stand
) -> None:
    await phone.open(f"chat/{await uuid_of(there, 'Sums, many of them')}/11")
    await expect(phone.page.locator(".entry.found")).to_be_in_viewport()
    for last in (85, 120):
        await phone.button("Load newer").click()
        await expect(phone.page.locator(f"[data-number='{last}']")).to_be_attached()
    await expect(phone.button("Load newer")).to_be_hidden()
    await expect(phone.page.locator(".thread .entry")).to_have_count(120)


async def test_tapped_twice_it_asks_once(phone: Phone, there: Stand) -> None:
    path = f"chat/{await uuid_of(there, 'Sums, many of them')}"
    asked: list[Route] = []

    async def hold(route: Route) -> None:
        asked.append(route)

    await phone.open(path)
    await phone.page.route("**/api/chats/*before=71*", hold)
    for _ in range(2):
        await phone.button("Load older").evaluate("button => button.click()")
    await expect(phone.button("Load older")).to_have_attribute("aria-busy", "true")
    for route in asked:
        await route.continue_()
    await expect(phone.page.locator(".thread .entry")).to_have_count(100)
    assert len(asked) == 1


async def test_a_thread_shows_how_its_answers_ended_and_what_was_heard_badly(
    phone: Phone, there: Stand
) -> None:
    await phone.open(f"chat/{await uuid_of(there, LIMA)}")
    await expect(phone.page.locator(".mark", has_text="Stopped here")).to_be_visible()
    await expect(phone.page.locator(".mark", has_text="Not heard clearly")).to_have_count(1)
    await phone.page.get_by_text("Usage and cost").click()
    await expect(phone.page.get_by_text("Cost: unavailable.")).to_be_visible()


async def test_what_a_conversation_consumed_is_told_as_of_now(phone: Phone, there: Stand) -> None:
    new = NewConversation("voice", OWNER, "Thirsty")
    await there.store.start(new)
    await there.store.write(NewEntry(new.uuid, 1, "user", ("Hello",)))
    await phone.open(f"chat/{new.uuid}")
    await expect(phone.entries("user")).to_have_text("Hello")
    await there.store.write(NewEntry(new.uuid, 2, "assistant", ("Hello, you.",)))
    await there.store.set_usage(
        new.uuid,
        {"engines": {"a model": {"prompt_tokens": 120, "generated_tokens": 7}}, "incomplete": True},
    )
    await phone.page.get_by_text("Usage and cost").click()
    used = phone.page.locator(".used")
    await expect(used.get_by_role("row")).to_have_text("a model120 tokens read, 7 tokens written")
    await expect(used).to_contain_text("Cost: unavailable.")
    await expect(used).to_contain_text("the least that was used")
    await phone.button("Delete").click()
    await expect(phone.page.get_by_role("dialog")).to_contain_text("all 2 entries")


async def test_times_tell_their_day_where_it_is_not_today(phone: Phone, there: Stand) -> None:
    new = NewConversation("voice", OWNER, "Over the years")
    await there.store.start(new)
    for number in range(1, 5):
        await there.store.write(NewEntry(new.uuid, number, "user", ("Hello",)))
    days = ((2024, 5, 17, 12, 4), (2026, 5, 16, 9, 0), (2026, 5, 17, 9, 8), (2026, 5, 18, 15, 1))
    times = [datetime(*day).timestamp() for day in days]  # the browser's zone is this machine's

    async def dated(route: Route) -> None:
        answer = await route.fetch()
        body = await answer.json()
        for entry, created in zip(body["entries"], times, strict=True):
            entry["created"] = created
        await route.fulfill(response=answer, json=body)

    await phone.page.clock.set_fixed_time(datetime(2026, 5, 18, 15, 4))
    await phone.page.route(f"**/api/chats/{new.uuid}?limit=50", dated)
    await phone.open(f"chat/{new.uuid}")
    when = phone.page.locator(".thread .when")
    await expect(when).to_have_text(
        ["17 May 2024 12:04", "16 May 09:00", "yesterday 09:08", "15:01"]
    )


async def test_an_unknown_time_is_said_to_be_unknown(phone: Phone, there: Stand) -> None:
    new = NewConversation("voice", OWNER, "Before the clock")
    await there.store.start(new)
    await there.store.write(NewEntry(new.uuid, 1, "user", ("Hello",)))

    async def without_time(route: Route) -> None:
        answer = await route.fetch()
        body = await answer.json()
        body["entries"][0]["created"] = None
        await route.fulfill(response=answer, json=body)

    await phone.page.route(f"**/api/chats/{new.uuid}?*", without_time)
    await phone.open(f"chat/{new.uuid}")
    await expect(phone.page.locator(".thread .who")).to_contain_text("time unknown")


async def test_continue_with_echo_begins_on_the_next_tap_and_never_before(
    phone: Phone, there: Stand
) -> None:
    uuid = await uuid_of(there, LIMA)
    await phone.open(f"chat/{uuid}")
    await phone.button("Continue with Echo").click()
    await expect(phone.page.get_by_role("heading", name=f"Continue “{LIMA}”")).to_be_visible()
    await expect(phone.button("Start a new one instead")).to_be_visible()
    assert there.live.situation.conversation != uuid
    await phone.button("Continue").click()
    await expect(phone.page.locator(".continued")).to_have_text(f"Continuing “{LIMA}”")
    assert there.live.situation.conversation == uuid
    await expect(phone.entries("user")).to_have_text([LIMA, "And in Tokyo?"])
    await there.live.wake("And in Cusco")
    order = phone.page.locator(".thread > li")
    await expect(order).to_have_count(7)
    await expect(order.nth(4)).to_have_class("continued")
    await expect(order.nth(5)).to_contain_text("And in Cusco")


async def test_carried_on_by_typing_shows_the_last_eight_exchanges(
    phone: Phone, there: Stand
) -> None:
    uuid = await uuid_of(there, "Sums, many of them")
    await phone.open(f"chat/{uuid}")
    await phone.button("By typing").click()
    await expect(phone.page.locator(".start h2")).to_have_text("Continue “Sums, many of them”")
    await phone.button("By typing").click()
    await expect(phone.page.locator(".continued")).to_be_visible()
    await expect(phone.page.get_by_role("radio", name="Text")).to_be_checked()
    await expect(phone.entries("user")).to_have_count(8)
    await expect(phone.entries("user").first).to_have_text("What is 52 plus 52?")
    whole = phone.page.get_by_role("link", name="Read the whole conversation")
    await expect(whole).to_have_attribute("href", f"#/chat/{uuid}")


async def test_the_live_page_offers_those_with_the_latest_exchange_and_no_panes(
    phone: Phone, there: Stand
) -> None:
    talks = [NewConversation("chat", OWNER, f"Talk {n}") for n in range(9)]
    for talk in talks:
        await there.store.start(talk)
        await there.store.write(NewEntry(talk.uuid, 1, "user", ("Hello",)))
    await there.store.write(NewEntry(talks[0].uuid, 2, "user", ("Hello again",)))
    await phone.page.reload()
    titles = phone.page.locator(".latest .title")
    await expect(titles).to_have_text([f"Talk {n}" for n in (0, 8, 7, 6, 5, 4, 3, 2)])
    build = NewConversation("pane", OWNER, "A pane")
    await there.store.start(build)
    await there.store.write(NewEntry(build.uuid, 1, "user", ("Hello",)))
    await phone.page.reload()
    await expect(titles.first).to_have_text("Talk 0")


async def test_a_new_name_is_everywhere(phone: Phone, there: Stand) -> None:
    new = NewConversation("chat", OWNER, "Old name")
    await there.store.start(new)
    await phone.open(f"chat/{new.uuid}")
    await phone.button("Rename").click()
    dialog = phone.page.get_by_role("dialog")
    await expect(dialog.get_by_role("textbox", name="Title")).to_have_value("Old name")
    await dialog.get_by_role("textbox", name="Title").fill("New name")
    await dialog.get_by_role("button", name="Rename").click()
    await expect(phone.page.locator("h1")).to_have_text("New name")
    await phone.page.get_by_role("link", name="Back").click()
    await expect(phone.page.locator(".chats")).to_contain_text("New name")
    await expect(phone.page.locator(".chats")).not_to_contain_text("Old name")


async def test_a_box_is_put_in_front_of_its_own_view_alone(phone: Phone, there: Stand) -> None:
    new = NewConversation("chat", OWNER, "Left behind")
    await there.store.start(new)
    uuid = new.uuid
    asked, let_go = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await let_go.wait()
        await route.continue_()

    await phone.open(f"chat/{uuid}")
    dialog = phone.page.get_by_role("dialog")
    await phone.button("Rename").click()
    await expect(dialog).to_be_visible()
    await phone.page.go_back()
    await expect(phone.page.locator(".live")).to_be_visible()
    await expect(dialog).to_have_count(0)
    await phone.open(f"chat/{uuid}")
    await phone.page.route(f"**/api/chats/{uuid}?limit=1", hold)
    await phone.button("Delete").click()
    await asyncio.wait_for(asked.wait(), PATIENCE_MS / 1000)
    await phone.open("history")
    async with phone.page.expect_response(f"**/api/chats/{uuid}?limit=1"):
        let_go.set()
    await expect(phone.page.locator(".chat", has_text="Left behind")).to_be_visible()
    await expect(dialog).to_have_count(0)


async def test_an_export_is_shown_before_it_goes_out(
    phone: Phone, there: Stand, tmp_path: Path
) -> None:
    new = NewConversation("voice", OWNER, LIMA)
    await there.store.start(new)
    await there.store.write(NewEntry(new.uuid, 1, "user", (LIMA,)))
    await there.store.write(NewEntry(new.uuid, 2, "assistant", ("About ten million.",)))
    await phone.open(f"chat/{new.uuid}")
    for name, ending, needle in (
        ("Markdown", "md", "**You**"),
        ("Text", "txt", "] Echo"),
        ("JSON", "json", '"entries"'),
    ):
        await phone.button("Export").click()
        dialog = phone.page.get_by_role("dialog")
        await expect(dialog).to_contain_text("Goes out: 2 entries, 0 images")
        await dialog.get_by_role("radio", name=name).check(force=True)
        async with phone.page.expect_download() as waiting:
            await dialog.get_by_role("link", name="Download").click()
        download = await waiting.value
        assert download.suggested_filename == f"echo-how-many-people-live-in-lima.{ending}"
        await download.save_as(tmp_path / ending)
        assert needle in (tmp_path / ending).read_text(encoding="utf-8")
        await expect(dialog).to_be_hidden()


async def test_deleting_what_is_being_spoken_is_honoured_everywhere_at_once(
    phones: Phones, there: Stand
) -> None:
    listening, deleting = await phones(), await phones()
    await listening.open()
    there.live.answers.append(["A secret", "that goes on"] * LASTING)
    talk = asyncio.create_task(there.live.wake("Tell me a secret"))
    await expect(listening.page.locator(".now.assistant .text")).to_contain_text("A secret")
    await deleting.open("history")
    await deleting.page.locator(".chat", has_text="Tell me a secret").click()
    await deleting.button("Delete").click()
    dialog = deleting.page.get_by_role("dialog")
    for promise in ("What goes:", "What stays:", "What cannot be recalled:"):
        await expect(dialog).to_contain_text(promise)
    await dialog.get_by_role("button", name="Delete").click()
    await expect(deleting.page.get_by_text("Deleted, and erased from the device.")).to_be_visible()
    await expect(deleting.page.get_by_role("heading", name="History")).to_be_visible()
    await talk
    for phone in (listening, deleting):
        await expect(phone.page.locator("main")).not_to_contain_text("secret")
    await expect(listening.page.locator(".stage")).not_to_contain_text("secret")
    kept = await there.store.conversations(OWNER, limit=1)
    assert kept[0].title != "Tell me a secret"


async def test_a_stranger_deleting_by_command_line_empties_an_open_thread(
    phone: Phone, there: Stand
) -> None:
    new = NewConversation("chat", OWNER, "Going, going")
    await there.store.start(new)
    await phone.open(f"chat/{new.uuid}")
    await expect(phone.page.locator("h1")).to_have_text("Going, going")
    await there.store.delete(None, new.uuid)
    await expect(phone.page.get_by_role("heading", name="History")).to_be_visible()
    await expect(phone.page.locator(".chats")).not_to_contain_text("Going, going")
