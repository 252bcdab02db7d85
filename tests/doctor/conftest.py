"""A box that a test can put into any state: its /proc and /sys, its commands, its service."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from firmware_app.doctor import Finding, all_checks
from firmware_app.doctor.context import Context, nobody
from firmware_app.errors import ServiceError
from firmware_app.settings_layers import Loaded, build

CHECKS = {check.name: check for check in all_checks()}

AWAKE: dict[str, Any] = {
    "process": 1,
    "running_for_seconds": 600,
    "awake": True,
    "fault": None,
    "devices": {
        name: {
            "ready": True,
            "text": f"The {name} is ready.",
            "error": None,
            "rate": rate,
            "channels": 1,
        }
        for name, rate in (("microphone", 16_000), ("loudspeaker", 48_000))
    },
    "overruns": 0,
    "dropped": 0,
    "underruns": 0,
    "model": "ready",
    "conversations": "saved",
    "history": "in order",
    "needs_restart": [],
    "memory_awake_kb": 500_000,
    "memory_kb": 510_000,
}


@dataclass
class Box:
    """Files under a root of its own, and what else a check may ask."""

    root: Path
    values: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)

    def file(self, path: str, text: str) -> Path:
        made = self.root / path.lstrip("/")
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text)
        return made

    def fake_command(self, name: str, prints: str, status: int = 0) -> None:
        """A program of that name, which is found before the real one."""
        made = self.file(f"/fake/{name}", f"#!/bin/sh\ncat <<'END'\n{prints}\nEND\nexit {status}\n")
        made.chmod(0o755)

    def service(self, **different: Any) -> None:  # noqa: ANN401 - JSON
        """A running service that says this of itself."""
        self.answers["doctor"] = AWAKE | different

    def ask(self, name: str, **args: Any) -> Any:  # noqa: ANN401 - JSON
        answer = self.answers.get(name)
        if answer is None:
            return nobody(name)
        if isinstance(answer, ServiceError):
            raise answer
        return answer

    def made(self) -> Context:
        values = {
            "paths.state": str(self.root / "state"),
            "paths.data": str(self.root / "data"),
            "paths.runtime": str(self.root / "run"),
        }
        return Context(
            Loaded(build(values | self.values), {}),
            environ={"PATH": f"{self.root}/fake:/usr/bin:/bin", **self.environ},
            root=self.root,
            ask=self.ask,
            **self.context,
        )

    def finds(self, name: str) -> Finding:
        return CHECKS[name].run(self.made())


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path / "box")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """small_disk(options) mounts a file system in memory; only root may."""
    mounted: list[Path] = []

    def mount(options: str = "size=1m") -> Path:
        place = tmp_path / f"disk{len(mounted)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("this user may not mount a file system")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", str(place)], check=True)  # noqa: S607
