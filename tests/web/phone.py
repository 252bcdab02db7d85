"""A phone with a browser: a cookie jar, the page's origin, and every answer held to OpenAPI."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import jsonschema_rs

from firmware_app.web.openapi import DOCUMENT
from tests.conftest import PATIENCE
from tests.web.stand import OWNER, Stand


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Any
    body: Any  # as JSON, else as bytes

    @property
    def code(self) -> str:
        return str(self.body["code"])


@dataclass(frozen=True, slots=True)
class Told:
    id: str
    name: str
    data: Any


class Phone:
    def __init__(self, stand: Stand, session: aiohttp.ClientSession) -> None:
        self.stand = stand
        self.session = session
        self.origin = {"Origin": stand.url}

    async def ask(
        self,
        method: str,
        path: str,
        json: Any = None,  # noqa: ANN401
        **options: Any,  # noqa: ANN401
    ) -> Answer:
        headers = {**self.origin, **options.pop("headers", {})}
        if json is not None:
            options["json"] = json
        async with self.session.request(
            method, self.stand.url + path, headers=headers, ssl=False, **options
        ) as got:
            raw = await got.read()
        found = _parsed(raw, got.content_type if raw else "")
        answer = Answer(got.status, got.headers, found)
        check(method, path.partition("?")[0], answer, got.content_type)
        return answer

    async def get(self, path: str, **options: Any) -> Answer:  # noqa: ANN401
        return await self.ask("GET", path, **options)

    async def post(self, path: str, json: Any = None, **options: Any) -> Answer:  # noqa: ANN401
        return await self.ask("POST", path, {} if json is None else json, **options)

    async def put(self, path: str, json: Any, **options: Any) -> Answer:  # noqa: ANN401
        return await self.ask("PUT", path, json, **options)

    async def pair(self, owner: str = OWNER, name: str = "phone") -> Answer:
        answer = await self.post("/api/pair", {"code": self.stand.code(owner), "name": name})
        assert answer.status == 204, answer.body
        return answer

    @asynccontextmanager
    async def follow(self, last_id: str = "") -> AsyncIterator["Follow"]:
        headers = {"Accept": "text/event-stream", **self.origin}
        if last_id:
            headers["Last-Event-ID"] = last_id
        async with self.session.get(
            f"{self.stand.url}/api/live", headers=headers, ssl=False
        ) as response:
            assert response.status == 200
            yield Follow(response)


class Follow:
    """The live events of one stream, as they come."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.seen: list[Told] = []

    async def next(self, seconds: float = PATIENCE) -> Told:
        """The next event. Raises TimeoutError, EOFError."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(seconds):
            while line := await self.response.content.readline():
                text = line.decode().rstrip("\n")
                if not text and "event" in fields:
                    told = Told(fields.get("id", ""), fields["event"], json.loads(fields["data"]))
                    self.seen.append(told)
                    return told
                name, _, value = text.partition(": ")
                fields[name] = value
        raise EOFError

    async def until(self, name: str, /, **data: Any) -> Told:  # noqa: ANN401
        """The first event of that name and with these values."""
        while True:
            told = await self.next()
            if told.name == name and data.items() <= told.data.items():
                return told

    async def ended(self, seconds: float = PATIENCE) -> bool:
        """Whether nothing more comes: the stream was ended."""
        try:
            while True:
                await self.next(seconds)
        except (EOFError, aiohttp.ClientError):
            return True
        except TimeoutError:
            return False


def _parsed(raw: bytes, content_type: str) -> Any:  # noqa: ANN401
    return json.loads(raw) if "json" in content_type else raw


def check(method: str, path: str, answer: Answer, content_type: str) -> None:
    """An answer of the API is as the description says."""
    operation = operation_of(method, path)
    if operation is None or method == "HEAD":
        return
    response = operation["responses"].get(str(answer.status))
    assert response, f"{method} {path} answered {answer.status}, which is not described"
    content = response.get("content", {})
    if answer.status == 204:
        assert answer.body == b""
        return
    assert content_type in content, f"{method} {path} answered with {content_type}"
    schema = content[content_type].get("schema")
    if schema and "json" in content_type:
        whole = {**schema, "components": DOCUMENT["components"]}
        jsonschema_rs.validator_for(whole).validate(answer.body)


def operation_of(method: str, path: str) -> Any:  # noqa: ANN401
    for template, operations in DOCUMENT["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            found = operations.get(method.lower())
            if found and ("{" not in template or path not in DOCUMENT["paths"]):
                return found
    return None
