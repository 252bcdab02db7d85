"""Typed messages: one for one key, numbered after the last entry, answered in their order."""

import asyncio

import pytest

from firmware_app.dialogue.live import StaleNumberError
from firmware_app.errors import EchoError, UsageError
from firmware_app.events import EntryAdded, ReplyClause, ReplyEnded, State, Status
from tests.dialogue.scripted import ScriptedModel
from tests.dialogue.talking import LONG, MakeTalk, talking

__all__ = ["talking"]

either_way = pytest.mark.parametrize("saving", [True, False], ids=["saved", "unsaved"])


@either_way
async def test_a_message_and_its_answer_are_entries_that_the_page_hears_of(
    talking: MakeTalk, saving: bool
) -> None:
    async with talking(saving=saving) as t:
        assert await t.talk.send("home", 1, "k", "Are you there?") == 1
        await t.room.until(ReplyEnded)
        found = t.current()
        assert t.shown() == [(1, "Are you there?"), (2, "Yes.")]
        assert (found.last_number, found.begun, found.title) == (2, True, "Are you there?")
        assert [entry.saved for entry in found.entries] == [saving] * 2
        added = t.room.all(EntryAdded)
        assert [(e.conversation, e.owner, e.number, e.kind) for e in added] == [
            (found.uuid, "home", 1, "user"),
            (found.uuid, "home", 2, "assistant"),
        ]
        await t.kept.written()
        assert len(await t.kept.conversations()) == saving


@either_way
async def test_a_message_is_sent_once_for_its_key(talking: MakeTalk, saving: bool) -> None:
    async with talking(saving=saving) as t:
        twice = [t.talk.send("home", 1, "k", "One?") for _ in range(2)]
        assert await asyncio.gather(*twice) == [1, 1]
        await t.room.until(ReplyEnded)
        assert await t.talk.send("home", 3, "k", "One?") == 1
        assert await t.talk.arrived("home", "k") == 1
        assert await t.talk.arrived("home", "unknown") is None
        assert await t.talk.arrived("someone else", "k") is None
        await t.room.until_rest()
        assert t.room.model.questions == ["One?"]


async def test_a_key_outlives_a_restart_with_its_entry(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.talk.send("home", 1, "k", "One?")
        await t.room.until(ReplyEnded)
    async with talking() as t:
        assert await t.talk.arrived("home", "k") == 1
        assert await t.talk.arrived("someone else", "k") is None
        assert await t.talk.send("home", 1, "k", "One?") == 1
        assert not t.room.model.asked


async def test_of_what_was_not_saved_nothing_is_known_after_a_restart(talking: MakeTalk) -> None:
    async with talking(saving=False) as t:
        await t.talk.send("home", 1, "k", "One?")
        await t.room.until(ReplyEnded)
    async with talking() as t:
        assert await t.talk.arrived("home", "k") is None


@pytest.mark.parametrize("number", [-1, 0, 1, 2, 4, 10**30])
async def test_a_stale_number_is_told_the_last_one_and_nothing_is_sent(
    talking: MakeTalk, number: int
) -> None:
    async with talking() as t:
        await t.answered("One?")
        with pytest.raises(StaleNumberError) as refusal:
            await t.talk.send("home", number, "k", "Two?")
        assert (refusal.value.code, refusal.value.last_id) == ("stale-number", 2)
        assert await t.talk.arrived("home", "k") is None
        assert await t.talk.send("home", refusal.value.last_id + 1, "k", "Two?") == 3


@pytest.mark.parametrize("text", ["", "  \n", "\ud800"])
async def test_a_message_without_text_is_refused(talking: MakeTalk, text: str) -> None:
    async with talking() as t:
        with pytest.raises(UsageError, match="no text"):
            await t.talk.send("home", 1, "k", text)
        assert t.current().last_number == 0


@either_way
async def test_messages_during_a_reply_wait_keep_their_numbers_and_interrupt_nothing(
    talking: MakeTalk, saving: bool
) -> None:
    model = ScriptedModel([LONG, "To two.", "To three."])
    async with talking(saving=saving, model=model) as t:
        await t.send("One?")
        await t.room.until(ReplyClause)
        assert [await t.send("Two?"), await t.send("Three?")] == [2, 3]
        assert t.shown() == [(1, "One?"), (2, "Two?"), (3, "Three?")]
        await t.room.until(ReplyEnded, 3)
        assert [event.status for event in t.room.all(ReplyEnded)] == [Status.COMPLETE] * 3
        assert t.shown() == [
            (1, "One?"),
            (2, "Two?"),
            (3, "Three?"),
            (4, LONG),
            (5, "To two."),
            (6, "To three."),
        ]
        context = [message.content for message in t.room.model.asked[-1]][1:]
        assert context == ["One?", LONG, "Two?", "To two.", "Three?"]
        if saving:
            assert await t.kept.texts() == t.shown()


async def test_who_answers_whom_outlives_a_restart(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG, "To two."])) as t:
        await t.send("One?")
        await t.room.until(ReplyClause)
        await t.send("Two?")
        await t.room.until(ReplyEnded, 2)
        uuid = t.current().uuid
    async with talking() as t:
        await t.talk.begin("home", chat=uuid)
        await t.answered("And now?")
        context = [message.content for message in t.room.model.asked[-1]][1:]
        assert context == ["One?", LONG, "Two?", "To two.", "And now?"]


async def test_a_fifth_that_waits_is_refused_and_may_be_sent_again(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG, "Yes."])) as t:
        await t.send("One?")
        await t.room.until(ReplyClause)
        for n in range(4):
            await t.send(f"Waiting {n}?")
        with pytest.raises(UsageError, match="waiting for their answer"):
            await t.send("One too many?", key="fifth")
        assert await t.talk.arrived("home", "fifth") is None
        assert t.current().last_number == 5
        await t.room.until(ReplyEnded, 5)
        await t.send("One too many?", key="fifth")
        await t.room.until(ReplyEnded, 6)
        assert t.room.model.questions[-1] == "One too many?"


async def test_stop_ends_the_reply_alone_and_what_waits_is_answered(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG, "To two."])) as t:
        await t.send("One?")
        await t.room.until(ReplyClause)
        await t.send("Two?")
        t.talk.stop()
        await t.room.until(ReplyEnded, 2)
        assert [e.status for e in t.current().entries][2:] == [
            Status.INTERRUPTED,
            Status.COMPLETE,
        ]


async def test_a_command_is_no_entry_and_its_number_is_not_given_again(talking: MakeTalk) -> None:
    async with talking() as t:
        assert await t.send("Are you saving?") == 1
        await t.room.until(ReplyClause)
        assert t.room.all(ReplyClause)[0].text.startswith("This conversation is saved")
        await t.room.until_rest()
        assert await t.send("One?") == 2
        await t.room.until(ReplyEnded)
        assert await t.kept.texts() == [(2, "One?"), (3, "Yes.")]


async def test_switched_off_while_messages_wait_none_of_them_stays(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel(["Zero.", LONG, "To two."])) as t:
        await t.answered("Zero?")
        await t.send("One?")
        await t.room.until(ReplyClause, 2)
        await t.send("Two?")
        t.kept.change(save_conversations=False)
        await t.room.until(ReplyEnded, 3)
        assert await t.kept.texts() == [(1, "Zero?"), (2, "Zero.")]
        assert [text for _, text in t.shown()][2:] == ["One?", "Two?", LONG, "To two."]


async def test_delete_that_leaves_alone_what_belongs_to_another_question(
    talking: MakeTalk,
) -> None:
    async with talking(model=ScriptedModel([LONG, "To two."])) as t:
        await t.send("One?")
        await t.room.until(ReplyClause)
        await t.send("Two?")
        await t.room.until(ReplyEnded, 2)
        await t.send("Delete that.")
        await t.send("Yes.")
        await t.room.until_rest()
        assert await t.kept.texts() == [(1, "One?"), (3, LONG)]
        assert t.shown() == [(1, "One?"), (3, LONG)]


async def test_the_reply_in_progress_is_shown_as_far_as_it_was_said(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG])) as t:
        assert t.current().reply is None
        await t.send("Count.")
        await t.room.until(ReplyClause)
        assert t.current().reply == "One two three four five,"
        await t.room.until(ReplyEnded)
        assert t.current().reply is None


async def test_what_waits_when_the_engines_fail_is_marked_as_failed(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG])) as t:
        await t.send("One?")
        await t.room.until(ReplyClause)
        await t.send("Two?")
        kept = t.kept
        t.room.running.cancel()
        await asyncio.wait([t.room.running])
        t.talk.detach()
        entries = await kept.entries()
        assert [(e.kind, e.status) for e in entries][2:] == [
            ("assistant", Status.INTERRUPTED),
            ("assistant", Status.FAILED),
        ]
        with pytest.raises(EchoError, match="waking up") as refusal:
            await t.send("Three?")
        assert refusal.value.code == "not-awake"
        assert t.talk.situation.state is State.STARTING
        assert t.shown()[:2] == [(1, "One?"), (2, "Two?")]


async def test_older_entries_are_given_page_by_page(talking: MakeTalk) -> None:
    async with talking() as t:
        for n in range(3):
            await t.answered(f"Question {n}?")
        newest = t.talk.current("home", None, 4)
        assert ([e.number for e in newest.entries], newest.more) == ([3, 4, 5, 6], True)
        older = t.talk.current("home", 3, 4)
        assert ([e.number for e in older.entries], older.more) == ([1, 2], False)


async def test_ask_from_the_command_line_joins_the_same_thread(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.answered("One?")
        assert await t.room.typed("Two?") == "Yes."
        assert [n for n, _ in t.shown()] == [1, 2, 3, 4]
