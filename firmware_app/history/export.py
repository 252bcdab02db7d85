"""Conversations as files to take away: Markdown, plain text or JSON."""

import base64
import datetime
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from firmware_app.events import Status
from firmware_app.history.records import Conversation, Entry, Image, ImagePart
from firmware_app.history.rows import fetch
from firmware_app.sqlite import Connection

Format = Literal["md", "txt", "json"]
ImageOf = Callable[[int, int], Awaitable[Image | None]]  # by entry number and part

SPEAKERS = {
    "user": "You",
    "assistant": "Echo",
    "tool": "Result",
    "action": "Action",
    "notice": "Note",
}
UNKNOWN_TIME = "time unknown"


@dataclass(frozen=True, slots=True)
class Count:
    """What goes out. image_bytes: their size as they are kept."""

    conversations: int
    entries: int
    images: int
    image_bytes: int

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.conversations + other.conversations,
            self.entries + other.entries,
            self.images + other.images,
            self.image_bytes + other.image_bytes,
        )


def count(connection: Connection, uuids: Sequence[str]) -> Count:
    """What an export of these conversations would hold."""
    ((entries, images, size),) = fetch(
        connection,
        "SELECT count(DISTINCT e.id), count(i.entry_id), coalesce(sum(i.bytes), 0)"
        " FROM entries e LEFT JOIN images i ON i.entry_id = e.id"
        " WHERE e.conversation_uuid IN (SELECT value FROM json_each(?))",
        (json.dumps(uuids),),
    )
    return Count(len(uuids), entries, images, size)


async def document(
    form: Format,
    conversation: Conversation,
    entries: AsyncIterator[Entry],
    image_of: ImageOf | None,
) -> AsyncIterator[str]:
    """One conversation, piece by piece. Without image_of, images are marked as left out."""
    if form == "json":
        yield json.dumps(_json_head(conversation), ensure_ascii=False)[:-1] + ', "entries": ['
        first = True
        async for entry in entries:
            yield ("" if first else ", ") + await _json_entry(entry, image_of)
            first = False
        yield "]}\n"
        return
    yield _heading(form, conversation)
    async for entry in entries:
        yield await _prose(form, entry, image_of)


def time_text(at: float | None) -> str:
    if at is None:
        return UNKNOWN_TIME
    return datetime.datetime.fromtimestamp(at).astimezone().isoformat(" ", "minutes")[:16]


def _json_head(conversation: Conversation) -> dict[str, Any]:
    c = conversation
    return {
        "uuid": c.uuid,
        "kind": c.kind,
        "owner": c.owner,
        "title": c.title,
        "state": c.state,
        "incomplete": c.incomplete,
        "missing": c.missing,
        "created": c.created,
        "updated": c.updated,
        "ended": c.ended,
        "summary": c.summary,
        "usage": c.usage,
    }


async def _json_entry(entry: Entry, image_of: ImageOf | None) -> str:
    parts: list[dict[str, Any]] = []
    for n, part in enumerate(entry.parts):
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
            continue
        image = await image_of(entry.number, n) if image_of else None
        about = {"type": "image", "mime": part.mime, "name": part.name, "sha256": part.sha256}
        data = base64.b64encode(image.data).decode() if image else None
        parts.append({**about, "data": data} if data else {**about, "omitted": True})
    return json.dumps(
        {
            "number": entry.number,
            "kind": entry.kind,
            "created": entry.created,
            "parts": parts,
            "metadata": entry.metadata,
            "origin": list(entry.origin) if entry.origin else None,
        },
        ensure_ascii=False,
    )


def _heading(form: Format, conversation: Conversation) -> str:
    c = conversation
    title = c.title or "Untitled"
    about = f"{c.kind}, begun {time_text(c.created)}, {c.state}"
    missing = f"\n{c.missing}" if c.incomplete else ""
    if form == "md":
        return f"# {title}\n\n*{about}*{missing and f'  {missing}'}\n"
    return f"{title}\n{'=' * len(title)}\n{about}{missing}\n"


async def _prose(form: Format, entry: Entry, image_of: ImageOf | None) -> str:
    said = [
        part if isinstance(part, str) else await _picture(form, entry, n, part, image_of)
        for n, part in enumerate(entry.parts)
    ]
    status = "" if entry.status is Status.COMPLETE else f" ({entry.status})"
    who, when = SPEAKERS[entry.kind], time_text(entry.created)
    text = "\n".join(said)
    if form == "md":
        return f"\n**{who}**{status} *{when}*\n\n{text}\n"
    return f"\n[{when}] {who}{status}: {text}\n"


async def _picture(
    form: Format, entry: Entry, part: int, image: ImagePart, image_of: ImageOf | None
) -> str:
    name = image.name or "image"
    found = await image_of(entry.number, part) if image_of and form == "md" else None
    if found:
        return f"![{name}](data:{found.mime};base64,{base64.b64encode(found.data).decode()})"
    return f"[{name}, {image.mime}, {image.size} bytes: left out]"
