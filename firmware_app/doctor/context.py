"""What the checks look at: this box, or one that a test has made."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from firmware_app.device.board import Board, chosen, resolved
from firmware_app.doctor import Finding, failed, passed
from firmware_app.doctor.trial import Trial
from firmware_app.errors import EchoError, ServiceError, SettingsError
from firmware_app.folders import data_dir, runtime_dir, state_dir
from firmware_app.settings import AudioSettings, Settings
from firmware_app.settings_layers import Loaded, load

COMMAND_SECONDS = 5.0
LONGEST_FILE = 1 << 20  # bytes

Ask: TypeAlias = Callable[..., Any]


def nobody(name: str, **args: Any) -> Any:  # noqa: ANN401 - JSON, as the service answers
    """Stands for a service that does not run."""
    raise ServiceError(
        "not-running", "Echo is not running.", "Start it with: sudo systemctl start hey-echo"
    )


@dataclass(slots=True)
class Context:
    """The box, and how to reach it.

    ask: calls the running service; raises ServiceError where there is none. root: where /proc,
    /sys, /etc and /dev are. on_level: told the level of the microphone (dBFS) while it is measured.
    """

    loaded: Loaded
    fault: SettingsError | None = None  # why the settings are the defaults
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    root: Path = Path("/")
    ask: Ask = nobody
    now: Callable[[], float] = time.time
    uid: int = field(default_factory=os.geteuid)
    groups: Sequence[int] = field(default_factory=os.getgroups)
    on_level: Callable[[float], None] = lambda level: None
    vitals: dict[str, Any] | None = None  # what the running service says of itself
    refused: EchoError | None = None  # a service is there, and does not answer
    trial: Trial = field(init=False)

    def __post_init__(self) -> None:
        self.trial = Trial(self.settings)
        try:
            self.vitals = self.ask("doctor")
        except ServiceError as error:
            self.refused = None if error.code == "not-running" else error
        except EchoError as error:
            self.refused = error

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def board(self) -> Board:
        """The microphone board. Raises SettingsError where the settings name none that is known."""
        return chosen(self.settings.device.board, self.root)

    @property
    def audio(self) -> AudioSettings:
        """The sound settings, in which the board filled what was left to it."""
        try:
            return resolved(self.settings.audio, self.board)
        except SettingsError:  # the check of the board says so
            return self.settings.audio

    def told_of(self, part: str) -> Finding | None:
        """What the running service says of the light or the button; None where none runs."""
        if self.vitals is None:
            return None
        if fault := self.vitals.get("hardware_faults", {}).get(part):
            return failed(f"{fault['what']} [{fault['code']}]", fault["mend"])
        return passed(f"The running Echo uses it: {self.vitals.get(part, 'not yet')}.")

    @property
    def state(self) -> Path:
        return state_dir(self.settings, self.environ)

    @property
    def data(self) -> Path:
        return data_dir(self.settings, self.environ)

    @property
    def runtime(self) -> Path:
        return runtime_dir(self.settings, self.environ)

    def path(self, path: str) -> Path:
        """A path such as /proc/meminfo, under the root of this box."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str:
        """The text of a small system file; empty where it cannot be read."""
        try:
            with self.path(path).open(encoding="utf-8", errors="replace") as file:
                return file.read(LONGEST_FILE).strip()
        except OSError:
            return ""

    def command(self, *words: str) -> str | None:
        """What a system command prints; None where there is none, or it fails."""
        try:
            done = subprocess.run(
                words,
                env={**self.environ, "LC_ALL": "C"},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip() if done.returncode == 0 else None


def this_box(ask: Ask, on_level: Callable[[float], None]) -> Context:
    """The box that this runs on, with the defaults where its settings have a fault."""
    try:
        return Context(load(), ask=ask, on_level=on_level)
    except SettingsError as fault:
        return Context(Loaded(Settings(), {}), fault, ask=ask, on_level=on_level)


def existing(path: Path) -> Path:
    """The folder itself, or the nearest one above it that is there."""
    while not os.path.isdir(path) and path != path.parent:  # noqa: PTH112 - Path's may raise
        path = path.parent
    return path
