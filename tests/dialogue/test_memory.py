"""A long conversation: summed up in idle time, older exchanges found again, numbers intact."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest

from firmware_app.dialogue.conversation import Conversation
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.language import dialogue_words
from firmware_app.dialogue.open_talk import OpenTalk
from firmware_app.dialogue.prompt import Exchange, Prompt, Summary
from firmware_app.dialogue.recall import Recall
from firmware_app.engines import EngineNames, Message, Tool, ToolCall
from firmware_app.events import Events, Status
from firmware_app.settings import ModelSettings, Settings
from firmware_app.skills.building import World, build, load
from firmware_app.skills.local_time import LocalTime
from tests.conftest import PATIENCE, until
from tests.dialogue.conftest import Keep, Kept, MakeRoom, Room, keep, room
from tests.dialogue.scripted import ScriptedModel

__all__ = ["keep", "room"]  # fixtures

SUM_UP = dialogue_words("en")["model"]["sum_up"]
SUMMARY = "You say: number, words. I heard: number, nothing."
SMALL = replace(Settings(), model=ModelSettings(context_tokens=512, reply_tokens=112))


class SummingModel(ScriptedModel):
    """Answers "Yes."; to a request for a summary with the one it is given, after a while."""

    def __init__(
        self,
        summary: str = "You say: number, words. I heard: number, nothing.",
        seconds: float = 0.0,
    ) -> None:
        super().__init__()
        self.summary = summary
        self.seconds = seconds
        self.summing_up = asyncio.Event()
        self.given_up = asyncio.Event()
        self.prefilled: list[Sequence[Message]] = []

    async def prefill(self, messages: Sequence[Message]) -> None:
        self.prefilled.append(messages)

    async def reply(
        self, messages: Sequence[Message], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall, None]:
        if messages[-1].content != SUM_UP:
            async for piece in super().reply(messages, tools):
                yield piece
            return
        self.asked.append(messages)
        self.summing_up.set()
        try:
            await asyncio.sleep(self.seconds)
            yield self.summary
        except asyncio.CancelledError:
            self.given_up.set()
            raise


def says(number: int) -> str:
    return f"This is what I say at number {number}, which has some more words to it"


async def talk(keeper: Keeper, texts: Sequence[tuple[str, str]]) -> None:
    for question, answer in texts:
        asked = keeper.ask(question, "text", EngineNames(), 1.0)
        keeper.answer(asked, answer, Status.COMPLETE, "text", EngineNames())
    await keeper.settled()


def filler(count: int) -> list[tuple[str, str]]:
    return [(says(n), f"I heard number {n} and have nothing to add") for n in range(count)]


async def summed_up(r: Room) -> Conversation:
    conversation = r.dialogue.conversation_of("home")
    await until(lambda: bool(conversation.summary.text))
    return conversation


async def stored(kept: Kept) -> Summary:
    await kept.written()
    found = (await kept.conversations())[0]
    return Summary(found.summary, found.summary_through)


async def test_what_outgrows_the_model_is_summed_up_once_nobody_talks(
    room: MakeRoom, keep: Keep
) -> None:
    model = SummingModel()
    async with keep() as kept, room(model=model, keeper=kept.keeper, settings=SMALL) as r:
        await talk(kept.keeper, filler(6))
        await r.typed("What now?")
        await r.until_rest()
        await asyncio.sleep(0.05)
        assert not model.summing_up.is_set()  # there is room enough
        await talk(kept.keeper, filler(7))
        await r.typed("And now?")
        conversation = await summed_up(r)
        assert conversation.summary == Summary(model.summary, conversation.entries[-1].number)
        assert await stored(kept) == conversation.summary
        request = next(asked for asked in model.asked if asked[-1].content == SUM_UP)
        assert any(says(0) in message.content for message in request)
        await r.typed("Go on.")
        told = model.asked[-1]
        assert told[0].content.endswith(model.summary)
        assert told[-1] == Message("user", "Go on.")
        assert not any(says(0) in message.content for message in told)
        assert Message("user", "And now?") in told  # the last ones stay word for word


async def test_a_summary_begins_like_the_conversation_so_that_the_cache_keeps_it() -> None:
    async def count(texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    prompt = Prompt("Be Echo.", 400, count)
    said = [
        Exchange(q, a, number=2 * n + 1, through=2 * n + 2) for n, (q, a) in enumerate(filler(12))
    ]
    draft = await prompt.draft(said)
    assert draft
    assert draft.through == 24
    assert [*await prompt.messages(said), Message("user", SUM_UP)] == draft.messages
    assert await prompt.draft(said[:8]) is None


async def test_what_is_no_summary_is_thrown_away_and_not_asked_for_at_each_question(
    room: MakeRoom, keep: Keep
) -> None:
    model = SummingModel("I'm ready. What would you like to chat about?")
    async with keep() as kept, room(model=model, keeper=kept.keeper, settings=SMALL) as r:
        await talk(kept.keeper, filler(12))
        for _ in range(3):
            await r.typed("And now?")
            await r.until_rest()
            await asyncio.sleep(0.05)
        assert sum(asked[-1].content == SUM_UP for asked in model.asked) == 1
        assert await stored(kept) == Summary()


async def test_a_larger_model_may_sum_up_in_its_own_words(room: MakeRoom, keep: Keep) -> None:
    model = SummingModel("Somebody counts aloud and expects no reply.")
    model.small = False
    async with keep() as kept, room(model=model, keeper=kept.keeper, settings=SMALL) as r:
        await talk(kept.keeper, filler(12))
        await r.typed("And now?")
        assert (await summed_up(r)).summary.text == model.summary


@pytest.mark.parametrize("by", ["wake word", "typed message"])
async def test_a_summary_is_given_up_at_once_when_somebody_talks(room: MakeRoom, by: str) -> None:
    model = SummingModel(seconds=60)
    async with room(model=model, settings=SMALL) as r:
        keeper = Keeper(SMALL)
        conversation = r.dialogue.conversation_of("home")
        for question, answer in filler(12):
            conversation.add("user", question)
            conversation.add("assistant", answer)
        conversation.begun = True
        r.dialogue.close_ears("", closed=False)  # it rests
        async with asyncio.timeout(PATIENCE):
            await model.summing_up.wait()
        assert keeper.conversation.summary == Summary()
        if by == "wake word":
            await r.call()
        else:
            await r.typed("Are you there?")
        async with asyncio.timeout(PATIENCE):
            await model.given_up.wait()
        assert not conversation.summary.text


async def test_nothing_of_a_summary_is_written_where_nothing_is_saved(
    room: MakeRoom, keep: Keep
) -> None:
    async with (
        keep() as kept,
        room(model=SummingModel(), keeper=kept.keeper, settings=SMALL) as r,
    ):
        await talk(kept.keeper, filler(3))
        kept.keeper.leave_unsaved()
        await talk(kept.keeper, filler(10))
        await r.typed("And now?")
        conversation = await summed_up(r)
        assert conversation.summary.text
        assert await stored(kept) == Summary()


async def test_deleting_what_a_summary_covers_drops_it(room: MakeRoom, keep: Keep) -> None:
    async with keep() as kept, room(model=SummingModel(), keeper=kept.keeper, settings=SMALL) as r:
        await talk(kept.keeper, filler(12))
        await r.typed("And now?")
        conversation = await summed_up(r)
        assert (await stored(kept)).text
        await kept.store.delete_entries("home", conversation.uuid, frozenset({5, 6}))
        await until(lambda: not conversation.summary.text)
        assert await stored(kept) == Summary()


async def test_a_summary_of_what_was_deleted_meanwhile_is_thrown_away(room: MakeRoom) -> None:
    model = SummingModel(seconds=0.2)
    async with room(model=model, settings=SMALL) as r:
        conversation = r.dialogue.conversation_of("home")
        for question, answer in filler(12):
            conversation.add("user", question)
            conversation.add("assistant", answer)
        r.dialogue.close_ears("", closed=False)
        async with asyncio.timeout(PATIENCE):
            await model.summing_up.wait()
        conversation.forget({3, 4})
        await asyncio.sleep(0.4)
        assert not conversation.summary.text


DOG = ("My sister's dog is called Biscuit", "Biscuit is a nice name for a dog")


def long_talk() -> list[tuple[str, str]]:
    """200 exchanges; the third tells of a dog."""
    topics = ["weather", "dinner", "music", "garden", "football", "holiday", "train", "window"]
    said = [
        (f"Say something about the {topics[n % 8]}, part {n}", f"The {topics[n % 8]} is fine.")
        for n in range(200)
    ]
    said[2] = DOG
    return said


async def test_a_question_about_the_third_of_200_exchanges_is_answered_from_it_after_a_restart(
    room: MakeRoom, keep: Keep
) -> None:
    model = SummingModel("You say something about the weather. The weather is fine.")
    async with keep() as kept, room(model=model, keeper=kept.keeper) as r:
        await talk(kept.keeper, long_talk())
        await r.typed("What is the name of my sister's dog?")
        assert Message("user", DOG[0]) in model.asked[-1]
        uuid = kept.keeper.conversation.uuid
        conversation = await summed_up(r)
        await kept.written()
        kept.keeper.begin_another()
        # As after a restart: nothing of it is in memory but what carrying on reads.
        carried_on = await r.dialogue.carry_on(uuid)
        assert carried_on is not conversation
        assert carried_on.summary == conversation.summary
        assert carried_on.entries[0].number > 380
        await r.typed("Which name has the dog of my sister?")
        told = model.asked[-1]
        assert told[0].content.endswith(conversation.summary.text)
        assert told[-3:-1] == [Message("user", DOG[0]), Message("assistant", DOG[1])]
        await r.until_rest()
        await kept.written()
        numbers = [
            entry.number for entry in (await kept.store.page("home", uuid, limit=50)).entries
        ]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert numbers[-1] == carried_on.next_number - 1 == 405
        third = await kept.store.entries_after("home", uuid, 4, limit=2)
        assert [(entry.number, entry.text) for entry in third] == [(5, DOG[0]), (6, DOG[1])]


async def recalled(
    keeper: Keeper, question: str, *, spoken: bool = True, told: int = 2
) -> list[str]:
    conversation = keeper.conversation
    recall = Recall(keeper, load("en"), LocalTime())
    kept = conversation.exchanges()[-told:]
    return [e.question for e in await recall.recall(conversation, kept, question, spoken=spoken)]


async def test_what_is_recalled_fits_the_question_though_words_were_misheard() -> None:
    keeper = Keeper(Settings())
    await talk(keeper, long_talk())
    assert await recalled(keeper, "what was the dog of my sister called") == [DOG[0]]
    assert await recalled(keeper, "was that biscuits") == [DOG[0]]
    assert await recalled(keeper, "what is my sistar's dog called") == [DOG[0]]
    assert await recalled(keeper, "who wrote Don Quixote") == []
    assert await recalled(keeper, "what is the capital of Peru") == []
    assert len(await recalled(keeper, "what did you say about the garden")) <= 2


@pytest.mark.parametrize(("reach", "found"), [("off", []), ("today", [DOG[0]]), ("all", [DOG[0]])])
async def test_by_voice_no_more_is_recalled_from_the_history_than_the_setting_allows(
    keep: Keep, reach: str, found: list[str]
) -> None:
    async with keep() as kept:
        keeper = kept.keeper
        await talk(keeper, long_talk()[:40])
        await kept.written()
        uuid = keeper.conversation.uuid
        keeper.begin_another()
        await keeper.carry_on(uuid, "home")
        kept.change(history=reach)
        asked = "what is the dog of my sister called"
        assert await recalled(keeper, asked) == found
        assert await recalled(keeper, asked, spoken=False) == [DOG[0]]


async def test_a_talk_that_is_continued_is_read_while_continuing_is_still_heard(
    room: MakeRoom, keep: Keep
) -> None:
    model = SummingModel()
    async with keep() as kept:
        kept.change(history="all")
        skills = build(World(talk=OpenTalk(kept.keeper, Events())))
        async with room(model=model, keeper=kept.keeper, skills=skills) as r:
            await talk(kept.keeper, [("Tell me about roses in the garden", "They need sun.")])
            await kept.written()
            kept.keeper.begin_another()
            assert "Shall I continue" in await r.typed("continue our talk about roses")
            model.prefilled.clear()
            heard = [clause async for clause in _until_read(r, model)]
            assert heard[0].startswith("Continuing")
            assert r.dialogue.busy  # it still speaks


async def _until_read(r: Room, model: SummingModel) -> AsyncGenerator[str, None]:
    """The clauses of the answer to "yes", until the model has read the old conversation."""
    typed = r.dialogue.accept("yes", r.dialogue.conversation_of("home"))
    async with asyncio.timeout(PATIENCE):
        if clause := await typed.clauses.get():
            yield clause
        while not any(
            "roses in the garden" in message.content
            for messages in model.prefilled
            for message in messages
        ):
            await asyncio.sleep(0.002)
