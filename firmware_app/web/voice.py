"""The open conversation: begun, carried on, typed into, stopped; mode and mute of the box."""

import re
from typing import Any

from aiohttp import web

from firmware_app.dialogue.live import Live, LiveConversation, LiveEntry
from firmware_app.events import Mode
from firmware_app.web.answers import answer, done
from firmware_app.web.asked import (
    LARGEST,
    Fields,
    body,
    invalid,
    is_uuid,
    no_conversation,
    nothing,
    query,
    whole,
)
from firmware_app.web.entries import entry_json
from firmware_app.web.parts import Parts
from firmware_app.web.problems import WebError
from firmware_app.web.security import owner_of

ENTRIES = 50  # in a page of the open conversation
MOST_PARTS = 16
LONGEST_MESSAGE = 4000  # characters
_KEY = re.compile(r"[A-Za-z0-9_-]{8,64}")
_MODES = tuple(mode.value for mode in Mode)


def conversation_json(conversation: LiveConversation) -> dict[str, Any]:
    return {
        "uuid": conversation.uuid,
        "kind": conversation.kind,
        "title": conversation.title,
        "begun": conversation.begun,
        "continued": conversation.continued,
        "saved": conversation.saved,
        "last_number": conversation.last_number,
        "entries": [_entry(entry) for entry in conversation.entries],
        "more": conversation.more,
        "reply": conversation.reply,
    }


class Voice:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def _live(self) -> Live:
        return self._parts.live

    def routes(self) -> list[web.RouteDef]:
        current = "/api/voice/sessions/current"
        return [
            web.post("/api/voice/sessions", self._begin),
            web.get(current, self._current, allow_head=False),
            web.post(f"{current}/messages", self._send),
            web.get(f"{current}/messages/{{key}}", self._arrived, allow_head=False),
            web.post("/api/voice/stop", self._stop),
            web.put("/api/voice/mode", self._mode),
            web.put("/api/voice/mute", self._mute),
            web.post("/api/voice/false-wake", self._false_wake),
        ]

    async def _begin(self, request: web.Request) -> web.Response:
        fields = await body(request, "chat", "new", "save", "mode")
        chat = fields.optional_text("chat", 64)
        if chat is not None and not is_uuid(chat):
            raise no_conversation()
        mode = fields.optional_choice("mode", _MODES)
        new = fields.optional_truth("new") or False
        if chat and new:
            raise invalid('"chat" and "new" exclude each other.')
        begun = await self._live.begin(
            owner_of(request),
            chat=chat,
            new=new,
            save=fields.optional_truth("save"),
            mode=Mode(mode) if mode else None,
        )
        return answer(
            {"conversation": begun.conversation, "ready": begun.ready}, 200 if begun.ready else 202
        )

    async def _current(self, request: web.Request) -> web.Response:
        before = whole(query(request, "before"), "before", at_most=LARGEST, default=None)
        return answer(conversation_json(self._live.current(owner_of(request), before, ENTRIES)))

    async def _send(self, request: web.Request) -> web.Response:
        fields = await body(request, "number", "key", "parts")
        key = fields.text("key", 64)
        if not _KEY.fullmatch(key):
            raise invalid('"key" must be 8 to 64 letters, digits, hyphens or underscores.')
        number = fields.number("number")
        text = _text(fields.items("parts", MOST_PARTS))
        taken = await self._live.send(owner_of(request), number, key, text)
        return answer({"number": taken}, 202)

    async def _arrived(self, request: web.Request) -> web.Response:
        key = request.match_info["key"]
        number = None
        if _KEY.fullmatch(key):
            number = await self._live.arrived(owner_of(request), key)
        if number is None:
            raise WebError(
                "no-message",
                "Echo knows no message with that key.",
                "See whether it is there.",
                status=404,
            )
        return answer({"number": number})

    async def _stop(self, request: web.Request) -> web.Response:
        await nothing(request)
        self._live.stop()
        return done()

    async def _mode(self, request: web.Request) -> web.Response:
        fields = await body(request, "mode")
        await self._live.set_mode(Mode(fields.choice("mode", _MODES)), owner_of(request))
        return done()

    async def _mute(self, request: web.Request) -> web.Response:
        fields = await body(request, "muted")
        await self._live.set_muted(fields.truth("muted"))
        return done()

    async def _false_wake(self, request: web.Request) -> web.Response:
        await nothing(request)
        self._live.false_wake()
        return done()


def _entry(entry: LiveEntry) -> dict[str, Any]:
    return {**entry_json(entry, entry.confidence), "saved": entry.saved}


def _text(parts: list[Any]) -> str:
    """The texts of a message. Raises WebError for pictures: the assistant sees none."""
    texts = []
    for part in parts:
        if not isinstance(part, dict):
            raise invalid('"parts" must hold objects.')
        fields = Fields(part, ("type", "text") if part.get("type") == "text" else part.keys())
        if fields.text("type", 20) != "text":
            raise WebError(
                "text-only", "Echo takes text here, and nothing else.", "Write it.", status=422
            )
        texts.append(fields.text("text", LONGEST_MESSAGE))
    text = "\n".join(texts).strip()
    if not 1 <= len(text) <= LONGEST_MESSAGE:
        raise invalid(f"A message has 1 to {LONGEST_MESSAGE} characters.", "Write more, or less.")
    return text
