"""Conversations to read without JavaScript: a list, and a thread, as plain escaped HTML."""

from collections.abc import Iterable
from html import escape

from aiohttp import web

from firmware_app.errors import StorageError
from firmware_app.events import Status
from firmware_app.history.export import SPEAKERS, time_text
from firmware_app.history.faults import NoConversationError
from firmware_app.history.records import Conversation, Entry
from firmware_app.web.asked import LARGEST, query, uuid, whole
from firmware_app.web.parts import Parts
from firmware_app.web.security import PAIRING

PAGE = 50

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Echo</title>
<link rel="stylesheet" href="/static/style.css">
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
</head>
<body class="plain">
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""


class Plain:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/plain", self._list), web.get("/plain/{uuid}", self._thread)]

    async def _list(self, request: web.Request) -> web.Response:
        if PAIRING not in request:
            return _page(
                "Not paired",
                "<p>This phone is not paired with Echo. Pair it once with JavaScript switched on;"
                " after that this list can be read without.</p>",
                status=401,
            )
        before = whole(query(request, "before"), "before", at_most=LARGEST, default=None)
        try:
            found = await self._parts.store.conversations(request[PAIRING].owner, before, PAGE + 1)
        except StorageError as error:
            return _page("Conversations", f"<p>{escape(str(error))}</p>", status=503)
        shown = found[:PAGE]
        rows = "".join(map(_row, shown)) or "<li>Nothing yet.</li>"
        older = _older("/plain", shown[-1].seq) if len(found) > PAGE else ""
        return _page("Conversations", f'<ul class="chats">{rows}</ul>{older}')

    async def _thread(self, request: web.Request) -> web.Response:
        name = uuid(request)
        before = whole(query(request, "before"), "before", at_most=LARGEST, default=None)
        try:
            page = await self._parts.store.page(request[PAIRING].owner, name, before, PAGE)
        except NoConversationError:
            return _page("Not there", _to_list("There is no such conversation."), status=404)
        except StorageError as error:
            return _page("Not there", _to_list(str(error)), status=503)
        entries = "".join(map(_entry, page.entries))
        older = _older(f"/plain/{name}", page.before) if page.before else ""
        missing = page.conversation.missing
        return _page(
            page.conversation.title or "Untitled",
            _to_list(missing) + older + f'<ol class="thread">{entries}</ol>',
        )


def _page(title: str, body: str, status: int = 200) -> web.Response:
    text = _DOCUMENT.format(title=escape(title), body=body)
    return web.Response(
        body=text.encode(errors="replace"), content_type="text/html", charset="utf-8", status=status
    )


def _row(conversation: Conversation) -> str:
    title = escape(conversation.title or "Untitled")
    about = ", ".join(_marks(conversation))
    return (
        f'<li><a class="chat" href="/plain/{conversation.uuid}"><span class="about">'
        f'<span class="title">{title}</span><span class="meta">{about}</span></span></a></li>'
    )


def _marks(conversation: Conversation) -> Iterable[str]:
    yield time_text(conversation.created)
    yield {"voice": "spoken", "chat": "typed", "pane": "pane"}[conversation.kind]
    if conversation.state == "interrupted":
        yield "interrupted"
    if conversation.incomplete:
        yield "incomplete"


def _entry(entry: Entry) -> str:
    status = "" if entry.status is Status.COMPLETE else f" ({entry.status})"
    images = "".join(
        f'<img src="/api/chats/{entry.conversation}/entries/{entry.number}/images/{part}"'
        ' alt="Image">'
        for part, image in enumerate(entry.parts)
        if not isinstance(image, str)
    )
    return (
        f'<li class="entry {entry.kind}"><p class="who">{SPEAKERS[entry.kind]}{status},'
        f' {time_text(entry.created)}</p><p class="text">{escape(entry.text)}</p>{images}</li>'
    )


def _older(path: str, before: int) -> str:
    return f'<p><a href="{path}?before={before}">Older</a></p>'


def _to_list(sentence: str) -> str:
    return f'<p><a href="/plain">All conversations</a></p><p>{escape(sentence)}</p>'
