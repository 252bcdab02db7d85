"""`kill -9` at many moments of an install, and two installs at once, as processes."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firmware_app.model_store.place import LOCK, PARTS
from firmware_app.models import recorded, verify
from firmware_app.settings import PathSettings, Settings
from tests.models.server import Server
from tests.models.test_archives import as_tar

NOISE = random.Random(7)
FILES = {"m/am/final.mdl": NOISE.randbytes(1_500_000)} | {
    f"m/graph/{number}.fst": NOISE.randbytes(40_000) for number in range(25)
}
KILLS = 50 if os.environ.get("HEY_ECHO_FULL") else 10


class Box:
    """Runs `hey-echo models install` of one model by hand, in processes."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.place = folder / "models"
        self.server = server
        self.settings = Settings(paths=PathSettings(models=str(self.place)))
        archive = as_tar(folder / "packed", FILES).read_bytes()
        self.size = len(archive)
        server.files["m.tar.gz"] = archive
        server.etags["m.tar.gz"] = '"1"'
        server.pace, server.pause = 1 << 16, 0.01
        (folder / "config.toml").touch()
        self._environment = {
            **os.environ,
            "HEY_ECHO_CONFIG": str(folder / "config.toml"),
            "HEY_ECHO_PATHS_MODELS": str(self.place),
            "HEY_ECHO_PATHS_STATE": str(folder / "state"),
            "PYTHONUNBUFFERED": "1",
        }
        self._command = [sys.executable, "-m", "firmware_app", "models", "install"]
        self._command += ["--kind", "recogniser", "--engine", "vosk"]
        self._command += ["--from", server.url("m.tar.gz")]
        self._command += ["--sha256", hashlib.sha256(archive).hexdigest()]

    def start(self, name: str = "m") -> subprocess.Popen[str]:
        # Where the tests run in a shell's background, an interrupt would be ignored.
        return subprocess.Popen(
            ["/usr/bin/env", "--default-signal=INT", *self._command, "--name", name],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self) -> None:
        process = self.start()
        said, _ = process.communicate(timeout=240)
        assert process.returncode == 0, said

    def whole_or_absent(self) -> bool:
        """Whether the model is there; what is there must be whole."""
        if not (self.place / "m").exists():
            return False
        assert recorded(self.place / "m")
        verify("m", self.settings)
        found = {path.name for path in (self.place / "m").rglob("*.fst")}
        assert len(found) == 25
        return True


@pytest.fixture
def box(tmp_path: Path, server: Server) -> Box:
    return Box(tmp_path, server)


def test_whenever_it_is_killed_nothing_half_is_there_and_the_next_run_goes_on(box: Box) -> None:
    began = time.monotonic()
    box.run()
    seconds = time.monotonic() - began
    assert box.whole_or_absent()
    for kill in range(KILLS):
        if (box.place / "m").exists():
            (box.place / "m").rename(box.place / ".fetch-away")
        process = box.start()
        time.sleep(seconds * (kill + 0.5) / KILLS)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        box.whole_or_absent()
    if not box.whole_or_absent():
        box.run()
    assert box.whole_or_absent()
    assert any(asked for _, asked in box.server.asked), "no run went on where another stopped"
    for leftover in box.place.iterdir():
        assert leftover.name in {"m", LOCK, PARTS} or leftover.name.startswith(".fetch-")
    assert box.server.sent < box.size * (KILLS + 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_politely_it_keeps_what_came(box: Box, number: signal.Signals) -> None:
    box.server.pause = 0.05
    process = box.start()
    while box.server.sent < box.size // 3:
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(number)
    said, _ = process.communicate(timeout=240)
    assert process.returncode != 0
    assert "Traceback" not in said
    assert not box.whole_or_absent()
    before = box.server.sent
    box.run()
    assert box.server.sent - before < box.size * 0.9


def test_two_at_once_wait_for_each_other(box: Box) -> None:
    box.server.pause = 2.0
    first = box.start("one")
    while not box.server.sent:
        time.sleep(0.01)
        assert first.poll() is None
    second = box.start("two")
    assert second.stdout
    assert any("waiting for process" in line for line in second.stdout)
    box.server.pause = 0.0
    said = [process.communicate(timeout=240)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], said
    for name in ("one", "two"):
        verify(name, box.settings)


def test_of_two_that_want_the_same_the_second_is_told(box: Box) -> None:
    first, second = box.start(), box.start()
    said = [process.communicate(timeout=240)[0] for process in (first, second)]
    assert sorted([first.returncode, second.returncode]) == [0, 2], said
    assert any("There is a model m already" in each for each in said)
    assert box.whole_or_absent()
