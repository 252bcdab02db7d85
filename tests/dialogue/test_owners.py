"""One conversation is open, and it has one owner; nobody sees or touches another's."""

import asyncio

import pytest

from firmware_app.dialogue.live import StaleNumberError
from firmware_app.errors import EchoError
from firmware_app.events import (
    ConversationOpened,
    EntriesForgotten,
    Mode,
    ReplyClause,
    ReplyEnded,
    Saved,
    Status,
    TurnTraced,
)
from firmware_app.history.faults import NoConversationError, PaneError
from tests.dialogue.scripted import ScriptedModel
from tests.dialogue.talking import LONG, MakeTalk, Talking, talking
from tests.dialogue.test_carrying_on import talk_of_last_week

__all__ = ["talking"]


def opened(t: Talking) -> list[tuple[str, str]]:
    return [(event.owner, event.title) for event in t.room.all(ConversationOpened)]


async def kinds(t: Talking) -> list[tuple[str, str, str]]:
    """Owner, first words and state of each conversation, the newest first."""
    await t.kept.written()
    return [(c.owner, c.title, c.state) for c in await t.kept.conversations()]


async def test_only_its_owner_sees_the_open_conversation(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.answered("One?")
        with pytest.raises(NoConversationError):
            t.current("ann")
        assert t.shown("home") == [(1, "One?"), (2, "Yes.")]


async def test_a_message_by_another_takes_over_with_a_conversation_of_his_own(
    talking: MakeTalk,
) -> None:
    async with talking() as t:
        await t.answered("From home?")
        assert await t.talk.send("ann", 1, "k", "From Ann?") == 1
        await t.room.until(ReplyEnded, 2)
        assert t.shown("ann") == [(1, "From Ann?"), (2, "Yes.")]
        with pytest.raises(NoConversationError):
            t.current("home")
        assert await kinds(t) == [
            ("ann", "From Ann?", "active"),
            ("home", "From home?", "ended"),
        ]
        assert opened(t) == [("ann", "From Ann?")]
        context = [message.content for message in t.room.model.asked[-1]][1:]
        assert context == ["From Ann?"]


async def test_another_counts_from_one(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.answered("From home?")
        with pytest.raises(StaleNumberError) as refusal:
            await t.talk.send("ann", 3, "k", "From Ann?")
        assert refusal.value.last_id == 0
        assert t.shown("home") == [(1, "From home?"), (2, "Yes.")]


async def test_a_busy_conversation_is_answered_before_another_takes_over(
    talking: MakeTalk,
) -> None:
    async with talking(model=ScriptedModel([LONG, "To Ann.", "To Ann again."])) as t:
        await t.send("From home?")
        await t.room.until(ReplyClause)
        await t.send("From Ann?", "ann")
        await t.send("And again?", "ann")
        assert t.shown("ann") == [(1, "From Ann?"), (2, "And again?")]
        assert t.shown("home") == [(1, "From home?")]
        await t.room.until(ReplyEnded, 3)
        assert t.room.all(ReplyEnded)[0].status is Status.COMPLETE
        assert [n for n, _ in t.shown("ann")] == [1, 2, 3, 4]
        assert await t.kept.texts(1) == [(1, "From home?"), (2, LONG)]
        assert await t.kept.texts(0) == t.shown("ann")


async def test_each_gets_the_answer_where_it_was_asked(talking: MakeTalk) -> None:
    model = ScriptedModel([LONG, "To Ann.", "To home."])
    async with talking(model=model) as t:
        await t.send("One from home?")
        await t.room.until(ReplyClause)
        await t.send("From Ann?", "ann")
        await t.send("Two from home?")
        await t.room.until(ReplyEnded, 3)
        await t.room.until_rest()
        assert await t.kept.texts(0) == [(1, "From Ann?"), (2, "To Ann.")]
        assert await t.kept.texts(1) == [
            (1, "One from home?"),
            (2, "Two from home?"),
            (3, LONG),
            (4, "To home."),
        ]
        context = [message.content for message in t.room.model.asked[-1]][1:]
        assert context == ["One from home?", LONG, "Two from home?"]
        assert [state for *_, state in await kinds(t)] == ["ended", "active"]


async def test_switched_off_meanwhile_what_waits_aside_is_not_saved_either(
    talking: MakeTalk,
) -> None:
    async with talking(model=ScriptedModel([LONG, "To Ann."])) as t:
        await t.send("From home?")
        await t.room.until(ReplyClause)
        await t.send("From Ann?", "ann")
        t.kept.change(save_conversations=False)
        await t.room.until(ReplyEnded, 2)
        assert await kinds(t) == []
        assert t.shown("ann") == [(1, "From Ann?"), (2, "To Ann.")]


async def test_deleted_meanwhile_what_waits_aside_is_not_answered(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG])) as t:
        await t.send("From home?")
        await t.room.until(ReplyClause)
        await t.send("From Ann?", "ann")
        await t.kept.written()
        (ann, _) = await t.kept.conversations()
        await t.kept.store.delete("ann", ann.uuid)
        await t.room.until(ReplyEnded)
        await t.room.until_rest()
        assert t.room.model.questions == ["From home?"]
        assert await kinds(t) == [("home", "From home?", "active")]


async def test_the_wake_word_takes_it_back_for_the_room(talking: MakeTalk) -> None:
    async with talking(("From the room?",)) as t:
        await t.answered("From Ann?", "ann")
        await t.room.ask()
        await t.room.until(ReplyEnded, 2)
        assert t.shown("home") == [(1, "From the room?"), (2, "Yes.")]
        assert await kinds(t) == [
            ("home", "From the room?", "active"),
            ("ann", "From Ann?", "ended"),
        ]


async def test_nothing_of_what_the_room_says_shows_to_another(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.answered("From Ann?", "ann")
        await t.room.call()
        await t.room.say()
        assert t.talk.situation.owner == "home"
        with pytest.raises(NoConversationError):
            t.current("ann")


async def test_one_who_carries_on_by_voice_keeps_it(talking: MakeTalk) -> None:
    async with talking(("And now?",)) as t:
        uuid = await talk_of_last_week(t.kept.store, owner="ann")
        await t.talk.begin("ann", chat=uuid, mode=Mode.VOICE)
        await t.room.ask()
        await t.room.until(ReplyEnded)
        assert t.shown("ann")[-2:] == [(4, "And now?"), (5, "Yes.")]
        assert t.current("ann").continued


async def test_one_who_began_by_typing_may_choose_voice(talking: MakeTalk) -> None:
    async with talking(("And now?",)) as t:
        await t.talk.begin("ann", new=True, mode=Mode.TEXT)
        await t.answered("From Ann?", "ann")
        await t.talk.set_mode(Mode.VOICE, "ann")
        await t.room.ask()
        await t.room.until(ReplyEnded, 2)
        assert [n for n, _ in t.shown("ann")] == [1, 2, 3, 4]


# Beginning and carrying on.


async def test_to_begin_keeps_the_open_one_unless_a_new_one_is_wanted(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.answered("One?")
        uuid = t.current().uuid
        kept = await t.talk.begin("home")
        assert (kept.conversation, kept.ready) == (uuid, True)
        new = await t.talk.begin("home", new=True)
        assert new.ready
        assert new.conversation == t.current().uuid != uuid
        assert t.shown() == []
        assert await kinds(t) == [("home", "One?", "ended")]


@pytest.mark.parametrize("beginning", ["new", "carried on", "open"])
async def test_without_save_nothing_of_it_is_saved(talking: MakeTalk, beginning: str) -> None:
    async with talking() as t:
        old = await talk_of_last_week(t.kept.store)
        match beginning:
            case "new":
                await t.talk.begin("home", new=True, save=False)
            case "carried on":
                await t.talk.begin("home", chat=old, save=False)
            case "open":
                await t.talk.begin("home", save=False)
        assert t.kept.says(Saved.NOT_SAVED)
        await t.answered("One?")
        assert not t.current().entries[-1].saved
        assert await t.kept.texts() == [(1, "Question 1?"), (2, "Answer 1.")]
        assert len(await t.kept.conversations()) == 1
        await t.talk.begin("home", new=True, save=True)
        assert t.kept.says(Saved.SAVED)


async def test_to_save_one_conversation_does_not_stand_above_the_setting(
    talking: MakeTalk,
) -> None:
    async with talking(saving=False) as t:
        await t.talk.begin("home", new=True, save=True)
        await t.answered("One?")
        assert await kinds(t) == []


async def test_another_one_waits_for_the_reply_and_the_last_wish_counts(
    talking: MakeTalk,
) -> None:
    async with talking(model=ScriptedModel([LONG])) as t:
        old = await talk_of_last_week(t.kept.store)
        await t.send("Count.")
        await t.room.until(ReplyClause)
        first = await t.talk.begin("ann", new=True)
        second = await t.talk.begin("home", chat=old)
        assert (first.ready, second.ready) == (False, False)
        assert t.shown() == [(1, "Count.")]
        await t.room.until(ConversationOpened)
        assert t.room.all(ReplyEnded)[0].status is Status.COMPLETE
        assert t.current().uuid == second.conversation == old
        await asyncio.sleep(0.05)
        assert len(opened(t)) == 1


async def test_who_wants_to_keep_the_open_one_is_preferred_to_an_earlier_wish(
    talking: MakeTalk,
) -> None:
    async with talking(model=ScriptedModel([LONG])) as t:
        await t.send("Count.")
        await t.room.until(ReplyClause)
        await t.talk.begin("ann", new=True)
        assert (await t.talk.begin("home")).ready
        await t.room.until(ReplyEnded)
        await t.room.until_rest()
        assert t.shown() == [(1, "Count."), (2, LONG)]
        assert opened(t) == []


async def test_a_command_about_a_conversation_that_has_ended_touches_no_other(
    talking: MakeTalk,
) -> None:
    async with talking(model=ScriptedModel([LONG, "Yes."])) as t:
        await t.answered("From Ann?", "ann")
        await t.send("Count.", "ann")
        await t.room.until(ReplyClause, 3)
        await t.talk.begin("home", new=True)
        await t.send("Delete this conversation.", "ann")
        await t.room.until_rest()
        assert t.shown("ann") == []
        assert "Which one do you mean?" in t.room.all(ReplyClause)[-1].text
        assert await kinds(t) == [("ann", "From Ann?", "ended")]


async def test_a_message_for_one_that_waits_to_be_carried_on_goes_into_it(
    talking: MakeTalk,
) -> None:
    async with talking(model=ScriptedModel([LONG, "Yes."])) as t:
        old = await talk_of_last_week(t.kept.store)
        await t.send("Count.")
        await t.room.until(ReplyClause)
        await t.talk.begin("home", chat=old)
        assert await t.talk.send("home", 4, "k", "And now?") == 4
        await t.room.until(ReplyEnded, 2)
        assert t.current().uuid == old
        assert t.shown()[-2:] == [(4, "And now?"), (5, "Yes.")]


async def test_a_message_for_a_new_one_that_waits_goes_into_it(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG, "Yes."])) as t:
        await t.send("Count.")
        await t.room.until(ReplyClause)
        begun = await t.talk.begin("home", new=True)
        assert await t.talk.send("home", 1, "k", "And now?") == 1
        await t.room.until(ReplyEnded, 2)
        assert (t.current().uuid, t.shown()) == (
            begun.conversation,
            [(1, "And now?"), (2, "Yes.")],
        )


async def test_foreign_unknown_and_pane_threads_are_refused_and_nothing_changes(
    talking: MakeTalk,
) -> None:
    async with talking() as t:
        await t.answered("One?")
        foreign = await talk_of_last_week(t.kept.store, owner="ann")
        pane = await talk_of_last_week(t.kept.store, kind="pane")
        for chat in (foreign, "0" * 36, "", "%", "../.."):
            with pytest.raises(NoConversationError):
                await t.talk.begin("home", chat=chat, mode=Mode.TEXT)
        with pytest.raises(PaneError):
            await t.talk.begin("home", chat=pane)
        with pytest.raises(NoConversationError):
            await t.talk.begin("ann", chat=t.current().uuid)  # open, but not hers
        assert t.talk.situation.mode is Mode.VOICE
        assert t.shown() == [(1, "One?"), (2, "Yes.")]


async def test_one_may_be_opened_while_echo_cannot_be_awake(talking: MakeTalk) -> None:
    async with talking() as t:
        old = await talk_of_last_week(t.kept.store)
        t.talk.detach()
        assert (await t.talk.begin("home", chat=old)).ready
        assert [n for n, _ in t.shown()] == [1, 2, 3]
        with pytest.raises(EchoError) as refusal:
            await t.talk.send("home", 4, "k", "And now?")
        assert refusal.value.code == "not-awake"


# Deleting.


async def test_deleting_what_is_being_spoken_is_honoured_at_once(talking: MakeTalk) -> None:
    async with talking(model=ScriptedModel([LONG])) as t:
        await t.send("Count.")
        await t.room.until(ReplyClause)
        uuid = t.current().uuid
        await t.kept.store.delete("home", uuid)
        forgotten = await t.room.until(EntriesForgotten)
        assert forgotten.conversations == {uuid}
        assert t.shown() == []
        assert t.current().title == ""
        await t.room.until(TurnTraced)
        assert t.shown() == []
        assert await kinds(t) == []


async def test_deleting_the_open_one_at_rest_opens_another(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.answered("One?")
        uuid = t.current().uuid
        await t.kept.store.delete("home", uuid)
        await t.room.until(ConversationOpened)
        assert t.current().uuid != uuid
        await t.answered("Two?")
        assert await kinds(t) == [("home", "Two?", "active")]


async def test_an_exchange_deleted_elsewhere_goes_from_the_page(talking: MakeTalk) -> None:
    async with talking() as t:
        await t.answered("One?")
        await t.answered("Two?")
        uuid = t.current().uuid
        await t.kept.store.delete_last_exchange("home", uuid)
        forgotten = await t.room.until(EntriesForgotten)
        assert forgotten.entries == {uuid: {3, 4}}
        assert t.shown() == [(1, "One?"), (2, "Yes.")]
        assert t.current().last_number == 4


async def test_what_was_never_saved_is_forgotten_on_the_page_too(talking: MakeTalk) -> None:
    async with talking(saving=False) as t:
        await t.answered("One?")
        uuid = t.current().uuid
        await t.send("Delete this conversation.")
        await t.send("Yes.")
        forgotten = await t.room.until(EntriesForgotten)
        assert forgotten.conversations == {uuid}
        await t.room.until_rest()
        assert t.current().uuid != uuid
