import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from firmware_app.control import stats_calls
from firmware_app.control.config_calls import ConfigCalls
from firmware_app.control.protocol import Json
from firmware_app.control.server import Call, ControlServer
from firmware_app.settings_layers import Loaded
from firmware_app.traces import Traces
from tests.commands import Run, runner
from tests.conftest import PATIENCE


class Box:
    """Folders and a config file that every command run here uses."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "config.toml"
        self.state = folder / "state"
        self.runtime = folder / "run"
        self.changed = self.state / "settings.toml"
        self.traces = Traces()
        self.heard: list[Loaded] = []

    @contextmanager
    def service(self) -> Iterator[None]:
        """The part of the running service that commands call."""
        loop = asyncio.new_event_loop()
        server = ControlServer(self.runtime)
        ConfigCalls(self.heard.append).register(server)
        stats_calls.register(server, self.traces)

        async def status(call: Call) -> Json:
            return {"state": "idle", "recogniser": "whisper tiny.en", "muted": False}

        server.handle("status", status)
        loop.run_until_complete(server.open())
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(server.close(), loop).result(PATIENCE)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    with TemporaryDirectory(prefix="echo-") as name:
        made = Box(Path(name))
        made.config.write_text("# mine\n")
        monkeypatch.setenv("HEY_ECHO_CONFIG", str(made.config))
        monkeypatch.setenv("HEY_ECHO_PATHS_STATE", str(made.state))
        monkeypatch.setenv("HEY_ECHO_PATHS_RUNTIME", str(made.runtime))
        monkeypatch.delenv("HEY_ECHO_LOG_LEVEL", raising=False)
        yield made


@pytest.fixture
def hey_echo(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)
