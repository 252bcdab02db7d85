"""The client's end of a call that answers bit by bit."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from firmware_app.control.client import result_of, unreachable
from firmware_app.control.protocol import (
    LONGEST_ANSWER,
    Json,
    decode_answer,
    encode_request,
    socket_path,
)


async def stream(runtime: Path, name: str, /, **args: Json) -> AsyncGenerator[dict[str, Any], None]:
    """Yield {"event": ...} as they come and {"result": ...} last; closing it ends the call.

    Waits for each line as long as the service takes. Raises as call does.
    """
    path = socket_path(runtime)
    try:
        reader, writer = await asyncio.open_unix_connection(str(path), limit=LONGEST_ANSWER)
    except OSError as fault:
        raise unreachable(path, fault) from fault
    try:
        writer.write(encode_request(name, args))
        while True:
            try:
                answer = decode_answer(await reader.readline())
            except OSError as fault:
                raise unreachable(path, fault) from fault
            if "event" not in answer:
                yield {"result": result_of(answer)}
                return
            yield answer
    finally:
        writer.transport.abort()
