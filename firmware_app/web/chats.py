"""The history: list, search, threads, renaming, deleting, exports and images."""

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator
from typing import Any, Literal, cast, get_args
from urllib.parse import quote

from aiohttp import web

from firmware_app.history.export import Format
from firmware_app.history.heads import Head
from firmware_app.history.records import ConversationKind, Entry, title_of
from firmware_app.history.search import BEGIN_MARK, END_MARK
from firmware_app.history.usage import cost
from firmware_app.web.answers import answer, done
from firmware_app.web.asked import LARGEST, body, invalid, nothing, query, uuid, whole
from firmware_app.web.entries import entry_json
from firmware_app.web.parts import Parts
from firmware_app.web.problems import WebError, not_found
from firmware_app.web.security import SANDBOX, owner_of

PAGE, MOST = 50, 500  # conversations or entries in an answer
LONGEST_SEARCH = 200  # characters
SECONDS_TO_ERASE = 5.0  # after which a deletion is answered as not erased yet
KINDS = get_args(ConversationKind)
FORMATS: dict[str, str] = {"md": "text/markdown", "txt": "text/plain", "json": "application/json"}
IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})


class Chats:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def routes(self) -> list[web.RouteDef]:
        one = "/api/chats/{uuid}"
        return [
            web.get("/api/chats", self._list, allow_head=False),
            web.get("/api/chats/latest", self._latest, allow_head=False),
            web.post("/api/chats/search", self._search),
            web.get(one, self._thread, allow_head=False),
            web.patch(one, self._rename),
            web.delete(one, self._delete),
            web.get(f"{one}/export", self._export, allow_head=False),
            web.get(f"{one}/export/preview", self._preview, allow_head=False),
            web.get(f"{one}/entries/{{number}}/images/{{part}}", self._image, allow_head=False),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        fields = query(request, "before", "limit", "kind")
        limit = whole(fields, "limit", at_most=MOST, default=PAGE)
        before = whole(fields, "before", at_most=LARGEST, default=None)
        kind = _kind(fields.optional_choice("kind", KINDS))
        heads = await self._parts.store.heads(owner_of(request), before, limit + 1, kind)
        return answer({"chats": [_head(h) for h in heads[:limit]], "more": len(heads) > limit})

    async def _latest(self, request: web.Request) -> web.Response:
        limit = whole(query(request, "limit"), "limit", at_most=MOST, default=PAGE)
        heads = await self._parts.store.latest(owner_of(request), limit)
        return answer({"chats": [_head(head) for head in heads]})

    async def _search(self, request: web.Request) -> web.Response:
        fields = await body(request, "q", "kind")
        asked = fields.text("q", LONGEST_SEARCH)
        kind = _kind(fields.optional_choice("kind", KINDS))
        hits = await self._parts.store.find(owner_of(request), asked, kind)
        return answer(
            {
                "results": [
                    {
                        "uuid": hit.conversation.uuid,
                        "title": hit.conversation.title,
                        "kind": hit.conversation.kind,
                        "entry": hit.number,
                        "created": hit.conversation.created,
                        "snippet": marked(hit.snippet),
                    }
                    for hit in hits
                ]
            }
        )

    async def _thread(self, request: web.Request) -> web.Response:
        name, fields = uuid(request), query(request, "before", "limit")
        limit = whole(fields, "limit", at_most=MOST, default=PAGE)
        before = whole(fields, "before", at_most=LARGEST, default=None)
        store, owner = self._parts.store, owner_of(request)
        head = await store.head(owner, name)
        page = await store.page(owner, name, before, limit)
        price = cost(head.conversation.usage, self._parts.rates)
        return answer(
            {
                "chat": {
                    **_head(head),
                    "missing": head.conversation.missing,
                    "usage": dict(head.conversation.usage),
                    "cost": price.amount,
                    "currency": price.currency,
                },
                "entries": [_entry(entry) for entry in page.entries],
                "more": page.before is not None,
            }
        )

    async def _rename(self, request: web.Request) -> web.Response:
        name = uuid(request)
        title = title_of((await body(request, "title")).text("title", 500))
        if not title:
            raise invalid("The title is empty.", "Give a few words.")
        await self._parts.store.rename(owner_of(request), name, title)
        return done()

    async def _delete(self, request: web.Request) -> web.Response:
        """It is gone when this is answered; erased tells whether its bytes are, too."""
        name = uuid(request)
        await nothing(request)
        store = self._parts.store
        deleted = await store.delete(owner_of(request), name)
        copies = await store.copies(deleted.touched) if deleted.touched else []
        erased = False
        try:
            async with asyncio.timeout(SECONDS_TO_ERASE):
                erased = await store.erased()
        except TimeoutError:
            pass  # it goes on by itself
        return answer({"copies": [copy.path.name for copy in copies], "erased": erased})

    async def _preview(self, request: web.Request) -> web.Response:
        name = uuid(request)
        query(request)
        extent = await self._parts.store.extent(owner_of(request), name)
        return answer(
            {
                "entries": extent.entries,
                "images": extent.images,
                "characters": extent.characters,
                "first": extent.first,
                "last": extent.last,
            }
        )

    async def _export(self, request: web.Request) -> web.StreamResponse:
        name, owner = uuid(request), owner_of(request)
        form = cast("Format", query(request, "format").choice("format", tuple(FORMATS)))
        store = self._parts.store
        title = (await store.head(owner, name)).conversation.title
        pieces = store.export(owner, name, form)
        return await _stream(request, pieces, FORMATS[form], f"{safe_name(title)}.{form}")

    async def _image(self, request: web.Request) -> web.Response:
        name = uuid(request)
        number, part = (_index(request.match_info[key]) for key in ("number", "part"))
        image = await self._parts.store.image(owner_of(request), name, number, part)
        if image is None:
            raise not_found()
        if image.mime not in IMAGES:
            raise WebError(
                "image-refused",
                "A picture of that kind is not shown.",
                "Export it instead.",
                status=415,
            )
        return web.Response(
            body=image.data,
            content_type=image.mime,
            headers={
                "Content-Security-Policy": SANDBOX,
                "Content-Disposition": f'inline; filename="image-{number}-{part}"',
            },
        )


def _head(head: Head) -> dict[str, Any]:
    conversation = head.conversation
    return {
        "uuid": conversation.uuid,
        "number": conversation.seq,
        "kind": conversation.kind,
        "title": conversation.title,
        "state": conversation.state,
        "incomplete": conversation.incomplete,
        "continued": head.continued,
        "interrupted": conversation.state == "interrupted",
        "created": conversation.created,
        "updated": conversation.updated,
        "entries": head.entries,
        "first_words": head.first_words,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    metadata = entry.metadata
    shown = {
        **entry_json(entry, metadata.get("confidence")),
        "images": [n for n, part in enumerate(entry.parts) if not isinstance(part, str)],
    }
    if tool := metadata.get("tool"):
        shown["tool"] = tool
    return shown


def marked(snippet: str) -> list[tuple[str, bool]]:
    """A snippet in pieces, each with whether it was searched for."""
    pieces = re.split(f"([{BEGIN_MARK}{END_MARK}])", snippet)
    found: list[tuple[str, bool]] = []
    hit = False
    for piece in pieces:
        if piece in (BEGIN_MARK, END_MARK):
            hit = piece == BEGIN_MARK
        elif piece:
            found.append((piece, hit))
    return found


def safe_name(title: str) -> str:
    """The title as a file's name on any system: letters of ASCII, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return "echo-" + (re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].rstrip("-") or "chat")


async def _stream(
    request: web.Request, pieces: AsyncIterator[str], media_type: str, name: str
) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={
            "Content-Type": f"{media_type}; charset=utf-8",
            "Content-Disposition": f'attachment; filename="{quote(name)}"',
            "Content-Security-Policy": SANDBOX,
        }
    )
    await response.prepare(request)
    try:
        async for piece in pieces:
            await response.write(piece.encode(errors="replace"))
    except Exception as fault:
        if request.transport:  # half a file must not look like a whole one
            request.transport.abort()
        raise ConnectionError from fault
    await response.write_eof()
    return response


def _kind(kind: str | None) -> ConversationKind | None:
    return cast("Literal['voice', 'chat', 'pane'] | None", kind)


def _index(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise not_found()
    return int(text)
