from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from firmware_app.control.server import ControlServer


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A folder that other users may enter; its path is short, as a socket's must be."""
    with TemporaryDirectory(prefix="echo-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
async def server(runtime: Path) -> AsyncIterator[ControlServer]:
    made = ControlServer(runtime)
    await made.open()
    yield made
    await made.close()
