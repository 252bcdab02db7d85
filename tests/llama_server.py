"""The llama.cpp server that the package brings, with the packaged model."""

import asyncio
import importlib.util
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from firmware_app import models as catalogue
from firmware_app.engines import openai
from firmware_app.settings import Settings

needs_server = pytest.mark.skipif(
    importlib.util.find_spec("uvicorn") is None,
    reason="llama-cpp-python's server is not installed (extra: server)",
)

START_SECONDS = 180.0
ANSWER_SECONDS = 240.0  # that a busy machine may think


@asynccontextmanager
async def llama_server(context: int, *arguments: str) -> AsyncIterator[str]:
    """Base address of a server with SmolLM2 on a free port; context: in tokens."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "llama_cpp.server"),
        *("--model", str(catalogue.find("llama", "", Settings())), "--model_alias", "smollm2"),
        *("--host", "127.0.0.1", "--port", "0", "--n_threads", "1", "--n_ctx", str(context)),
        *arguments,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    drained = None
    try:
        async with asyncio.timeout(START_SECONDS):
            found = None
            while not found:
                line = (await process.stderr.readline()).decode(errors="replace")
                assert line, "the server ended before it listened"
                found = re.search(r"running on (http://\S+)", line)
        drained = asyncio.create_task(process.stderr.read())
        with pytest.MonkeyPatch.context() as patience:
            for name in ("CONNECT_SECONDS", "FIRST_TOKEN_SECONDS", "NEXT_TOKEN_SECONDS"):
                patience.setattr(openai, name, ANSWER_SECONDS)
            yield found[1]
    finally:
        process.kill()
        await process.wait()
        if drained:
            await drained
