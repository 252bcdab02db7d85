"""What the command line asks of the history: calls with JSON in and out.

They are answered alike by the running service and, while none runs, by the command itself. An owner
is not asked for: whoever may call may read the files.
"""

import asyncio
import base64
import datetime
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast, get_args

from firmware_app.errors import StorageError, UsageError
from firmware_app.history import backup, copies
from firmware_app.history.records import (
    Conversation,
    ConversationKind,
    Entry,
    ImagePart,
    title_of,
)
from firmware_app.history.statements import Deleted
from firmware_app.history.store import Store
from firmware_app.history.usage import Rates, cost

Args: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = dict[str, Any]
T = TypeVar("T")

MOST = 200  # conversations or entries in an answer


class Commands:
    """The calls, by name in `table`. store: or why there is none, which every call then raises."""

    def __init__(self, store: Store | StorageError, rates: Rates) -> None:
        self._history = store
        self._rates = rates

    @property
    def _store(self) -> Store:
        if isinstance(self._history, StorageError):
            raise self._history
        return self._history

    def table(self) -> dict[str, Callable[[Args], Awaitable[Answer]]]:
        return {
            "chats.list": self.list_chats,
            "chats.show": self.show,
            "chats.entries": self.entries,
            "chats.search": self.search,
            "chats.rename": self.rename,
            "chats.delete": self.delete,
            "chats.count": self.count,
            "chats.image": self.image,
            "backup.list": self.list_copies,
            "backup.create": self.create_backup,
            "backup.verify": self.verify_backup,
            "backup.restore": self.restore_backup,
        }

    async def list_chats(self, args: Args) -> Answer:
        limit = _limit(args)
        found = await self._store.conversations(
            None, _optional(args, "before", int), limit, _kind(args)
        )
        return {
            "conversations": [self._conversation(c) for c in found],
            "before": found[-1].seq if len(found) == limit else None,
        }

    async def show(self, args: Args) -> Answer:
        page = await self._store.page(
            None, await self._uuid(args), _optional(args, "before", int), _limit(args)
        )
        return {
            "conversation": self._conversation(page.conversation),
            "entries": [entry_as_json(entry) for entry in page.entries],
            "before": page.before,
        }

    async def entries(self, args: Args) -> Answer:
        found = await self._store.entries_after(
            None, await self._uuid(args), _needed(args, "after", int), _limit(args)
        )
        return {"entries": [entry_as_json(entry) for entry in found]}

    async def search(self, args: Args) -> Answer:
        hits = await self._store.find(None, _needed(args, "q", str), _kind(args))
        return {
            "hits": [
                {
                    "conversation": self._conversation(hit.conversation),
                    "number": hit.number,
                    "snippet": hit.snippet,
                }
                for hit in hits
            ]
        }

    async def rename(self, args: Args) -> Answer:
        uuid, title = await self._uuid(args), title_of(_needed(args, "title", str))
        if not title:
            raise UsageError("no-title", "The title is empty.", "Give a few words.")
        await self._store.rename(None, uuid, title)
        return {"uuid": uuid, "title": title}

    async def delete(self, args: Args) -> Answer:
        """One of uuid, exchange (of that uuid), day, everything. With copies, those go too."""
        deleted = await self._deletion(args)
        holding = await self._store.copies(deleted.touched) if deleted.touched else []
        if args.get("copies"):
            for copy in holding:
                await asyncio.to_thread(copies.remove, copy)
        return {
            "conversations": sorted(deleted.conversations),
            "entries": {uuid: list(numbers) for uuid, numbers in deleted.entries.items()},
            "erased": await self._store.erased(),
            "copies": [_copy(copy) for copy in holding],
            "copies_removed": bool(args.get("copies")),
        }

    async def count(self, args: Args) -> Answer:
        uuid = await self._uuid(args) if args.get("uuid") else None
        return asdict(await self._store.count(None, uuid))

    async def image(self, args: Args) -> Answer:
        found = await self._store.image(
            None, await self._uuid(args), _needed(args, "number", int), _needed(args, "part", int)
        )
        if found is None:
            raise UsageError("no-image", "There is no such image.", "Look at the entry again.")
        return {
            "mime": found.mime,
            "name": found.name,
            "data": base64.b64encode(found.data).decode(),
        }

    async def list_copies(self, args: Args) -> Answer:
        return {"copies": [_copy(copy) for copy in await self._store.copies()]}

    async def create_backup(self, args: Args) -> Answer:
        target = _optional(args, "path", str)
        path, contents = await self._store.back_up(Path(target) if target else None)
        return {"path": str(path), **asdict(contents)}

    async def verify_backup(self, args: Args) -> Answer:
        path = Path(_needed(args, "path", str))
        return {"path": str(path), **asdict(await asyncio.to_thread(backup.verify, path))}

    async def restore_backup(self, args: Args) -> Answer:
        path = Path(_needed(args, "path", str))
        restored = await self._store.restore(
            path, replace=bool(args.get("replace")), salvage=bool(args.get("salvage"))
        )
        aside = str(restored.aside) if restored.aside else None
        return {"path": str(path), "aside": aside, **asdict(restored.contents)}

    async def _deletion(self, args: Args) -> Deleted:
        if args.get("everything"):
            return await self._store.delete_everything(None)
        if day := _optional(args, "day", str):
            return await self._store.delete_day(None, _day(day))
        uuid = await self._uuid(args)
        if args.get("exchange"):
            return await self._store.delete_last_exchange(None, uuid)
        return await self._store.delete(None, uuid)

    async def _uuid(self, args: Args) -> str:
        return await self._store.by_beginning(None, _needed(args, "uuid", str))

    def _conversation(self, conversation: Conversation) -> Answer:
        return {
            **asdict(conversation),
            "missing": conversation.missing,
            "cost": cost(conversation.usage, self._rates).as_json(),
        }


def entry_as_json(entry: Entry) -> Answer:
    return asdict(entry)


def entry_of_json(answer: Answer) -> Entry:
    parts = tuple(p if isinstance(p, str) else ImagePart(**p) for p in answer["parts"])
    origin = tuple(answer["origin"]) if answer["origin"] else None
    return Entry(**{**answer, "parts": parts, "origin": origin})


def conversation_of_json(answer: Answer) -> Conversation:
    known = {name: answer[name] for name in Conversation.__dataclass_fields__}
    return Conversation(**known)


def _copy(copy: copies.Copy) -> Answer:
    return {"path": str(copy.path), "why": copy.why, "made": copy.made, "size": copy.size}


def _needed(args: Args, name: str, kind: type[T]) -> T:
    value = _optional(args, name, kind)
    if value is None:
        raise UsageError("malformed-call", f'The call needs "{name}".', "Give it.")
    return value


def _optional(args: Args, name: str, kind: type[T]) -> T | None:
    value = args.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(
            "malformed-call", f'"{name}" is not of the right kind.', f"It is a {kind.__name__}."
        )
    return value


def _limit(args: Args) -> int:
    return max(1, min(MOST, _optional(args, "limit", int) or 50))


def _kind(args: Args) -> ConversationKind | None:
    kind = _optional(args, "kind", str)
    if kind is not None and kind not in get_args(ConversationKind):
        raise UsageError("no-such-kind", f"There is no kind {kind!r}.", "Say voice, chat or pane.")
    return cast("ConversationKind | None", kind)


def _day(text: str) -> datetime.date:
    today = datetime.datetime.now().astimezone().date()
    near = {"today": today, "yesterday": today - datetime.timedelta(days=1)}
    try:
        return near.get(text) or datetime.date.fromisoformat(text)
    except ValueError as fault:
        raise UsageError(
            "no-such-day", f"{text!r} is no day.", "Write it as 2026-11-30, or today, or yesterday."
        ) from fault


def history_path(data: Path, workspace: str) -> Path:
    """Where a workspace keeps its history. Raises StorageError for a name that is no folder's."""
    if not workspace or workspace.startswith(".") or "/" in workspace:
        raise StorageError(
            "bad-workspace",
            f"{workspace!r} cannot be the name of a workspace.",
            "Set history.workspace to letters and digits.",
        )
    return data / workspace / "history.db"
