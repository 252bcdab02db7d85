"""An old conversation is gone on with, and nobody else's ever."""

import asyncio

import pytest

from firmware_app.errors import EchoError
from firmware_app.events import CarriedOn, QuestionAsked, ReplyClause, ReplyEnded, Saved, Status
from firmware_app.history.records import ConversationKind, NewConversation, NewEntry, title_of
from firmware_app.history.store import CARRIED_ON, Store
from tests.conftest import PATIENCE
from tests.dialogue.conftest import Keep, MakeRoom, Room
from tests.dialogue.scripted import ScriptedModel
from tests.dialogue.test_keeping import SHORT_LIVED

LONG = "One two three four five, six seven eight nine ten, eleven twelve thirteen fourteen fifteen."


async def talk_of_last_week(
    store: Store, exchanges: int = 1, *, owner: str = "home", kind: ConversationKind = "voice"
) -> str:
    """A conversation that has ended; its uuid."""
    new = NewConversation(kind, owner, title_of("Question 1?"))
    store.start(new)
    for n in range(1, exchanges + 1):
        store.write(NewEntry(new.uuid, 2 * n - 1, "user", (f"Question {n}?",)))
        store.write(NewEntry(new.uuid, 2 * n, "assistant", (f"Answer {n}.",)))
    await store.end(new.uuid)
    return new.uuid


def context(r: Room) -> list[str]:
    """What the model was told last, without the system prompt."""
    return [message.content for message in r.model.asked[-1]][1:]


async def test_it_goes_on_with_its_last_eight_exchanges_and_its_next_number(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(("And now?",), keeper=k.keeper) as r:
        uuid = await talk_of_last_week(k.store, 10)
        before = (await k.conversations())[0]
        found = await r.dialogue.carry_on(uuid[:8])
        assert (found.uuid, found.title) == (uuid, "Question 1?")
        assert r.all(CarriedOn) == [CarriedOn(uuid, "Question 1?")]
        await r.ask()
        await r.until(ReplyEnded)
        exchanges = [text for n in range(3, 11) for text in (f"Question {n}?", f"Answer {n}.")]
        assert context(r) == [*exchanges, "And now?"]
        assert (await k.texts())[-3:] == [(21, CARRIED_ON), (22, "And now?"), (23, "Yes.")]
        (after,) = await k.conversations()
        assert after.state == "active"
        assert (after.kind, after.title, after.owner) == (before.kind, before.title, before.owner)


async def test_it_may_be_gone_on_with_by_typing(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        await r.dialogue.carry_on(await talk_of_last_week(k.store))
        await r.typed("And now?")
        assert context(r) == ["Question 1?", "Answer 1.", "And now?"]
        assert [e.input_mode for e in await k.entries()][-2:] == ["text", "text"]
        assert (await k.conversations())[0].kind == "voice"


async def test_what_was_interrupted_and_what_was_summed_up_is_context_too(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        new = NewConversation("voice", "home", "Long ago")
        k.store.start(new)
        k.store.write(NewEntry(new.uuid, 1, "user", ("Count.",)))
        k.store.write(NewEntry(new.uuid, 2, "assistant", ("One, two,",), status=Status.INTERRUPTED))
        k.store.set_summary(new.uuid, "They had talked about numbers.", 0)
        await k.store.end(new.uuid)
        await r.dialogue.carry_on(new.uuid)
        await r.typed("Go on.")
        assert context(r) == ["Count.", "One, two, …", "Go on."]
        assert r.model.asked[-1][0].content.endswith("They had talked about numbers.")


async def test_an_idle_conversation_gives_way_at_once_and_ends(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        uuid = await talk_of_last_week(k.store)
        await r.typed("Something else?")
        await r.dialogue.carry_on(uuid)
        await r.typed("And now?")
        await k.written()
        assert [talk.state for talk in await k.conversations()] == ["ended", "active"]
        assert await k.texts(0) == [(1, "Something else?"), (2, "Yes.")]
        assert [n for n, _ in await k.texts(1)] == [1, 2, 3, 4, 5]


async def test_a_window_in_which_nobody_speaks_gives_way(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper, follow_up=True) as r:
        uuid = await talk_of_last_week(k.store)
        await r.ask()
        await r.until(ReplyEnded)
        async with asyncio.timeout(PATIENCE):  # no sound comes: the window would stay open
            await r.dialogue.carry_on(uuid)
        assert k.keeper.conversation.uuid == uuid


async def test_a_busy_conversation_is_answered_first_and_the_last_wish_counts(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper, model=ScriptedModel([LONG])) as r:
        one, two = await talk_of_last_week(k.store), await talk_of_last_week(k.store, 2)
        answered = asyncio.create_task(r.typed("Count."))
        await r.until(ReplyClause)
        first = asyncio.create_task(r.dialogue.carry_on(one))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(r.dialogue.carry_on(two))
        with pytest.raises(EchoError, match="asked for meanwhile") as refusal:
            await first
        assert refusal.value.code == "another-preferred"
        assert not second.done()
        assert (await second).uuid == two
        await answered
        assert r.all(ReplyEnded)[0].status is Status.COMPLETE
        assert (await k.texts(0))[0] == (1, "Count.")
        assert [talk.state for talk in await k.conversations()] == ["ended", "active", "ended"]


async def test_an_unknown_one_and_someone_elses_are_refused_alike_and_a_panes_too(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        foreign = await talk_of_last_week(k.store, owner="someone else")
        pane = await talk_of_last_week(k.store, kind="pane")
        said = []
        for uuid in ("0" * 36, foreign, foreign[:8]):
            with pytest.raises(EchoError) as refusal:
                await r.dialogue.carry_on(uuid)
            said.append((refusal.value.code, str(refusal.value)))
        assert len(set(said)) == 1
        assert said[0][0] == "no-conversation"
        with pytest.raises(EchoError, match="pane"):
            await r.dialogue.carry_on(pane)
        await r.typed("One?")
        assert await k.texts() == [(1, "One?"), (2, "Yes.")]


async def test_carrying_on_the_open_one_changes_nothing(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        await r.typed("One?")
        await k.written()
        await r.dialogue.carry_on(k.keeper.conversation.uuid)
        await r.typed("Two?")
        assert await k.texts() == [(1, "One?"), (2, "Yes."), (3, "Two?"), (4, "Yes.")]


async def test_while_saving_is_off_nothing_is_written(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        uuid = await talk_of_last_week(k.store)
        k.change(save_conversations=False)
        await r.dialogue.carry_on(uuid)
        await r.typed("And now?")
        assert context(r) == ["Question 1?", "Answer 1.", "And now?"]
        assert await k.texts() == [(1, "Question 1?"), (2, "Answer 1.")]
        assert [talk.state for talk in await k.conversations()] == ["ended"]
        assert k.keeper.status is Saved.NOT_SAVED


async def test_one_that_is_deleted_while_it_waits_is_refused(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper, model=ScriptedModel([LONG])) as r:
        uuid = await talk_of_last_week(k.store)
        answered = asyncio.create_task(r.typed("Count."))
        await r.until(QuestionAsked)
        waiting = asyncio.create_task(r.dialogue.carry_on(uuid))
        await asyncio.sleep(0.05)
        await k.store.delete(None, uuid)
        with pytest.raises(EchoError, match="no such conversation"):
            await waiting
        await answered
        assert k.keeper.conversation.title == "Count."


async def test_one_that_waits_when_echo_stops_is_refused(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k:
        async with room(keeper=k.keeper, model=ScriptedModel([LONG])) as r:
            uuid = await talk_of_last_week(k.store)
            await r.call()
            await r.say()
            await r.silence()
            await r.until(ReplyClause)
            waiting = asyncio.create_task(r.dialogue.carry_on(uuid))
            await asyncio.sleep(0.05)
        with pytest.raises(EchoError, match="stopping"):
            await waiting


async def test_it_ends_again_when_nothing_more_is_said(room: MakeRoom, keep: Keep) -> None:
    async with keep(SHORT_LIVED) as k, room(keeper=k.keeper) as r:
        await r.dialogue.carry_on(await talk_of_last_week(k.store))
        await k.until_it_ends()
        assert [talk.state for talk in await k.conversations()] == ["ended"]
        await r.typed("One?")
        assert await k.texts() == [(1, "One?"), (2, "Yes.")]
