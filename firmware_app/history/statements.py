"""What the writer does to the tables. Each runs within a transaction that the writer holds."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from firmware_app.history.faults import (
    NoConversationError,
    NumberTakenError,
    PaneError,
    ParentGoneError,
)
from firmware_app.history.records import (
    Conversation,
    Moment,
    NewConversation,
    NewEntry,
    Part,
    Thread,
    title_of,
)
from firmware_app.history.rows import conversation_of, fetch, last_exchanges
from firmware_app.history.schema import LAST_ENTRY
from firmware_app.sqlite import Connection

RESTARTED = "Echo restarted here; the last message or action may be missing."
EXCHANGES_OFFERED = 8  # of a conversation that is carried on
INDEX_ANEW = 500  # conversations deleted at once; taking one out of the index costs about 50 ms
_TROUBLES_KEPT = 20


@dataclass(frozen=True, slots=True)
class Deleted:
    """What went: whole conversations, and entries of others, by number."""

    conversations: frozenset[str] = frozenset()
    entries: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def touched(self) -> frozenset[str]:
        return self.conversations | frozenset(self.entries)


def start(connection: Connection, new: NewConversation, at: Moment) -> None:
    """The only way in which a conversation comes to be. A second time it does nothing."""
    connection.execute(
        "INSERT INTO conversations (uuid, kind, owner, title, state, created, updated, usage)"
        " VALUES (?, ?, ?, ?, 'active', ?, ?, ?) ON CONFLICT (uuid) DO NOTHING",
        (new.uuid, new.kind, new.owner, new.title, at.created, at.created, _json(new.usage)),
    )


def write(connection: Connection, entry: NewEntry, at: Moment) -> None:
    """Insert an entry and move its conversation's counter past it.

    Raises ParentGoneError when the conversation is not there or not active, NumberTakenError when
    the number is behind the counter and not this very entry's from an earlier try.
    """
    content = _json(_parts(entry.parts))
    parent = fetch(
        connection,
        "SELECT next_entry FROM conversations WHERE uuid = ? AND state = 'active'",
        (entry.conversation,),
    )
    if not parent:
        raise ParentGoneError
    (counter,) = parent[0]
    if entry.number < counter:
        if _is_there(connection, entry, at, content):
            return
        raise NumberTakenError(entry.number)
    ((identity,),) = fetch(
        connection,
        "INSERT INTO entries (conversation_uuid, entry_number, kind, created, boot_id, monotonic,"
        " content, text, metadata, origin_conversation, origin_entry)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            entry.conversation,
            entry.number,
            entry.kind,
            at.created,
            at.boot_id,
            at.monotonic,
            content,
            entry.text,
            _json(_metadata(entry)),
            *(entry.origin or (None, None)),
        ),
    )
    connection.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (identity, entry.text))
    connection.executemany(
        "INSERT INTO images VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (identity, n, p.mime, len(p.data), _sha256(p.data), p.name, p.data)
            for n, p in enumerate(entry.parts)
            if not isinstance(p, str)
        ],
    )
    connection.execute(
        "UPDATE conversations SET next_entry = ?, updated = coalesce(?, updated), latest = ?"
        " WHERE uuid = ?",
        (entry.number + 1, at.created, identity, entry.conversation),
    )


def end(connection: Connection, uuid: str, at: Moment) -> None:
    """End a conversation that is active; one without entries goes away."""
    connection.execute(
        "UPDATE conversations SET state = 'ended', ended = ? WHERE uuid = ? AND state = 'active'",
        (at.created, uuid),
    )
    connection.execute(
        "DELETE FROM conversations WHERE uuid = ? AND state = 'ended' AND kind <> 'pane'"
        " AND NOT EXISTS (SELECT 1 FROM entries WHERE conversation_uuid = uuid)",
        (uuid,),
    )


def carry_on(
    connection: Connection, owner: str | None, uuid: str, notice: str, at: Moment
) -> Thread:
    """Make a conversation active again, with a notice, and give what its last exchanges were.

    Raises NoConversationError for an unknown or a foreign one, PaneError for a pane's.
    """
    conversation = owned(connection, owner, uuid)
    if conversation.kind == "pane":
        raise PaneError
    connection.execute(
        "UPDATE conversations SET state = 'active', ended = NULL WHERE uuid = ?", (uuid,)
    )
    write(connection, NewEntry(uuid, conversation.next_entry, "notice", (notice,)), at)
    return Thread(
        owned(connection, owner, uuid), last_exchanges(connection, uuid, EXCHANGES_OFFERED)
    )


def rename(connection: Connection, owner: str | None, uuid: str, title: str) -> None:
    owned(connection, owner, uuid)
    connection.execute("UPDATE conversations SET title = ? WHERE uuid = ?", (title, uuid))


def set_summary(connection: Connection, uuid: str, summary: str, through: int) -> None:
    _must_change(
        connection,
        "UPDATE conversations SET summary = ?, summary_through = ? WHERE uuid = ?",
        (summary, through, uuid),
    )


def set_usage(connection: Connection, uuid: str, usage: Mapping[str, Any]) -> None:
    _must_change(
        connection, "UPDATE conversations SET usage = ? WHERE uuid = ?", (_json(usage), uuid)
    )


def mark_incomplete(
    connection: Connection, uuid: str, reason: str, late: Iterable[int], lost: Iterable[int]
) -> None:
    """Note that saving failed for a time; numbers that were lost are never given again."""
    metadata = connection.execute("SELECT metadata FROM conversations WHERE uuid = ?", (uuid,)).get
    if metadata is None:
        return
    kept = json.loads(metadata)
    troubles = kept.setdefault("trouble", [])
    if not troubles or troubles[-1]["reason"] != reason:
        troubles.append({"reason": reason, "late": [], "lost": []})
    trouble = troubles[-1]
    trouble["lost"] = sorted({*trouble["lost"], *lost})
    trouble["late"] = sorted({*trouble["late"], *late} - {*trouble["lost"]})
    del troubles[:-_TROUBLES_KEPT]
    connection.execute(
        "UPDATE conversations SET incomplete = 1, metadata = ?, next_entry = max(next_entry, ?)"
        " WHERE uuid = ?",
        (_json(kept), max(trouble["lost"], default=0) + 1, uuid),
    )


def interrupt_left_active(connection: Connection, at: Moment) -> int:
    """At start-up: voice and chat conversations that nobody ended were interrupted. How many."""
    left = fetch(
        connection,
        "SELECT uuid, next_entry, updated FROM conversations"
        " WHERE state = 'active' AND kind <> 'pane'",
    )
    for uuid, number, updated in left:
        if number > 1:
            write(connection, NewEntry(uuid, number, "notice", (RESTARTED,)), at)
        connection.execute(
            "UPDATE conversations SET state = 'interrupted', updated = ?1, ended = ?1,"
            " usage = json_set(usage, '$.incomplete', json('true')) WHERE uuid = ?2",
            (updated, uuid),
        )
    return len(left)


def mend_times(connection: Connection, at: Moment) -> int:
    """Date what happened in this boot before its clock was trusted. How many entries."""
    if at.created is None:
        return 0
    zero = at.created - at.monotonic
    mended = connection.execute(
        "UPDATE entries SET created = ? + monotonic WHERE created IS NULL AND boot_id = ?"
        " RETURNING conversation_uuid",
        (zero, at.boot_id),
    ).fetchall()
    for (uuid,) in set(mended):
        connection.execute(
            "UPDATE conversations SET"
            " created = coalesce(created, first), updated = max(coalesce(updated, 0), last),"
            " ended = CASE state WHEN 'active' THEN NULL ELSE coalesce(ended, last) END"
            " FROM (SELECT min(created) AS first, max(created) AS last FROM entries"
            "       WHERE conversation_uuid = ?1) WHERE uuid = ?1",
            (uuid,),
        )
    return len(mended)


def delete_conversation(connection: Connection, owner: str | None, uuid: str) -> Deleted:
    owned(connection, owner, uuid)
    _delete(connection, [uuid])
    return Deleted(frozenset([uuid]))


def delete_everything(connection: Connection, owner: str | None) -> Deleted:
    rows = fetch(
        connection, "SELECT uuid FROM conversations WHERE ?1 IS NULL OR owner = ?1", (owner,)
    )
    gone = [uuid for (uuid,) in rows]
    _delete(connection, gone)
    return Deleted(frozenset(gone))


def delete_day(
    connection: Connection, owner: str | None, first: float, after_last: float
) -> Deleted:
    """Delete what was said from `first` up to `after_last`, wall clock.

    A conversation of which nothing is left goes whole. What has no time is kept.
    """
    touched = fetch(
        connection,
        "SELECT uuid FROM conversations"
        " WHERE (?1 IS NULL OR owner = ?1) AND created < ?3 AND updated >= ?2",
        (owner, first, after_last),
    )
    gone: list[str] = []
    trimmed: dict[str, tuple[int, ...]] = {}
    for (uuid,) in touched:
        numbers = _numbers(
            connection.execute(
                "SELECT entry_number FROM entries"
                " WHERE conversation_uuid = ? AND created >= ? AND created < ?",
                (uuid, first, after_last),
            )
        )
        everything = connection.execute(
            "SELECT count(*) FROM entries WHERE conversation_uuid = ?", (uuid,)
        ).get
        if len(numbers) == everything:
            gone.append(uuid)
        elif numbers:
            _delete_entries(connection, uuid, numbers)
            trimmed[uuid] = numbers
    _delete(connection, gone)
    return Deleted(frozenset(gone), trimmed)


def delete_last_exchange(
    connection: Connection, owner: str | None, uuid: str, through: int | None = None
) -> Deleted:
    """Delete the last question and what came after it; with `through`, the question at or before.

    The conversation stays, and so does its counter.
    """
    owned(connection, owner, uuid)
    question = connection.execute(
        "SELECT max(entry_number) FROM entries"
        " WHERE conversation_uuid = ?1 AND kind = 'user' AND (?2 IS NULL OR entry_number <= ?2)",
        (uuid, through),
    ).get
    if question is None:
        return Deleted()
    numbers = _numbers(
        connection.execute(
            "SELECT entry_number FROM entries WHERE conversation_uuid = ? AND entry_number >= ?",
            (uuid, question),
        )
    )
    _delete_entries(connection, uuid, numbers)
    return Deleted(entries={uuid: numbers})


def delete_entries(
    connection: Connection, owner: str | None, uuid: str, numbers: Iterable[int]
) -> Deleted:
    """Delete those of these entries that are there. The conversation and its counter stay."""
    owned(connection, owner, uuid)
    there = _numbers(
        connection.execute(
            "SELECT entry_number FROM entries WHERE conversation_uuid = ?"
            " AND entry_number IN (SELECT value FROM json_each(?))",
            (uuid, json.dumps(sorted(numbers))),
        )
    )
    if not there:
        return Deleted()
    _delete_entries(connection, uuid, there)
    return Deleted(entries={uuid: there})


def owned(connection: Connection, owner: str | None, uuid: str) -> Conversation:
    """A conversation, if it is this owner's; None is whoever may read the files themselves."""
    found = conversation_of(connection, uuid)
    if found is None or owner not in (None, found.owner):
        raise NoConversationError
    return found


def _delete(connection: Connection, uuids: Sequence[str]) -> None:
    """Many are faster deleted by making the index of what is left anew."""
    anew = len(uuids) > INDEX_ANEW
    if not anew:
        connection.executemany(
            "INSERT INTO search (search, rowid, text)"
            " SELECT 'delete', id, text FROM entries WHERE conversation_uuid = ?",
            [(uuid,) for uuid in uuids],
        )
    connection.executemany("DELETE FROM conversations WHERE uuid = ?", [(uuid,) for uuid in uuids])
    if anew:
        make_index_anew(connection)


def make_index_anew(connection: Connection) -> None:
    connection.execute("INSERT INTO search (search) VALUES ('rebuild')")


def _delete_entries(connection: Connection, uuid: str, numbers: tuple[int, ...]) -> None:
    """Delete entries, and what else was made of their words: the summary, and the title."""
    which = json.dumps(numbers)
    chosen = (
        "FROM entries WHERE conversation_uuid = ?"
        " AND entry_number IN (SELECT value FROM json_each(?))"
    )
    texts = [text for (text,) in connection.execute(f"SELECT text {chosen}", (uuid, which))]
    connection.execute(
        f"INSERT INTO search (search, rowid, text) SELECT 'delete', id, text {chosen}",
        (uuid, which),
    )
    connection.execute(f"DELETE {chosen}", (uuid, which))
    connection.execute(f"{LAST_ENTRY} WHERE uuid = ?", (uuid,))
    connection.execute(
        "UPDATE conversations SET summary = '', summary_through = 0"
        " WHERE uuid = ? AND summary_through >= ?",
        (uuid, min(numbers)),
    )
    title = connection.execute("SELECT title FROM conversations WHERE uuid = ?", (uuid,)).get
    if title in {title_of(text) for text in texts}:
        left = connection.execute(
            "SELECT text FROM entries WHERE conversation_uuid = ? AND kind = 'user'"
            " ORDER BY entry_number LIMIT 1",
            (uuid,),
        ).get
        connection.execute(
            "UPDATE conversations SET title = ? WHERE uuid = ?", (title_of(left or ""), uuid)
        )


def _is_there(connection: Connection, entry: NewEntry, at: Moment, content: str) -> bool:
    """An earlier try may have reached the card although it was reported as failed."""
    there = connection.execute(
        "SELECT kind, boot_id, monotonic, content FROM entries"
        " WHERE conversation_uuid = ? AND entry_number = ?",
        (entry.conversation, entry.number),
    ).fetchall()
    return there == [(entry.kind, at.boot_id, at.monotonic, content)]


def _must_change(connection: Connection, statement: str, values: tuple[str | int, ...]) -> None:
    connection.execute(statement, values)
    if not connection.changes():
        raise ParentGoneError


def _metadata(entry: NewEntry) -> dict[str, Any]:
    kept: dict[str, Any] = {"status": entry.status.value, **entry.extra}
    if entry.input_mode:
        kept["input_mode"] = entry.input_mode
    if entry.engines:
        kept["engines"] = dict(entry.engines)
    if entry.key:
        kept["key"] = entry.key
    return kept


def _parts(parts: Iterable[Part]) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {
            "type": "image",
            "mime": part.mime,
            "name": part.name,
            "bytes": len(part.data),
            "sha256": _sha256(part.data),
        }
        for part in parts
    ]


def _numbers(rows: Iterable[tuple[Any, ...]]) -> tuple[int, ...]:
    return tuple(sorted(number for (number,) in rows))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
