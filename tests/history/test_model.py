"""Random operations on the store and on a plain model of it end in the same history."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from firmware_app.history.faults import (
    NoConversationError,
    NumberTakenError,
    PaneError,
    ParentGoneError,
)
from firmware_app.history.records import NewConversation, NewEntry, title_of
from firmware_app.history.statements import RESTARTED
from firmware_app.history.store import CARRIED_ON, Store
from tests.history.conftest import FULL, FakeClock

T = TypeVar("T")
OWNERS = st.sampled_from(["ann", "bob"])
KINDS = st.sampled_from(["voice", "chat", "pane"])
WORDS = st.lists(
    st.sampled_from(["rain", "sun", "Rügen", "über", "雪", "don't", "42", "a"]),
    min_size=1,
    max_size=6,
).map(" ".join)
ENTRY_KINDS = st.sampled_from(["user", "assistant", "tool", "action", "notice"])
WHICH = st.integers(0, 50)


@dataclass
class Talk:
    """A conversation as it should be."""

    owner: str
    kind: str
    title: str
    state: str = "active"
    next_entry: int = 1
    summary: tuple[str, int] = ("", 0)
    usage: dict[str, Any] = field(default_factory=dict)
    entries: dict[int, tuple[str, str]] = field(default_factory=dict)  # kind and text

    def add(self, number: int, kind: str, text: str) -> None:
        self.entries[number] = (kind, text)
        self.next_entry = number + 1

    def questions(self) -> list[int]:
        return sorted(n for n, (kind, _) in self.entries.items() if kind == "user")

    def forget(self, numbers: list[int]) -> None:
        gone = [self.entries.pop(n)[1] for n in numbers]
        if numbers and self.summary[1] >= min(numbers):
            self.summary = ("", 0)
        if self.title in map(title_of, gone):
            left = self.questions()
            self.title = title_of(self.entries[left[0]][1]) if left else ""


class Histories(RuleBasedStateMachine):
    """The store and the model, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        self.clock = FakeClock()
        self.talks: dict[str, Talk] = {}  # in the order of creation

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(doing, 30))

    async def refused(self, change: Any, error: type[Exception]) -> None:  # noqa: ANN401
        with pytest.raises(error):
            await change

    def pick(self, which: int) -> str:
        return list(self.talks)[which % len(self.talks)]  # by age: names are random

    @initialize()
    def open(self) -> None:
        self.run(self._open())

    async def _open(self) -> None:
        path = Path(self.folder.name) / "home" / "history.db"
        self.store = await Store.open(path, clock=self.clock)

    @rule(owner=OWNERS, kind=KINDS, question=WORDS)
    def start(self, owner: str, kind: Any, question: str) -> None:  # noqa: ANN401
        new = NewConversation(kind, owner, title_of(question))

        async def doing() -> None:
            self.store.start(new)
            await self.store.write(NewEntry(new.uuid, 1, "user", (question,)))

        self.run(doing())
        self.talks[new.uuid] = Talk(owner, kind, title_of(question))
        self.talks[new.uuid].add(1, "user", question)

    @precondition(lambda self: self.talks)
    @rule(which=WHICH, ahead=st.integers(-2, 3), kind=ENTRY_KINDS, text=WORDS)
    def write(self, which: int, ahead: int, kind: Any, text: str) -> None:  # noqa: ANN401
        talk = self.talks[uuid := self.pick(which)]
        number = max(1, talk.next_entry + ahead)
        self.clock.move(1)  # otherwise it might be the same entry again

        async def doing() -> None:
            change = self.store.write(NewEntry(uuid, number, kind, (text,)))
            if talk.state != "active":
                await self.refused(change, ParentGoneError)
            elif number < talk.next_entry:
                await self.refused(change, NumberTakenError)
            else:
                await change
                talk.add(number, kind, text)

        self.run(doing())

    @precondition(lambda self: self.talks)
    @rule(which=WHICH)
    def end(self, which: int) -> None:
        talk = self.talks[uuid := self.pick(which)]

        async def doing() -> None:
            await self.store.end(uuid)

        self.run(doing())
        talk.state = "ended" if talk.state == "active" else talk.state
        if talk.state == "ended" and not talk.entries and talk.kind != "pane":
            del self.talks[uuid]

    @precondition(lambda self: self.talks)
    @rule(which=WHICH, owner=OWNERS)
    def carry_on(self, which: int, owner: str) -> None:
        talk = self.talks[uuid := self.pick(which)]

        async def doing() -> None:
            change = self.store.carry_on(owner, uuid)
            if owner != talk.owner:
                await self.refused(change, NoConversationError)
            elif talk.kind == "pane":
                await self.refused(change, PaneError)
            else:
                thread = await change
                talk.state = "active"
                talk.add(talk.next_entry, "notice", CARRIED_ON)
                first = (talk.questions()[-8:] or [1])[0]
                expected = sorted(n for n in talk.entries if n >= first)
                assert [e.number for e in thread.entries] == expected
                assert thread.conversation.next_entry == talk.next_entry

        self.run(doing())

    @precondition(lambda self: self.talks)
    @rule(which=WHICH, owner=OWNERS, title=WORDS)
    def rename(self, which: int, owner: str, title: str) -> None:
        talk = self.talks[uuid := self.pick(which)]

        async def doing() -> None:
            change = self.store.rename(owner, uuid, title)
            if owner == talk.owner:
                await change
                talk.title = title
            else:
                await self.refused(change, NoConversationError)

        self.run(doing())

    @precondition(lambda self: self.talks)
    @rule(which=WHICH, total=st.integers(0, 9), summary=WORDS, through=st.integers(0, 9))
    def note(self, which: int, total: int, summary: str, through: int) -> None:
        talk = self.talks[uuid := self.pick(which)]

        async def doing() -> None:
            self.store.set_usage(uuid, {"n": -1})
            self.store.set_summary(uuid, summary, through)
            await self.store.set_usage(uuid, {"n": total})

        self.run(doing())
        talk.usage, talk.summary = {"n": total}, (summary, through)

    @precondition(lambda self: self.talks)
    @rule(which=WHICH, owner=OWNERS)
    def delete(self, which: int, owner: str) -> None:
        talk = self.talks[uuid := self.pick(which)]

        async def doing() -> None:
            change = self.store.delete(owner, uuid)
            behind = self.store.write(NewEntry(uuid, talk.next_entry + 1, "user", ("late",)))
            if owner == talk.owner:
                await change
                await self.refused(behind, ParentGoneError)
                del self.talks[uuid]
                return
            await self.refused(change, NoConversationError)
            if talk.state == "active":
                await behind
                talk.add(talk.next_entry + 1, "user", "late")
            else:
                await self.refused(behind, ParentGoneError)

        self.run(doing())

    @precondition(lambda self: self.talks)
    @rule(which=WHICH)
    def delete_last_exchange(self, which: int) -> None:
        talk = self.talks[uuid := self.pick(which)]

        async def doing() -> None:
            deleted = await self.store.delete_last_exchange(talk.owner, uuid)
            questions = talk.questions()
            numbers = sorted(n for n in talk.entries if questions and n >= questions[-1])
            assert deleted.entries == ({uuid: tuple(numbers)} if numbers else {})
            talk.forget(numbers)

        self.run(doing())

    @rule(owner=OWNERS)
    def delete_everything(self, owner: str) -> None:
        async def doing() -> None:
            await self.store.delete_everything(owner)

        self.run(doing())
        self.talks = {uuid: talk for uuid, talk in self.talks.items() if talk.owner != owner}

    @rule()
    def restart(self) -> None:
        self.run(self.store.close())
        self.run(self._open())
        for talk in self.talks.values():
            if talk.state == "active" and talk.kind != "pane":
                talk.state = "interrupted"
                talk.usage = {**talk.usage, "incomplete": True}
                if talk.next_entry > 1:
                    talk.add(talk.next_entry, "notice", RESTARTED)

    @rule(owner=OWNERS, word=st.sampled_from(["rain", "sun", "rugen", "uber", "雪", "late"]))
    def search(self, owner: str, word: str) -> None:
        plain = str.maketrans("üÜ", "uU")

        def said(talk: Talk) -> bool:
            return any(
                word in text.translate(plain).lower().replace("'", " ").split()
                for _, text in talk.entries.values()
            )

        found = {hit.conversation.uuid for hit in self.run(self.store.find(owner, word))}
        expected = {u for u, talk in self.talks.items() if talk.owner == owner and said(talk)}
        assert found == expected if len(expected) <= 20 else found <= expected

    @invariant()
    def they_agree(self) -> None:
        if hasattr(self, "store"):
            self.run(self._compare())

    async def _compare(self) -> None:
        listed = await self.store.conversations(None, limit=1000)
        assert [c.uuid for c in listed] == list(reversed(self.talks))
        for conversation in listed:
            talk = self.talks[conversation.uuid]
            page = await self.store.page(talk.owner, conversation.uuid, limit=1000)
            assert Talk(
                conversation.owner,
                conversation.kind,
                conversation.title,
                conversation.state,
                conversation.next_entry,
                (conversation.summary, conversation.summary_through),
                dict(conversation.usage),
                {e.number: (e.kind, e.text) for e in page.entries},
            ) == Talk(**{**vars(talk), "entries": dict(sorted(talk.entries.items()))})
            assert not conversation.incomplete

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.run(self.store.close())
        self.loop.close()
        self.folder.cleanup()


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=100 if FULL else 12,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
