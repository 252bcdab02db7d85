"""What is read: pages of the list, entries by number, images, and the copies of a conversation."""

from dataclasses import dataclass

from firmware_app.history.faults import NoConversationError
from firmware_app.history.records import Conversation, ConversationKind, Entry, Image, Thread
from firmware_app.history.rows import (
    CONVERSATION,
    ENTRY,
    conversation,
    entry,
    fetch,
    last_exchanges,
)
from firmware_app.history.statements import EXCHANGES_OFFERED, owned
from firmware_app.sqlite import Connection

PAGE = 50
RECENT = 20  # conversations in which a typed message is looked for by its key


@dataclass(frozen=True, slots=True)
class Page:
    """Entries of a conversation in their order; before: where "load older" goes on, or None."""

    conversation: Conversation
    entries: tuple[Entry, ...]
    before: int | None


def conversations(
    connection: Connection,
    owner: str | None,
    before: int | None = None,
    limit: int = PAGE,
    kind: ConversationKind | None = None,
) -> list[Conversation]:
    """Newest first by creation number; before: the number to go on from."""
    conditions, values = ["seq < ?"], [before if before is not None else 2**62]
    wanted: list[str | int] = [*values]
    if owner is not None:
        conditions.append("owner = ?")
        wanted.append(owner)
    if kind is not None:
        conditions.append("kind = ?")
        wanted.append(kind)
    rows = fetch(
        connection,
        f"SELECT {CONVERSATION} FROM conversations WHERE {' AND '.join(conditions)}"  # noqa: S608
        " ORDER BY seq DESC LIMIT ?",
        (*wanted, limit),
    )
    return [conversation(row) for row in rows]


def page(
    connection: Connection,
    owner: str | None,
    uuid: str,
    before: int | None = None,
    limit: int = PAGE,
) -> Page:
    """The newest entries, or those before a number. Raises NoConversationError."""
    found = owned(connection, owner, uuid)
    rows = fetch(
        connection,
        f"SELECT {ENTRY} FROM entries WHERE conversation_uuid = ? AND entry_number < ?"  # noqa: S608
        " ORDER BY entry_number DESC LIMIT ?",
        (uuid, before if before is not None else 2**62, limit + 1),
    )
    entries = tuple(entry(row) for row in reversed(rows[:limit]))
    return Page(found, entries, entries[0].number if len(rows) > limit else None)


def entries_after(
    connection: Connection, owner: str | None, uuid: str, number: int, limit: int
) -> list[Entry]:
    """Entries in their order, from the one after a number on. Raises NoConversationError."""
    owned(connection, owner, uuid)
    rows = fetch(
        connection,
        f"SELECT {ENTRY} FROM entries WHERE conversation_uuid = ? AND entry_number > ?"  # noqa: S608
        " ORDER BY entry_number LIMIT ?",
        (uuid, number, limit),
    )
    return [entry(row) for row in rows]


def thread(connection: Connection, owner: str | None, uuid: str) -> Thread:
    """What carrying on needs, with nothing written. Raises NoConversationError."""
    found = owned(connection, owner, uuid)
    return Thread(found, last_exchanges(connection, uuid, EXCHANGES_OFFERED))


def image(
    connection: Connection, owner: str | None, uuid: str, number: int, part: int
) -> Image | None:
    """The bytes of an entry's part. Raises NoConversationError."""
    owned(connection, owner, uuid)
    rows = fetch(
        connection,
        "SELECT i.mime, i.data, i.name FROM images i JOIN entries e ON e.id = i.entry_id"
        " WHERE e.conversation_uuid = ? AND e.entry_number = ? AND i.part = ?",
        (uuid, number, part),
    )
    return Image(*rows[0]) if rows else None


def number_of_key(
    connection: Connection, owner: str | None, uuid: str | None, key: str
) -> int | None:
    """The entry that a typed message with this key became, in this conversation or a late one.

    Raises NoConversationError for an unknown or foreign uuid.
    """
    if uuid is not None:
        owned(connection, owner, uuid)
    rows = fetch(
        connection,
        "SELECT entry_number FROM entries WHERE json_extract(metadata, '$.key') = ?3"
        " AND conversation_uuid IN (SELECT uuid FROM conversations"
        "  WHERE (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR uuid = ?2)"
        "  ORDER BY updated IS NULL DESC, updated DESC LIMIT ?4)",
        (owner, uuid, key, RECENT),
    )
    return rows[0][0] if rows else None


def by_beginning(connection: Connection, owner: str | None, beginning: str) -> str:
    """The one uuid that begins so, as people abbreviate it. Raises NoConversationError."""
    rows = fetch(
        connection,
        "SELECT uuid, owner FROM conversations WHERE uuid >= ?1 AND uuid < ?1 || 'g' LIMIT 2",
        (beginning.lower(),),
    )
    mine = [uuid for uuid, whose in rows if owner in (None, whose)]
    if not beginning or len(rows) != 1 or not mine:
        raise NoConversationError
    return str(mine[0])
