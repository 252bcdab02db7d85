"""The description of the API: /api/openapi.json. Tests hold it against the routes and answers."""

from typing import Any, TypeAlias

from aiohttp import web

from firmware_app import __version__
from firmware_app.events import Mode, Saved, State, Status
from firmware_app.web.answers import answer
from firmware_app.web.asked import LARGEST
from firmware_app.web.chats import FORMATS, IMAGES, KINDS, LONGEST_SEARCH, MOST
from firmware_app.web.live import EVENTS
from firmware_app.web.pairings import LONGEST_NAME
from firmware_app.web.problems import MEDIA_TYPE
from firmware_app.web.settings import SHOWN
from firmware_app.web.voice import LONGEST_MESSAGE, MOST_PARTS

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
TRUTH: Schema = {"type": "boolean"}
TIME: Schema = {"type": ["number", "null"], "description": "wall clock, seconds; null: unknown"}
UUID: Schema = {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}
SCALAR: Schema = {"type": ["boolean", "number", "string"]}


def _enum(values: Any) -> Schema:  # noqa: ANN401 - an enumeration, or texts
    return {"type": "string", "enum": [str(value) for value in values]}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(optional: Schema | None = None, /, **needed: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {**needed, **(optional or {})},
        "required": list(needed),
        "additionalProperties": False,
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_CHAT: Schema = {
    "uuid": UUID,
    "number": WHOLE,
    "kind": _enum(KINDS),
    "title": TEXT,
    "state": _enum(("active", "ended", "interrupted")),
    "incomplete": TRUTH,
    "continued": TRUTH,
    "interrupted": TRUTH,
    "created": TIME,
    "updated": TIME,
    "entries": WHOLE,
    "first_words": TEXT,
}
_ENTRY: Schema = {
    "number": WHOLE,
    "kind": _enum(("user", "assistant", "tool", "action", "notice")),
    "text": TEXT,
    "status": _enum(Status),
    "input_mode": _or_null(_enum(Mode)),
    "created": TIME,
    "confidence": {"type": ["number", "null"]},
}
_FULL_CHAT: Schema = {
    **_CHAT,
    "missing": TEXT,
    "usage": {"type": "object"},
    "cost": {"type": ["number", "null"]},
    "currency": TEXT,
}
_LIGHT: Schema = {
    "state": _enum(State),
    "microphone_closed": TRUTH,
    "muted": TRUTH,
    "mode": _enum(Mode),
}

SCHEMAS: Schema = {
    "Problem": {
        **_object(
            {"last_id": WHOLE},
            type=TEXT,
            title=TEXT,
            status=WHOLE,
            detail=TEXT,
            code=TEXT,
            mend=TEXT,
        )
    },
    "Session": _object(
        {"owner": TEXT, "name": TEXT},
        paired=TRUTH,
        secure=TRUTH,
        needs=_or_null(_enum(["pairing"])),
        language=TEXT,
    ),
    "Status": _object(
        {
            "detail": TEXT,
            "saved": _enum(Saved),
            "ringing": _or_null(TEXT),
            "address": TEXT,
        },
        version=TEXT,
        **_LIGHT,
    ),
    "Pairing": _object(
        id=WHOLE, name=TEXT, owner=TEXT, created=TIME, last_used=TIME, current=TRUTH
    ),
    "Chat": _object(**_CHAT),
    "Chats": _object(chats=_list(_ref("Chat")), more=TRUTH),
    "Latest": _object(chats=_list(_ref("Chat"))),
    "Thread": _object(
        chat=_object(**_FULL_CHAT),
        entries=_list(_object({"tool": {}}, **_ENTRY, images=_list(WHOLE))),
        more=TRUTH,
    ),
    "Results": _object(
        results=_list(
            _object(
                uuid=UUID,
                title=TEXT,
                kind=_enum(KINDS),
                entry=WHOLE,
                created=TIME,
                snippet=_list(
                    {
                        "type": "array",
                        "prefixItems": [TEXT, TRUTH],
                        "minItems": 2,
                        "maxItems": 2,
                        "description": "a piece, and whether it was searched for",
                    }
                ),
            )
        )
    ),
    "Deleted": _object(copies=_list(TEXT), erased=TRUTH),
    "Preview": _object(entries=WHOLE, images=WHOLE, characters=WHOLE, first=TIME, last=TIME),
    "Begun": _object(conversation=UUID, ready=TRUTH),
    "LiveConversation": _object(
        uuid=UUID,
        kind=_enum(KINDS),
        title=TEXT,
        begun=TRUTH,
        continued=TRUTH,
        saved=_enum(Saved),
        last_number=WHOLE,
        entries=_list(_object(**_ENTRY, saved=TRUTH)),
        more=TRUTH,
        reply=_or_null(TEXT),
    ),
    "Message": _object(number=WHOLE),
    "Settings": _object(
        settings=_list(
            _object(
                {"choices": _list(TEXT), "at_least": SCALAR, "at_most": SCALAR},
                name=_enum(SHOWN),
                value=SCALAR,
                doc=TEXT,
                changeable=TRUTH,
                restart=TRUTH,
                layer=TEXT,
            )
        )
    ),
}

_REFUSALS = {
    "400": "The request makes no sense.",
    "401": "The phone is not paired.",
    "403": "It may not be asked so.",
    "404": "There is no such thing, or it is somebody else's.",
    "406": "It is not to be had in that form.",
    "408": "The request took too long to arrive.",
    "409": "Something else stands in the way.",
    "413": "It is more than is taken at once.",
    "415": "It is of a kind that is not taken.",
    "421": "Echo does not go by that name.",
    "422": "A value is not what it must be.",
    "429": "It was asked too often.",
    "503": "Echo cannot at the moment.",
    "507": "The history is not saving.",
}


def _body(optional: Schema | None = None, /, **needed: Schema) -> Schema:
    schema = _object(optional, **needed)
    return {"required": bool(needed), "content": {"application/json": {"schema": schema}}}


def _query(**schemas: Schema) -> list[Schema]:
    return [{"name": name, "in": "query", "schema": schema} for name, schema in schemas.items()]


def _path(**schemas: Schema) -> list[Schema]:
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in schemas.items()
    ]


def _json(name: str, what: str = "As asked.") -> Schema:
    return {"description": what, "content": {"application/json": {"schema": _ref(name)}}}


def _operation(
    summary: str,
    answers: Schema,
    parameters: list[Schema] | None = None,
    body: Schema | None = None,
    *,
    unpaired: bool = False,
) -> Schema:
    problem = {MEDIA_TYPE: {"schema": _ref("Problem")}}
    refusals = {
        status: {"description": what, "content": problem} for status, what in _REFUSALS.items()
    }
    return {
        "summary": summary,
        "responses": {**answers, **refusals},
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": body} if body else {}),
        **({"security": []} if unpaired else {}),
    }


_DONE: Schema = {"204": {"description": "It is done."}}
_BEFORE: Schema = {"type": "integer", "minimum": 1, "maximum": LARGEST}
_PAGING = {"before": _BEFORE, "limit": {"type": "integer", "minimum": 1, "maximum": MOST}}
_KEY: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"}
_ONE = _path(uuid=UUID)
_MESSAGES = "/api/voice/sessions/current/messages"
_PART: Schema = _object(type=_enum(["text"]), text={"type": "string", "maxLength": LONGEST_MESSAGE})

PATHS: Schema = {
    "/healthz": {
        "get": _operation(
            "Whether the server answers",
            {"200": {"description": "It does.", "content": {"text/plain": {"schema": TEXT}}}},
            unpaired=True,
        )
    },
    "/api/openapi.json": {
        "get": _operation(
            "This description",
            {
                "200": {
                    "description": "OpenAPI 3.1.",
                    "content": {"application/json": {"schema": {"type": "object"}}},
                }
            },
        )
    },
    "/api/session": {
        "get": _operation("Whether this phone is paired", {"200": _json("Session")}, unpaired=True)
    },
    "/api/status": {
        "get": _operation(
            "What the light shows, and more for paired phones",
            {"200": _json("Status")},
            unpaired=True,
        )
    },
    "/api/pair": {
        "post": _operation(
            "Pair this phone with a code; sets the session cookie",
            _DONE,
            body=_body(
                {"name": {"type": ["string", "null"], "minLength": 1, "maxLength": LONGEST_NAME}},
                code={"type": "string", "maxLength": 20},
            ),
            unpaired=True,
        )
    },
    "/api/unpair": {"post": _operation("Forget this phone", _DONE)},
    "/api/pairings": {
        "get": _operation(
            "The paired phones of this owner",
            {
                "200": {
                    "description": "The one used last comes first.",
                    "content": {"application/json": {"schema": _list(_ref("Pairing"))}},
                }
            },
        )
    },
    "/api/pairings/{id}": {
        "delete": _operation(
            "Shut a phone out, at once",
            _DONE,
            _path(id={"type": "integer", "minimum": 0, "maximum": 10**15 - 1}),
        )
    },
    "/api/chats": {
        "get": _operation(
            "Conversations, newest first by creation number",
            {"200": _json("Chats")},
            _query(**_PAGING, kind=_enum(KINDS)),
        )
    },
    "/api/chats/latest": {
        "get": _operation(
            "Spoken and typed conversations, the one with the latest entry first",
            {"200": _json("Latest")},
            _query(limit=_PAGING["limit"]),
        )
    },
    "/api/chats/search": {
        "post": _operation(
            "Conversations in which the words were said, newest first",
            {"200": _json("Results")},
            body=_body(
                {"kind": _or_null(_enum(KINDS))},
                q={"type": "string", "maxLength": LONGEST_SEARCH},
            ),
        )
    },
    "/api/chats/{uuid}": {
        "get": _operation(
            "A conversation and its newest entries, or those before a number",
            {"200": _json("Thread")},
            [*_ONE, *_query(**_PAGING)],
        ),
        "patch": _operation(
            "Rename it", _DONE, _ONE, _body(title={"type": "string", "maxLength": 500})
        ),
        "delete": _operation(
            "Delete it for good; names the copies on the box that still hold it",
            {"200": _json("Deleted")},
            _ONE,
        ),
    },
    "/api/chats/{uuid}/export": {
        "get": _operation(
            "The conversation as a file",
            {
                "200": {
                    "description": "An attachment.",
                    "content": {
                        of: {"schema": TEXT if of != "application/json" else {"type": "object"}}
                        for of in FORMATS.values()
                    },
                }
            },
            [
                *_ONE,
                {
                    "name": "format",
                    "in": "query",
                    "required": True,
                    "schema": _enum(FORMATS),
                },
            ],
        )
    },
    "/api/chats/{uuid}/export/preview": {
        "get": _operation("What an export would hold", {"200": _json("Preview")}, _ONE)
    },
    "/api/chats/{uuid}/entries/{number}/images/{part}": {
        "get": _operation(
            "A picture of an entry",
            {
                "200": {
                    "description": "Its bytes.",
                    "content": {mime: {} for mime in sorted(IMAGES)},
                }
            },
            _path(
                uuid=UUID,
                number={"type": "integer", "minimum": 0, "maximum": 999_999_999},
                part={"type": "integer", "minimum": 0, "maximum": 999_999_999},
            ),
        )
    },
    "/api/voice/sessions": {
        "post": _operation(
            "Open a conversation: an old one (chat), another one (new), or the open one",
            {"200": _json("Begun"), "202": _json("Begun", "When the reply is answered.")},
            body=_body(
                {
                    "chat": _or_null(UUID),
                    "new": _or_null(TRUTH),
                    "save": _or_null(TRUTH),
                    "mode": _or_null(_enum(Mode)),
                }
            ),
        )
    },
    "/api/voice/sessions/current": {
        "get": _operation(
            "The open conversation from memory, saved or not",
            {"200": _json("LiveConversation")},
            _query(before=_BEFORE),
        )
    },
    _MESSAGES: {
        "post": _operation(
            "Type a message; one message for one key, numbered after the last",
            {"202": _json("Message", "It is accepted.")},
            body=_body(
                number={"type": "integer", "minimum": 0, "maximum": LARGEST},
                key=_KEY,
                parts={
                    "type": "array",
                    "items": _PART,
                    "minItems": 1,
                    "maxItems": MOST_PARTS,
                },
            ),
        )
    },
    f"{_MESSAGES}/{{key}}": {
        "get": _operation(
            "Whether the message with this key arrived",
            {"200": _json("Message")},
            _path(key=_KEY),
        )
    },
    "/api/voice/stop": {"post": _operation("Stop the reply, and what rings", _DONE)},
    "/api/voice/mode": {
        "put": _operation("Talk by voice, or by text alone", _DONE, body=_body(mode=_enum(Mode)))
    },
    "/api/voice/mute": {
        "put": _operation("Close the microphone, or open it", _DONE, body=_body(muted=TRUTH))
    },
    "/api/voice/false-wake": {"post": _operation("The last wake-up was not meant for Echo", _DONE)},
    "/api/settings": {
        "get": _operation("The settings that the page shows", {"200": _json("Settings")})
    },
    "/api/settings/{name}": {
        "put": _operation(
            "Change one that may be changed so", _DONE, _path(name=TEXT), _body(value=SCALAR)
        )
    },
    "/api/live": {
        "get": _operation(
            "What happens, as Server-Sent Events; Last-Event-ID goes on after a gap",
            {
                "200": {
                    "description": f"Without an end. Events: {', '.join(EVENTS)}.",
                    "content": {"text/event-stream": {"schema": TEXT}},
                }
            },
            [
                *_query(last_id={"type": "string", "minLength": 1, "maxLength": 40}),
                {"name": "Last-Event-ID", "in": "header", "schema": TEXT},
            ],
        )
    },
}

DOCUMENT: Schema = {
    "openapi": "3.1.0",
    "info": {
        "title": "Hey Echo",
        "version": __version__,
        "description": "Changes must come from the page itself: Origin or Sec-Fetch-Site say so.",
    },
    "security": [{"session": []}],
    "paths": PATHS,
    "components": {
        "schemas": SCHEMAS,
        "securitySchemes": {
            "session": {
                "type": "apiKey",
                "in": "cookie",
                "name": "hey-echo-8080",
                "description": "Named by the port; __Host- stands before it where there is TLS.",
            }
        },
    },
}


class OpenApi:
    def routes(self) -> list[web.RouteDef]:
        return [web.get("/api/openapi.json", self._document, allow_head=False)]

    async def _document(self, request: web.Request) -> web.Response:
        return answer(DOCUMENT)
