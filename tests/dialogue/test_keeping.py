"""What is saved of what is said, what is not, and who decides."""

import asyncio
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from firmware_app.dialogue import keeping, obeying
from firmware_app.events import (
    Notice,
    QuestionAsked,
    ReplyClause,
    ReplyEnded,
    Saved,
    SavingChanged,
    State,
    Status,
    TurnDropped,
    TurnTraced,
)
from firmware_app.settings import DialogueSettings, Settings
from tests.conftest import PATIENCE
from tests.dialogue.conftest import Keep, MakeRoom, Room
from tests.dialogue.scripted import ScriptedModel

LONG = "One two three four five, six seven eight nine ten, eleven twelve thirteen fourteen fifteen."
SHORT_LIVED = Settings(dialogue=DialogueSettings(conversation_minutes=0.3 / 60))


async def ask(r: Room, turns: int) -> None:
    """Turns by voice, one after the other."""
    for _ in range(turns):
        done = len(r.all(TurnTraced))
        await r.ask()
        await r.until(TurnTraced, done + 1)
    await r.until_rest()


async def said(r: Room, turn: int) -> str:
    """What Echo answered to a command, in that clause."""
    return (await r.until(ReplyClause, turn)).text


# What is written, and when.


async def test_a_spoken_exchange_is_saved_with_all_that_belongs_to_it(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper, model=ScriptedModel(["It is noon."])) as r:
        await ask(r, 1)
        question, answer = await k.entries()
        assert (question.number, question.kind, question.text) == (1, "user", "What time is it?")
        assert question.metadata == {
            "status": "complete",
            "confidence": 0.95,
            "input_mode": "voice",
            "engines": {"recogniser": "scripted recogniser"},
        }
        assert (answer.number, answer.kind, answer.text) == (2, "assistant", "It is noon.")
        assert answer.status is Status.COMPLETE
        assert answer.metadata["engines"] == {"model": "scripted model", "voice": "tone voice"}
        (talk,) = await k.conversations()
        assert (talk.kind, talk.owner, talk.title, talk.state) == (
            "voice",
            "home",
            "What time is it?",
            "active",
        )
        assert talk.usage["engines"]["voice tone voice"] == {"audio_seconds": pytest.approx(0.3)}
        assert r.all(SavingChanged)[-1].status is Saved.SAVED


async def test_the_row_is_there_as_soon_as_the_question_is_committed(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper, model=ScriptedModel([LONG])) as r:
        await r.ask()
        await r.until(ReplyClause)
        assert await k.texts() == [(1, "What time is it?")]


async def test_what_begins_by_typing_is_a_chat_and_both_ways_go_into_one_thread(
    room: MakeRoom, keep: Keep
) -> None:
    question = "Which of the many rivers of the world is by far the longest one?"
    async with keep() as k, room(("And now?",), keeper=k.keeper) as r:
        await r.typed(question)
        await ask(r, 1)
        entries = await k.entries()
        (talk,) = await k.conversations()
        assert talk.kind == "chat"
        assert talk.title == "Which of the many rivers of the world is by far the longest…"
        assert [entry.number for entry in entries] == [1, 2, 3, 4]
        assert [entry.input_mode for entry in entries] == ["text", "text", "voice", "voice"]
        assert "engines" not in entries[0].metadata  # nothing recognised it


async def test_a_reply_that_is_stopped_is_saved_as_far_as_it_sounded(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper, model=ScriptedModel([LONG])) as r:
        await r.ask()
        await r.until(ReplyClause)
        await r.until_heard(2)
        r.dialogue.stop()
        ended = await r.until(ReplyEnded)
        answer = (await k.entries())[-1]
        assert (answer.text, answer.status) == (ended.text, Status.INTERRUPTED)
        assert 1 <= len(answer.text.split()) <= r.words_heard + 1


async def test_a_reply_that_fails_partway_is_saved_without_the_apology(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper, model=ScriptedModel([LONG])) as r:
        r.model.deaths.append(7)
        await r.ask()
        ended = await r.until(ReplyEnded)
        answer = (await k.entries())[-1]
        assert (answer.text, answer.status) == (ended.text, Status.FAILED)
        assert "wrong" not in answer.text


async def test_a_first_question_whose_answer_never_comes_is_saved_and_keeps_its_usage(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper, model=ScriptedModel(["Yes."], 10.0)) as r:
        turn = asyncio.create_task(r.typed("Why?"))
        await r.until(QuestionAsked)
        r.model.usage.prompt_tokens += 7
        r.dialogue.stop()
        await turn
        assert [(e.text, e.status) for e in await k.entries()] == [
            ("Why?", Status.COMPLETE),
            ("", Status.INTERRUPTED),
        ]
        (talk,) = await k.conversations()
        assert talk.usage["engines"] == {"model scripted model": {"prompt_tokens": 7}}


async def test_nothing_is_written_for_what_is_no_question(room: MakeRoom, keep: Keep) -> None:
    heard = ("", "Stop.", "Say that again.", "That wasn't for you.")
    async with keep() as k, room(heard, keeper=k.keeper) as r:
        await r.ask()  # a noise
        await r.silence(5000)
        await r.until(TurnDropped)
        await r.until_rest()
        await ask(r, 3)
        await k.written()
        assert await k.conversations() == []


async def test_echo_hearing_itself_is_not_written(room: MakeRoom, keep: Keep) -> None:
    answer = "Tokyo is the capital of Japan."
    heard = ("What is the capital of Japan?", "the capital of japan")
    async with (
        keep() as k,
        room(heard, keeper=k.keeper, model=ScriptedModel([answer]), follow_up=True) as r,
    ):
        await r.ask()
        await r.until(ReplyEnded)
        await r.until_it_listens()
        await r.say()
        await r.silence(7000)
        await r.until(TurnDropped)
        assert await k.texts() == [(1, heard[0]), (2, answer)]


async def test_a_question_that_was_taken_back_is_not_written(room: MakeRoom, keep: Keep) -> None:
    heard = ("Set a timer.", "Set a timer for ten minutes.")
    async with keep() as k, room(heard, keeper=k.keeper) as r:
        await r.call()
        await r.say()
        await r.silence(320)
        await r.say()
        await r.silence()
        await r.until(ReplyEnded)
        assert await k.texts() == [(1, "Set a timer for ten minutes."), (2, "Yes.")]


async def test_a_conversation_ends_when_nothing_more_is_said(room: MakeRoom, keep: Keep) -> None:
    async with keep(SHORT_LIVED) as k, room(keeper=k.keeper) as r:
        await r.typed("One?")
        await k.until_it_ends()
        assert [talk.state for talk in await k.conversations()] == ["ended"]
        await r.typed("Two?")
        assert await k.texts() == [(1, "Two?"), (2, "Yes.")]
        assert [m.content for m in r.model.asked[-1]][1:] == ["Two?"]


async def test_no_conversation_ends_while_it_is_answered(room: MakeRoom, keep: Keep) -> None:
    async with keep(SHORT_LIVED) as k, room(keeper=k.keeper, model=ScriptedModel([LONG])) as r:
        await r.typed("Count.")  # answered aloud, for longer than a conversation lives
        assert [n for n, _ in await k.texts()] == [1, 2]


async def test_a_new_conversation_ends_the_old_one(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(("One?", "New conversation.", "Two?"), keeper=k.keeper) as r:
        await ask(r, 3)
        assert await k.texts() == [(1, "Two?"), (2, "Yes.")]
        assert [talk.state for talk in await k.conversations()] == ["active", "ended"]


async def test_engines_change_and_the_conversation_goes_on(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k:
        async with room(keeper=k.keeper) as r:
            await ask(r, 1)
            await r.dialogue.use(replace(r.engines, model=ScriptedModel(["From another."])))
            await ask(r, 1)
        async with room(keeper=k.keeper) as r:  # all engines anew, as after a fault
            await ask(r, 1)
            assert len(r.model.asked[-1]) == 6
        assert [n for n, _ in await k.texts()] == [1, 2, 3, 4, 5, 6]
        (talk,) = await k.conversations()
        assert talk.usage["incomplete"]  # the meters began again


# Who decides.


async def test_switched_off_during_an_answer_neither_it_nor_its_question_stays(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper, model=ScriptedModel([LONG])) as r:
        await r.ask()
        await r.until(ReplyClause)
        k.change(save_conversations=False)
        assert k.told[-1] is Saved.NOT_SAVED
        await r.until(ReplyEnded)
        await k.written()
        assert await k.conversations() == []
        await r.typed("Go on.")
        assert len(r.model.asked[-1]) == 4  # in memory it goes on


async def test_off_counts_from_the_next_answer_and_on_from_the_next_conversation(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        await r.typed("One?")
        k.change(save_conversations=False)
        await r.typed("Two?")
        k.change(save_conversations=True)
        await r.typed("Three?")
        assert k.says(Saved.NOT_SAVED)
        assert await k.texts() == [(1, "One?"), (2, "Yes.")]
        assert [talk.state for talk in await k.conversations()] == ["ended"]
        k.keeper.begin_another()
        assert k.says(Saved.SAVED)
        await r.typed("Four?")
        assert await k.texts() == [(1, "Four?"), (2, "Yes.")]
        assert k.told == [Saved.SAVED, Saved.NOT_SAVED, Saved.SAVED]


async def test_dont_save_this_is_about_the_open_conversation_alone(
    room: MakeRoom, keep: Keep
) -> None:
    heard = ("One?", "Don't save this.", "Two?", "New conversation.", "Three?")
    async with keep() as k, room(heard, keeper=k.keeper) as r:
        await ask(r, 5)
        assert await said(r, 2) == "All right, the rest is not saved."
        assert await said(r, 3) == "What was saved before stays."
        assert await k.texts(1) == [(1, "One?"), (2, "Yes.")]
        assert await k.texts(0) == [(1, "Three?"), (2, "Yes.")]


async def test_dont_save_this_may_come_first(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(("Don't save this.", "One?"), keeper=k.keeper) as r:
        await ask(r, 2)
        assert await said(r, 1) == "All right, this conversation is not saved."
        await k.written()
        assert await k.conversations() == []


async def test_dont_save_this_does_not_outlast_the_conversation_it_was_about(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep(SHORT_LIVED) as k, room(keeper=k.keeper) as r:
        await r.typed("Don't save this.")
        await k.until_it_says(Saved.SAVED)
        assert k.told == [Saved.SAVED, Saved.NOT_SAVED, Saved.SAVED]
        await r.typed("One?")
        assert await k.texts() == [(1, "One?"), (2, "Yes.")]


async def test_saving_is_switched_by_voice(room: MakeRoom, keep: Keep) -> None:
    heard = ("Stop saving.", "One?", "Start saving.", "Two?", "New conversation.", "Three?")
    async with keep() as k, room(heard, keeper=k.keeper) as r:
        await ask(r, 2)
        assert not k.settings.voice.save_conversations
        assert "save nothing more" in await said(r, 1)
        await ask(r, 2)
        assert k.settings.voice.save_conversations
        await k.written()
        assert await k.conversations() == []
        await ask(r, 2)
        assert await k.texts() == [(1, "Three?"), (2, "Yes.")]


async def test_where_the_setting_cannot_be_changed_echo_says_so_and_still_saves_nothing(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep(switch=False) as k, room(("Stop saving.", "One?"), keeper=k.keeper) as r:
        await ask(r, 2)
        assert await said(r, 1) == "I cannot change that setting."
        assert await said(r, 2) == "This conversation is not saved."
        await k.written()
        assert await k.conversations() == []


async def test_echo_says_whether_it_saves(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        assert (await r.typed("Are you saving?")).startswith("This conversation is saved")
        k.keeper.leave_unsaved()
        assert await r.typed("Is this being saved?") == "This conversation is not saved."


async def test_without_a_history_nothing_is_saved_and_echo_says_so(room: MakeRoom) -> None:
    async with room() as r:
        assert await r.typed("Are you saving?") == "This conversation is not saved."
        assert r.all(SavingChanged) == [SavingChanged(Saved.NOT_SAVED)]


async def test_a_history_that_cannot_be_had_is_not_hidden(room: MakeRoom) -> None:
    keeper = keeping.Keeper(Settings())
    keeper.keep_in(None)
    async with room(keeper=keeper) as r:
        await r.typed("One?")
        assert keeper.status is Saved.NOT_SAVING
        assert "fails" in await r.typed("Are you saving?")
    await keeper.close()


# Deleting by voice.


async def test_delete_that_asks_and_deletes_the_last_exchange(room: MakeRoom, keep: Keep) -> None:
    heard = ("One?", "Two?", "Delete that.", "Yes.", "Three?")
    async with keep() as k, room(heard, keeper=k.keeper) as r:
        await ask(r, 2)
        await r.ask()
        assert await said(r, 3) == "Shall I delete the last exchange?"
        await answer_echo(r)
        assert await said(r, 4) == "It is deleted."
        await ask(r, 1)
        assert await k.texts() == [(1, "One?"), (2, "Yes."), (5, "Three?"), (6, "Yes.")]
        assert [m.content for m in r.model.asked[-1]][1:] == ["One?", "Yes.", "Three?"]


async def test_delete_this_conversation_leaves_no_byte_of_it(
    room: MakeRoom, keep: Keep, tmp_path: Path
) -> None:
    heard = ("Is Bartholomew a name?", "Delete this conversation.", "Yes, please.", "Two?")
    async with keep() as k, room(heard, keeper=k.keeper) as r:
        await ask(r, 1)
        await k.written()
        assert b"Bartholomew" in words_on_disk(tmp_path)
        await r.ask()
        await r.until(ReplyClause, 2)
        await answer_echo(r)
        assert await said(r, 3) == "It is deleted."
        await k.written()
        assert await k.conversations() == []
        assert b"Bartholomew" not in words_on_disk(tmp_path)
        await ask(r, 1)
        assert await k.texts() == [(1, "Two?"), (2, "Yes.")]
        assert len(r.model.asked[-1]) == 2


@pytest.mark.parametrize("reply", ["No.", "What time is it?"])
async def test_anything_but_yes_deletes_nothing(room: MakeRoom, keep: Keep, reply: str) -> None:
    heard = ("One?", "Delete that.", reply, "Yes.")
    async with keep() as k, room(heard, keeper=k.keeper) as r:
        await ask(r, 1)
        await r.ask()
        await r.until(ReplyClause, 2)
        await answer_echo(r)
        await ask(r, 1)  # a yes that nobody asked for is a question like any other
        assert (await k.texts())[:2] == [(1, "One?"), (2, "Yes.")]
        assert (await k.texts())[-2] == (len(await k.texts()) - 1, "Yes.")


async def test_silence_deletes_nothing(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(("One?", "Delete that.", "Yes."), keeper=k.keeper) as r:
        await ask(r, 1)
        await r.ask()
        await r.until(ReplyClause, 2)
        await r.until_it_listens()
        await r.silence(6500)
        await r.until(TurnDropped)
        await ask(r, 1)
        assert await k.texts() == [(1, "One?"), (2, "Yes."), (3, "Yes."), (4, "Yes.")]


async def test_a_late_yes_deletes_nothing(
    room: MakeRoom, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obeying, "CONFIRM_SECONDS", 0.0)
    async with keep() as k, room(keeper=k.keeper) as r:
        await r.typed("One?")
        await r.typed("Delete that.")
        await r.typed("Yes.")
        assert await k.texts() == [(1, "One?"), (2, "Yes."), (3, "Yes."), (4, "Yes.")]


async def test_a_spoken_question_is_not_confirmed_by_typing(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(("Delete that.",), keeper=k.keeper) as r:
        await r.typed("One?")
        await r.ask()
        await r.until(ReplyClause, 2)
        await r.typed("Yes.")
        assert [n for n, _ in await k.texts()] == [1, 2, 3, 4]


async def test_with_nothing_to_delete_echo_asks_back(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        assert "Which one do you mean?" in await r.typed("Delete that.")


async def test_voice_reaches_no_further_than_it_may(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        await r.typed("One?")
        k.change(history="off")
        assert "may not delete that by voice" in await r.typed("Delete that.")
        k.change(history="today")
        assert "Shall I" in await r.typed("Delete that.")
        k.keeper.conversation.created = 0.0  # begun long ago and carried on today
        assert "Shall I" in await r.typed("Delete that.")
        assert "may not delete that by voice" in await r.typed("Delete this conversation.")
        k.change(history="all")
        assert "Shall I" in await r.typed("Delete this conversation.")
        assert await r.typed("Yes.") == "It is deleted."
        await k.written()
        assert await k.conversations() == []


async def test_what_was_never_saved_can_be_forgotten_by_voice(room: MakeRoom, keep: Keep) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        k.change(save_conversations=False, history="off")
        await r.typed("One?")
        await r.typed("Delete that.")
        assert await r.typed("Yes.") == "It is deleted."
        await r.typed("Two?")
        assert [m.content for m in r.model.asked[-1]][1:] == ["Two?"]


async def test_copies_that_still_hold_what_was_deleted_are_told_of(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        await r.typed("One?")
        await k.store.back_up()
        await r.typed("Delete this conversation.")
        assert "Copies on this device still hold it." in await r.typed("Yes.")


# Deleted by someone else while it is open.


async def test_a_conversation_deleted_while_it_is_spoken_is_not_made_again(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper, model=ScriptedModel([LONG, "Yes."])) as r:
        await r.ask()
        await r.until(ReplyClause)
        async with asyncio.timeout(PATIENCE):
            while not (talks := await k.conversations()):
                await asyncio.sleep(0.002)
        await k.store.delete(None, talks[0].uuid)
        await r.until(ReplyEnded)
        await r.until_rest()
        await r.typed("And then?")
        await k.written()
        assert await k.conversations() == []
        assert k.told[-1] is Saved.NOT_SAVED
        assert [m.content for m in r.model.asked[-1]][1:] == ["And then?"]


async def test_an_exchange_deleted_elsewhere_is_no_longer_remembered(
    room: MakeRoom, keep: Keep
) -> None:
    async with keep() as k, room(keeper=k.keeper) as r:
        await r.typed("One?")
        await r.typed("Two?")
        (talk,) = await k.conversations()
        await k.store.delete_last_exchange(None, talk.uuid)
        await k.written()
        await r.typed("Three?")
        assert [m.content for m in r.model.asked[-1]][1:] == ["One?", "Yes.", "Three?"]
        assert [n for n, _ in await k.texts()] == [1, 2, 5, 6]


# When the card fails.


async def test_a_card_that_does_not_write_holds_up_nobody_and_costs_no_number(
    room: MakeRoom, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "CARD_SECONDS", 0.05)
    async with keep() as k, room(keeper=k.keeper) as r:
        await r.typed("One?")
        await k.written()
        other = apsw.Connection(str(k.store.path))
        other.execute("BEGIN IMMEDIATE")
        assert await r.typed("Two?") == "Yes."
        await k.until_it_says(Saved.NOT_SAVING)
        assert "fails" in await r.typed("Are you saving?")
        await r.typed("Delete that.")
        assert "when I can" in await r.typed("Yes.")
        assert await r.typed("Three?") == "Yes."
        other.execute("ROLLBACK")
        other.close()
        await k.until_it_says(Saved.SAVED)
        assert [n for n, _ in await k.texts()] == [1, 2, 5, 6]
        (talk,) = await k.conversations()
        assert talk.incomplete
        assert k.told == [Saved.SAVED, Saved.NOT_SAVING, Saved.SAVED]
        assert not r.all(Notice)
        assert r.rests_in(State.IDLE)


async def answer_echo(r: Room) -> None:
    """Say something in the window that Echo opened with its question, and wait for what it does."""
    await r.until_it_listens()
    done = len(r.all(TurnTraced))
    await r.say()
    await r.silence()
    await r.until(TurnTraced, done + 1)
    await r.until_rest()


def words_on_disk(folder: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
