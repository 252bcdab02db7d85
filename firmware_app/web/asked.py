"""What a request asks: its query and its JSON, checked before anybody acts on it."""

import asyncio
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, NoReturn, TypeVar

from aiohttp import web

from firmware_app.web.problems import WebError, too_large

T = TypeVar("T")

LONGEST_BODY = 64 * 1024  # bytes
SECONDS_TO_SEND = 10.0  # for the body of a request
LARGEST = 2**53 - 1  # the greatest whole number that every browser keeps exactly
_UNFIT = re.compile("[\x00\ud800-\udfff]")  # what no text holds: NUL and halves of characters
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Fields:
    """Named values of a request; each is taken once, and none may be left over."""

    def __init__(self, values: Mapping[str, Any], known: Collection[str]) -> None:
        for name in values:
            if name not in known:
                raise invalid("The request has a field too many.", f"Known: {', '.join(known)}.")
        self._values = values

    def text(self, name: str, longest: int, *, shortest: int = 0) -> str:
        return self._sized(name, self._needed(name), longest, shortest)

    def optional_text(self, name: str, longest: int) -> str | None:
        value = self._values.get(name)
        return None if value is None else self._sized(name, value, longest, 1)

    def number(self, name: str) -> int:
        value = self._needed(name)
        if type(value) is not int or not 0 <= value <= LARGEST:
            self._wrong(name, "a whole number")
        return int(value)

    def truth(self, name: str) -> bool:
        return self._truth(name, self._needed(name))

    def optional_truth(self, name: str) -> bool | None:
        value = self._values.get(name)
        return None if value is None else self._truth(name, value)

    def choice(self, name: str, choices: Collection[str]) -> str:
        value = self.optional_choice(name, choices)
        return self._needed(name) if value is None else value

    def optional_choice(self, name: str, choices: Collection[str]) -> str | None:
        value = self._values.get(name)
        if value is not None and (not isinstance(value, str) or value not in choices):
            self._wrong(name, f"one of {', '.join(choices)}")
        return value

    def items(self, name: str, most: int) -> list[Any]:
        value = self._needed(name)
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            self._wrong(name, f"a list of one to {most}")
        return list(value)

    def scalar(self, name: str) -> bool | int | float | str:
        value = self._needed(name)
        if not isinstance(value, bool | int | float | str):
            self._wrong(name, "true or false, a number, or text")
        scalar: bool | int | float | str = value
        return scalar

    def _needed(self, name: str) -> Any:  # noqa: ANN401 - JSON
        if self._values.get(name) is None:
            raise invalid(f'The request needs "{name}".')
        return self._values[name]

    def _truth(self, name: str, value: object) -> bool:
        if not isinstance(value, bool):
            self._wrong(name, "true or false")
        return value is True

    def _sized(self, name: str, value: object, longest: int, shortest: int) -> str:
        if not isinstance(value, str) or not shortest <= len(value) <= longest:
            self._wrong(name, f"text of {shortest} to {longest} characters")
        return str(value)

    @staticmethod
    def _wrong(name: str, right: str) -> NoReturn:
        raise invalid(f'"{name}" must be {right}.')


def invalid(what: str, mend: str = "Load the page anew.") -> WebError:
    return WebError("invalid", what, mend, status=422)


async def body(request: web.Request, *known: str) -> Fields:
    """The JSON object of a request; an empty body is an empty one."""
    raw = await _raw(request)
    if request.content_type != "application/json" and raw:
        raise WebError("not-json", "The request is not JSON.", "Send application/json.", status=415)
    try:
        found = json.loads(raw.decode() or "{}", parse_constant=_no_constant)
        _check_texts(found)
    except (ValueError, RecursionError) as fault:
        raise WebError(
            "not-json", "The request is not JSON.", "Load the page anew.", status=400
        ) from fault
    if not isinstance(found, dict):
        raise invalid("The request is not a JSON object.")
    return Fields(found, known)


async def nothing(request: web.Request) -> None:
    """For requests that say all with their address: an empty body, or an empty object."""
    await body(request)


def query(request: web.Request, *known: str) -> Fields:
    values: dict[str, Any] = {}
    for name, value in request.query.items():
        if name in values:
            raise invalid("The address names something twice.")
        values[name] = value
    _check_texts(values)
    return Fields(values, known)


def whole(fields: Fields, name: str, *, at_most: int, default: T) -> int | T:
    """A positive number of the query, where it is there."""
    text = fields.optional_text(name, 20)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,16}", text) or not 1 <= int(text) <= at_most:
        raise invalid(f'"{name}" must be a whole number from 1 to {at_most}.')
    return int(text)


def uuid(request: web.Request, name: str = "uuid") -> str:
    """A conversation's name out of the path; what cannot be one is not found."""
    value = request.match_info[name]
    if not _UUID.fullmatch(value):
        raise no_conversation()
    return value


def is_uuid(text: str) -> bool:
    return bool(_UUID.fullmatch(text))


def no_conversation() -> WebError:
    return WebError(
        "no-conversation",
        "There is no such conversation.",
        "Look at the list of those there are.",
        status=404,
    )


async def _raw(request: web.Request) -> bytes:
    if "Content-Encoding" in request.headers:
        raise WebError("not-json", "The request is compressed.", "Send it as it is.", status=415)
    if (request.content_length or 0) > LONGEST_BODY:
        raise too_large()
    try:
        async with asyncio.timeout(SECONDS_TO_SEND):
            return await request.read()
    except TimeoutError as fault:
        raise WebError(
            "too-slow",
            "The request took too long to arrive.",
            "Try again.",
            status=408,
            headers={"Connection": "close"},
        ) from fault


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check_texts(value: object) -> None:
    """Raises WebError, and RecursionError for what is nested too deeply."""
    if isinstance(value, str):
        if _UNFIT.search(value):
            raise invalid("The request has characters that no text holds.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_texts(key)
            _check_texts(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_texts(inner)
