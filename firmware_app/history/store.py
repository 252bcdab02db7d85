"""The history of a workspace, as the rest of Echo uses it.

Writes are plain calls that return at once with something to await, or not; reads are awaited.
"""

import asyncio
import contextlib
import datetime
import logging
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from firmware_app.history import (
    backup,
    copies,
    erasure,
    export,
    heads,
    reading,
    schema,
    search,
    statements,
)
from firmware_app.history.clock import Clock, SystemClock
from firmware_app.history.copies import Copy
from firmware_app.history.faults import NotSavedError, is_damage_of_index
from firmware_app.history.heads import Extent, Head
from firmware_app.history.readers import Readers
from firmware_app.history.records import (
    Conversation,
    ConversationKind,
    Entry,
    Image,
    NewConversation,
    NewEntry,
    Thread,
    title_of,
)
from firmware_app.history.statements import Deleted
from firmware_app.history.writer import Job, Work, Writer, uncancellable
from firmware_app.sqlite import Connection, Error

log = logging.getLogger(__name__)

T = TypeVar("T")

CARRIED_ON = heads.CARRIED_ON
_EXPORT_PAGE = 200


@dataclass(frozen=True, slots=True)
class SavingChanged:
    """History is saving again, or not saving, and why."""

    saving: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Deleted, by whomever: the open conversation may be among it."""

    deleted: Deleted


@dataclass(frozen=True, slots=True)
class SetAside:
    """The database was damaged; it lies at `path`, and a new one is in its place."""

    path: Path


@dataclass(frozen=True, slots=True)
class Restored:
    """contents: of the history now. aside: where the one that was there lies."""

    contents: backup.Contents
    aside: Path | None


StoreEvent: TypeAlias = SavingChanged | Forgotten | SetAside


class Pending(Generic[T]):
    """A change on its way to the card. Awaiting it waits until it is there; nobody has to.

    Raises, when awaited: ParentGoneError, NumberTakenError, NotSavedError, NoConversationError.
    """

    def __init__(self, done: Future[T]) -> None:
        self._done = done

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.wrap_future(self._done).__await__()

    @property
    def done(self) -> bool:
        return self._done.done()


class Store:
    """Made by `open`. Everything here is called on the event loop, and nothing blocks it."""

    def __init__(
        self,
        path: Path,
        workspace: str,
        clock: Clock,
        on_event: Callable[[StoreEvent], None],
    ) -> None:
        self.path = path
        self._workspace = workspace
        self._clock = clock
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._gaps: list[erasure.Gaps] = []  # the last is of the file that is open
        self._erased: Future[bool] = uncancellable()
        self._erased.set_result(True)
        self._index_was_mended = False
        self._readers = Readers(path, self._met_damage)
        self._writer = Writer(
            self._open_file,
            self._leave_damaged,
            self._saving,
            self._tidy,
            statements.mark_incomplete,
        )

    @classmethod
    async def open(
        cls,
        path: Path,
        workspace: str = "home",
        clock: Clock | None = None,
        on_event: Callable[[StoreEvent], None] = lambda event: None,
    ) -> "Store":
        """Open a history, or begin one; what was left active is marked as interrupted.

        A card that is full, read-only or failing raises nothing: the store is not saving, and
        tries again. A damaged database is set aside. on_event is called on the event loop.
        Raises StorageError "history-newer" when a newer Echo wrote the database.
        """
        await asyncio.to_thread(copies.remove_unfinished, path)
        store = cls(path, workspace, clock or SystemClock(), on_event)
        store._writer.begin()
        try:
            await asyncio.wrap_future(store._writer.opened)
        except BaseException:
            await store.close(0.0)
            raise
        return store

    async def close(self, seconds: float = 2.0) -> int:
        """Write what waits, within that time. How many writes had to be given up."""
        given_up = await asyncio.to_thread(self._writer.close, seconds)
        await asyncio.to_thread(self._readers.close)
        if not self._writer.running:
            for gaps in self._gaps:
                gaps.close()
            self._gaps.clear()
        return given_up

    # How it is.

    @property
    def saving(self) -> bool:
        return not self._writer.reason

    @property
    def reason(self) -> str:
        """Why it is not saving; empty while it is."""
        return self._writer.reason

    @property
    def waiting(self) -> int:
        """Writes that are not on the card yet."""
        return self._writer.waiting

    # What the dialogue writes.

    def start(self, new: NewConversation) -> Pending[None]:
        """Begin a conversation, when its first question is committed."""
        now = self._clock.now()
        return self._submit(Job(lambda c: statements.start(c, new, now)))

    def write(self, entry: NewEntry) -> Pending[None]:
        """Write an entry of an active conversation. Done when it would survive a power cut."""
        now = self._clock.now()
        return self._submit(
            Job(
                lambda c: statements.write(c, entry, now),
                size=entry.size,
                entry=(entry.conversation, entry.number),
            )
        )

    def end(self, uuid: str) -> Pending[None]:
        now = self._clock.now()
        return self._submit(Job(lambda c: statements.end(c, uuid, now)))

    def set_usage(self, uuid: str, usage: Mapping[str, Any]) -> Pending[None]:
        """Put the totals so far in the place of those there are."""
        return self._submit(
            Job(lambda c: statements.set_usage(c, uuid, usage), replaces=f"usage {uuid}")
        )

    def set_summary(self, uuid: str, summary: str, through: int) -> Pending[None]:
        """Keep the running summary, which covers the entries up to `through`."""
        return self._submit(
            Job(
                lambda c: statements.set_summary(c, uuid, summary, through),
                size=256 + len(summary),
                replaces=f"summary {uuid}",
            )
        )

    def carry_on(self, owner: str | None, uuid: str, notice: str = CARRIED_ON) -> Pending[Thread]:
        """Make a conversation active again. Where nothing is to be written, read `thread`.

        Raises NoConversationError for an unknown or foreign one, PaneError for a pane's.
        """
        now = self._clock.now()
        return self._submit(Job(lambda c: statements.carry_on(c, owner, uuid, notice, now)))

    # What its owner changes. An owner of None is whoever may read the files themselves.

    def rename(self, owner: str | None, uuid: str, title: str) -> Pending[None]:
        """The title is cut as one made after a question is."""
        return self._submit(Job(lambda c: statements.rename(c, owner, uuid, title_of(title))))

    def delete(self, owner: str | None, uuid: str) -> Pending[Deleted]:
        """Delete a conversation. Final when awaited; `erased` tells when its bytes are gone."""
        return self._delete(lambda c: statements.delete_conversation(c, owner, uuid))

    def delete_everything(self, owner: str | None) -> Pending[Deleted]:
        return self._delete(lambda c: statements.delete_everything(c, owner))

    def delete_day(self, owner: str | None, day: datetime.date) -> Pending[Deleted]:
        """Delete what was said on a day, by the device's own time."""
        first, after = (
            datetime.datetime.combine(day + datetime.timedelta(days=n), datetime.time()).timestamp()
            for n in (0, 1)
        )
        return self._delete(lambda c: statements.delete_day(c, owner, first, after))

    def delete_last_exchange(
        self, owner: str | None, uuid: str, through: int | None = None
    ) -> Pending[Deleted]:
        """Delete the last question (at or before entry `through`) and what came after it."""
        return self._delete(lambda c: statements.delete_last_exchange(c, owner, uuid, through))

    def delete_entries(
        self, owner: str | None, uuid: str, numbers: frozenset[int]
    ) -> Pending[Deleted]:
        return self._delete(lambda c: statements.delete_entries(c, owner, uuid, numbers))

    async def erased(self) -> bool:
        """Wait for the last deletion's bytes to go. False: not yet; it is tried again."""
        return await asyncio.wrap_future(self._erased)

    # What is read.

    async def conversations(
        self,
        owner: str | None,
        before: int | None = None,
        limit: int = reading.PAGE,
        kind: ConversationKind | None = None,
    ) -> list[Conversation]:
        """Newest first by creation number `seq`; before: the number to go on from."""
        return await self._readers.read(
            lambda c: reading.conversations(c, owner, before, limit, kind)
        )

    async def heads(
        self,
        owner: str | None,
        before: int | None = None,
        limit: int = reading.PAGE,
        kind: ConversationKind | None = None,
    ) -> list[Head]:
        """As `conversations`, with what a list shows besides."""
        return await self._readers.read(lambda c: heads.heads(c, owner, before, limit, kind))

    async def latest(self, owner: str, limit: int) -> list[Head]:
        """Voice and chat conversations, the one with the latest entry first."""
        return await self._readers.read(lambda c: heads.latest(c, owner, limit))

    async def head(self, owner: str | None, uuid: str) -> Head:
        return await self._readers.read(lambda c: heads.head(c, owner, uuid))

    async def extent(self, owner: str | None, uuid: str) -> Extent:
        """What an export of a conversation would hold."""
        return await self._readers.read(lambda c: heads.extent(c, owner, uuid))

    async def page(
        self, owner: str | None, uuid: str, before: int | None = None, limit: int = reading.PAGE
    ) -> reading.Page:
        """The newest entries of a conversation, or those before a number."""
        return await self._readers.read(lambda c: reading.page(c, owner, uuid, before, limit))

    async def thread(self, owner: str | None, uuid: str) -> Thread:
        return await self._readers.read(lambda c: reading.thread(c, owner, uuid))

    async def image(self, owner: str | None, uuid: str, number: int, part: int) -> Image | None:
        return await self._readers.read(lambda c: reading.image(c, owner, uuid, number, part))

    async def number_of_key(self, owner: str | None, uuid: str | None, key: str) -> int | None:
        """The entry that a typed message with this key became, in this conversation.

        Without a uuid it is looked for in those that were talked in last.
        """
        return await self._readers.read(lambda c: reading.number_of_key(c, owner, uuid, key))

    async def by_beginning(self, owner: str | None, beginning: str) -> str:
        return await self._readers.read(lambda c: reading.by_beginning(c, owner, beginning))

    async def find(
        self, owner: str | None, asked: str, kind: ConversationKind | None = None
    ) -> list[search.Hit]:
        return await self._readers.read(lambda c: search.find(c, owner, asked, kind))

    async def copies(self, conversations: frozenset[str] = frozenset()) -> list[Copy]:
        """Copies the box made that hold these conversations; all of them if none is named."""
        return await self._readers.read(lambda c: copies.copies(c, self.path, conversations))

    async def count(self, owner: str | None, uuid: str | None = None) -> export.Count:
        """What an export would hold: of one conversation, or of all of an owner's."""
        if uuid is not None:
            uuids = [(await self.page(owner, uuid, limit=1)).conversation.uuid]
            return await self._readers.read(lambda c: export.count(c, uuids))
        total, before = export.Count(0, 0, 0, 0), None
        while found := await self.conversations(owner, before, _EXPORT_PAGE):
            uuids, before = [c.uuid for c in found], found[-1].seq
            total += await self._readers.read(lambda c, uuids=uuids: export.count(c, uuids))  # type: ignore[misc]
        return total

    async def entries_after(
        self, owner: str | None, uuid: str, number: int, limit: int = reading.PAGE
    ) -> list[Entry]:
        """Entries in their order, from the one after a number on."""
        return await self._readers.read(
            lambda c: reading.entries_after(c, owner, uuid, number, limit)
        )

    async def export(
        self, owner: str | None, uuid: str, form: export.Format, *, images: bool = True
    ) -> AsyncIterator[str]:
        """A conversation as text, piece by piece, each read by itself."""
        found = (await self.page(owner, uuid, limit=1)).conversation

        async def entries() -> AsyncIterator[Entry]:
            number = 0
            while some := await self.entries_after(owner, uuid, number, _EXPORT_PAGE):
                for entry in some:
                    yield entry
                number = some[-1].number

        async def image_of(number: int, part: int) -> Image | None:
            return await self.image(owner, uuid, number, part)

        async for piece in export.document(form, found, entries(), image_of if images else None):
            yield piece

    # Back-ups.

    def back_up(self, target: Path | None = None) -> Pending[tuple[Path, backup.Contents]]:
        """Copy the history beside the writes; into its own folder unless told where."""
        place = target or copies.backup_path(self.path)

        def work(connection: Connection) -> Work[tuple[Path, backup.Contents]]:
            return place, (yield from backup.create(connection, place))

        return Pending(self._writer.work(work))

    async def restore(self, source: Path, *, replace: bool, salvage: bool = False) -> Restored:
        """Put a back-up in the place of the history; what was there is kept aside.

        With salvage, what can be read of a damaged database is added to what there is. Writes go
        on until the copy is ready, and are in it only as far as it was made then. Raises
        StorageError as backup.prepare does.
        """
        fresh = await asyncio.to_thread(
            backup.prepare, source, self.path, replace=replace, salvage=salvage
        )

        def act() -> Restored:
            with self._readers.away():
                aside = backup.put_in_place(fresh, self.path, replace=replace or salvage)
            return Restored(backup.contents(self.path), aside)

        try:
            return await asyncio.wrap_future(self._writer.exchange_file(act))
        except NotSavedError:  # it was not begun
            await asyncio.to_thread(copies.remove_database, fresh)
            raise

    # Behind it.

    def _submit(self, job: Job[T]) -> Pending[T]:
        return Pending(self._writer.submit(job))

    def _delete(self, delete: Callable[[Connection], Deleted]) -> Pending[Deleted]:
        def run(connection: Connection) -> Deleted:
            deleted = delete(connection)
            if deleted.touched:
                erasure.note_deletion(connection)
            return deleted

        job = Job(run)
        erased: Future[bool] = uncancellable()

        def committed(done: Future[Deleted]) -> None:
            if done.exception() is not None or not done.result().touched:
                erased.set_result(True)
                return
            self._tell(Forgotten(done.result()))
            self._erase(erased)

        job.done.add_done_callback(committed)
        self._erased = erased
        return self._submit(job)

    def _erase(self, erased: Future[bool]) -> None:
        def finished(work: Future[bool]) -> None:
            erased.set_result(work.exception() is None and work.result())

        self._writer.work(self._erasing).add_done_callback(finished)

    def _erasing(self, connection: Connection) -> Work[bool]:
        inode = self.path.stat().st_ino
        if not self._gaps or self._gaps[-1].inode != inode:
            self._gaps.append(erasure.Gaps(self.path))
        return erasure.erase(connection, self._gaps[-1])

    def _open_file(self) -> Connection:
        return schema.open_history(self.path, self._workspace, self._clock.now().created)

    def _leave_damaged(self, fault: Exception) -> None:
        """Make the search index anew where only that is damaged, once; else begin a new file."""
        with self._readers.away():
            if is_damage_of_index(fault) and not self._index_was_mended:
                self._index_was_mended = True
                with contextlib.suppress(Error), contextlib.closing(self._open_file()) as fresh:
                    statements.make_index_anew(fresh)
                    log.warning("the search index was damaged; it was made anew")
                    return
            aside = copies.set_aside(self.path, "damaged")
        if aside:
            log.error("the history was damaged; it was set aside as %s", aside.name)
            self._tell(SetAside(aside))

    def _met_damage(self, inode: int, fault: Exception) -> None:
        """A reader did; by the time the writer hears of it another file may be in place."""

        def believe(_: Connection) -> Work[None]:
            yield 0.0
            if self.path.stat().st_ino == inode:
                raise fault

        self._writer.work(believe)

    def _tidy(self, connection: Connection, fresh: bool) -> None:
        now = self._clock.now()
        if fresh:
            statements.interrupt_left_active(connection, now)
        statements.mend_times(connection, now)
        if erasure.is_pending(connection) and self._erased.done():
            self._erased = uncancellable()
            self._erase(self._erased)

    def _saving(self, saving: bool, reason: str) -> None:
        self._tell(SavingChanged(saving, reason))

    def _tell(self, event: StoreEvent) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_event, event)
