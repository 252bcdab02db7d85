"""Conversations and entries out of the rows that hold them."""

import json
from typing import Any

from firmware_app.history.records import Conversation, Entry, ImagePart
from firmware_app.sqlite import Connection

CONVERSATION = (
    "seq, uuid, kind, owner, title, state, created, updated, ended, next_entry,"
    " incomplete, summary, summary_through, usage, metadata"
)
ENTRY = (
    "conversation_uuid, entry_number, kind, created, content, text, metadata,"
    " origin_conversation, origin_entry"
)


def fetch(
    connection: Connection,
    statement: str,
    values: tuple[str | int | float | bytes | None, ...] = (),
) -> list[tuple[Any, ...]]:
    """All rows at once: no transaction outlives the call."""
    return connection.execute(statement, values).fetchall()


def conversation(row: tuple[Any, ...]) -> Conversation:
    values = dict(zip(CONVERSATION.split(", "), row, strict=True))
    values["incomplete"] = bool(values["incomplete"])
    values["usage"] = json.loads(values["usage"])
    values["metadata"] = json.loads(values["metadata"])
    return Conversation(**values)


def entry(row: tuple[Any, ...]) -> Entry:
    uuid, number, kind, created, content, text, metadata, origin, origin_entry = row
    return Entry(
        uuid,
        number,
        kind,
        created,
        tuple(_part(part) for part in json.loads(content)),
        text,
        json.loads(metadata),
        (origin, origin_entry) if origin else None,
    )


def conversation_of(connection: Connection, uuid: str) -> Conversation | None:
    rows = fetch(connection, f"SELECT {CONVERSATION} FROM conversations WHERE uuid = ?", (uuid,))  # noqa: S608
    return conversation(rows[0]) if rows else None


def last_exchanges(connection: Connection, uuid: str, count: int) -> tuple[Entry, ...]:
    """The entries from the question that began the last `count` exchanges on, oldest first."""
    ((since,),) = fetch(
        connection,
        "SELECT min(entry_number) FROM (SELECT entry_number FROM entries"
        " WHERE conversation_uuid = ? AND kind = 'user' ORDER BY entry_number DESC LIMIT ?)",
        (uuid, count),
    )
    rows = fetch(
        connection,
        f"SELECT {ENTRY} FROM entries WHERE conversation_uuid = ?"  # noqa: S608
        " AND entry_number >= ? ORDER BY entry_number",
        (uuid, since or 1),
    )
    return tuple(map(entry, rows))


def _part(part: dict[str, Any]) -> str | ImagePart:
    if part["type"] == "text":
        return str(part["text"])
    return ImagePart(part["mime"], part["name"], part["bytes"], part["sha256"])
