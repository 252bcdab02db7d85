"""A models folder, a server, and a disk that is too small."""

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_app.model_store import download as downloads
from firmware_app.model_store import place as places
from firmware_app.model_store.download import Wanted
from tests.conftest import IN_CI
from tests.models.server import Server, serving

SMALL_DISK = 3 << 20  # bytes


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "PAUSE_SECONDS", 0.01)
    for variable in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.upper(), raising=False)


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A real file system of 3 MB, of which nothing is held back."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        why = f"no small disk can be made here: {mounted.stderr.strip()}"
        if IN_CI:
            pytest.fail(why)
        pytest.skip(why)
    monkeypatch.setattr(places, "RESERVE", 0)
    try:
        yield folder
    finally:
        subprocess.run(["/bin/umount", str(folder)], check=True)


def wanted(data: bytes, name: str = "model.bin", *, sized: bool = True) -> Wanted:
    digest = hashlib.sha256(data).hexdigest()
    return Wanted(name, digest, bytes=len(data) if sized else 0, at_most=1 << 24)
