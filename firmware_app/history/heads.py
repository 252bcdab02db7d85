"""Conversations as a list shows them, and what an export of one would hold."""

from dataclasses import dataclass

from firmware_app.history.faults import NoConversationError
from firmware_app.history.records import Conversation, ConversationKind
from firmware_app.history.rows import CONVERSATION, conversation, fetch
from firmware_app.history.statements import owned
from firmware_app.sqlite import Connection

CARRIED_ON = "Carried on."  # the notice that a conversation gets when it is
FIRST_WORDS = 160  # characters

_ABOUT = (
    "(SELECT count(*) FROM entries e WHERE e.conversation_uuid = c.uuid),"
    " (SELECT substr(e.text, 1, ?1) FROM entries e WHERE e.conversation_uuid = c.uuid"
    "  AND e.kind = 'assistant' ORDER BY e.entry_number LIMIT 1),"
    " EXISTS (SELECT 1 FROM entries e WHERE e.conversation_uuid = c.uuid"
    "  AND e.kind = 'notice' AND e.text = ?2)"
)
_COLUMNS = ", ".join(f"c.{column}" for column in CONVERSATION.split(", "))


@dataclass(frozen=True, slots=True)
class Head:
    """first_words: of the first answer; the title has those of the question."""

    conversation: Conversation
    entries: int
    first_words: str
    continued: bool


@dataclass(frozen=True, slots=True)
class Extent:
    """first, last: when its entries were made, wall clock in seconds; None: time unknown."""

    entries: int
    images: int
    characters: int
    first: float | None
    last: float | None


def heads(
    connection: Connection,
    owner: str | None,
    before: int | None,
    limit: int,
    kind: ConversationKind | None = None,
) -> list[Head]:
    """Newest first by creation number; before: the number to go on from."""
    conditions = ["c.seq < ?3"]
    values: list[str | int] = [FIRST_WORDS, CARRIED_ON, before if before is not None else 2**62]
    for column, wanted in (("owner", owner), ("kind", kind)):
        if wanted is not None:
            values.append(wanted)
            conditions.append(f"c.{column} = ?{len(values)}")
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS}, {_ABOUT} FROM conversations c"  # noqa: S608 - names of our own
        f" WHERE {' AND '.join(conditions)} ORDER BY c.seq DESC LIMIT {int(limit)}",
        tuple(values),
    )
    return [_head(row) for row in rows]


def latest(connection: Connection, owner: str, limit: int) -> list[Head]:
    """Voice and chat conversations, the one with the latest entry first."""
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS}, {_ABOUT} FROM conversations c"  # noqa: S608 - names of our own
        " WHERE c.owner = ?3 AND c.kind <> 'pane' ORDER BY c.latest DESC LIMIT ?4",
        (FIRST_WORDS, CARRIED_ON, owner, limit),
    )
    return [_head(row) for row in rows]


def head(connection: Connection, owner: str | None, uuid: str) -> Head:
    """Raises NoConversationError."""
    rows = fetch(
        connection,
        f"SELECT {_COLUMNS}, {_ABOUT} FROM conversations c WHERE c.uuid = ?3",  # noqa: S608
        (FIRST_WORDS, CARRIED_ON, uuid),
    )
    found = _head(rows[0]) if rows else None
    if found is None or owner not in (None, found.conversation.owner):
        raise NoConversationError
    return found


def extent(connection: Connection, owner: str | None, uuid: str) -> Extent:
    """Raises NoConversationError."""
    owned(connection, owner, uuid)
    ((entries, characters, first, last),) = fetch(
        connection,
        "SELECT count(*), coalesce(sum(length(text)), 0), min(created), max(created)"
        " FROM entries WHERE conversation_uuid = ?",
        (uuid,),
    )
    ((images,),) = fetch(
        connection,
        "SELECT count(*) FROM images i JOIN entries e ON e.id = i.entry_id"
        " WHERE e.conversation_uuid = ?",
        (uuid,),
    )
    return Extent(entries, images, characters, first, last)


def _head(row: tuple[object, ...]) -> Head:
    *columns, entries, first_words, continued = row
    return Head(
        conversation(tuple(columns)), int(str(entries)), str(first_words or ""), bool(continued)
    )
