"""Finding what was said: words, beginnings of words (`wea*`) and phrases ("..."), newest first."""

import re
from dataclasses import dataclass

from firmware_app.errors import UsageError
from firmware_app.history.records import Conversation, ConversationKind
from firmware_app.history.rows import CONVERSATION, conversation
from firmware_app.sqlite import Connection

HITS = 20
BEGIN_MARK, END_MARK = "\x02", "\x03"  # around what was found, in a snippet
_SNIPPET_WORDS = 16
_LOOKED_AT = 2_000  # matching entries, at most, in which conversations are looked for
_TERM = re.compile(r'"([^"]*)"?|(\S+)')
_WORD = re.compile(r"\w")
# Newest first out of the index itself: nothing is sorted, and no more is read than is shown.
_COLUMNS = ", ".join(f"c.{column}" for column in CONVERSATION.split(", "))
_FIND = (
    "SELECT e.entry_number,"  # noqa: S608 - names and numbers of our own
    f" snippet(search, 0, '{BEGIN_MARK}', '{END_MARK}', '…', {_SNIPPET_WORDS}), {_COLUMNS}"
    " FROM search"
    " CROSS JOIN entries e ON e.id = search.rowid"
    " CROSS JOIN conversations c ON c.uuid = e.conversation_uuid"
    " WHERE search MATCH ?1 AND (?2 IS NULL OR c.owner = ?2) AND (?3 IS NULL OR c.kind = ?3)"
    " ORDER BY search.rowid DESC LIMIT ?4"
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A conversation in which something was found, and where: its newest entry that matches."""

    conversation: Conversation
    number: int
    snippet: str


def find(
    connection: Connection,
    owner: str | None,
    asked: str,
    kind: ConversationKind | None = None,
    limit: int = HITS,
) -> list[Hit]:
    """The newest conversations with all the words asked for in one entry.

    Raises UsageError when nothing is asked for.
    """
    found: dict[str, Hit] = {}
    matching = connection.execute(_FIND, (match_of(asked), owner, kind, _LOOKED_AT))
    for number, snippet, *row in matching:
        hit = Hit(conversation(tuple(row)), number, snippet)
        found.setdefault(hit.conversation.uuid, hit)
        if len(found) == limit:
            break
    matching.close(True)  # ends the read
    return list(found.values())


def match_of(asked: str) -> str:
    """What was asked for, in FTS5's own language, whose operators are not offered."""
    terms = []
    for found in _TERM.finditer(asked):
        phrase, word = found.groups()
        text = phrase if phrase is not None else word.rstrip("*")
        if not _WORD.search(text):
            continue
        beginning = "*" if phrase is None and word.endswith("*") else ""
        terms.append('"' + text.replace('"', "") + '"' + beginning)
    if not terms:
        raise UsageError(
            "nothing-asked",
            "There is no word to search for.",
            "Give a word, or a phrase in quotes.",
        )
    return " ".join(terms)
