"""Answers in JSON."""

import json
from typing import Any

from aiohttp import web


def encode(value: Any) -> bytes:  # noqa: ANN401 - whatever JSON can say
    """Half characters, which old entries may hold, become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def answer(value: Any, status: int = 200) -> web.Response:  # noqa: ANN401 - JSON
    return web.Response(body=encode(value), status=status, content_type="application/json")


def done() -> web.Response:
    return web.Response(status=204)
