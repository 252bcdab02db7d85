"""How the running service is: what `hey-echo status` and `hey-echo doctor` are told."""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from firmware_app import __version__
from firmware_app.app import Echo, array_of
from firmware_app.audio.alsa import DeviceState
from firmware_app.audio.array import Array
from firmware_app.audio.echo import EchoCancelled
from firmware_app.audio.level import GainWatch, LevelMeter
from firmware_app.audio.loudspeaker import AlsaSink
from firmware_app.audio.microphone import AlsaSource
from firmware_app.control import doctor_calls
from firmware_app.control.protocol import Json, describe
from firmware_app.device.board import resolved
from firmware_app.device.hardware import Hardware
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.live import not_awake
from firmware_app.engines import Engines
from firmware_app.engines.openai import where_words_go
from firmware_app.errors import EchoError, EngineError
from firmware_app.events import State
from firmware_app.settings import AudioSettings, Settings

LOADING_SECONDS = 180.0  # that engines may take to load from a slow card


@dataclass(slots=True)
class Condition:
    """Kept up to date by the parts of the service; read by its calls.

    settings: those in force. echo, engines: at work, or None. fault: why Echo cannot be awake.
    """

    settings: Callable[[], Settings]
    waiting: Callable[[], list[str]]  # names of settings that wait for a restart
    keeper: Keeper
    meter: LevelMeter = field(default_factory=LevelMeter)
    gain: GainWatch = field(default_factory=GainWatch)
    echo: Echo | None = None
    engines: Engines | None = None
    fault: EchoError | None = None
    devices: dict[str, DeviceState] = field(default_factory=dict)
    source: AlsaSource | None = None
    sink: AlsaSink | None = None
    hardware: Hardware | None = None
    model: str = "starting"
    history: str = "not opened yet"
    awake_kb: int = 0  # memory once everything was loaded
    loading_since: float = field(default_factory=time.monotonic)
    _heard: int = 0  # samples, when the watchdog was last fed
    started: float = field(default_factory=time.time)

    @property
    def audio(self) -> AudioSettings:
        """The sound settings, in which the board filled what was left to it."""
        audio = self.settings().audio
        return resolved(audio, self.hardware.board) if self.hardware else audio

    @property
    def array(self) -> Array | None:
        """The board's raw microphones, where they are listened to."""
        return array_of(self.audio, self.hardware.board) if self.hardware else None

    def awake(self) -> Echo:
        """Echo at work. Raises ServiceError while it is not."""
        if self.echo is None:
            raise not_awake(self.fault)
        return self.echo

    def capture(self, wanted: bool) -> None:
        """Open the microphone, or close it; where there is none yet, it is made so."""
        if self.source and wanted:
            self.source.open_capture()
        elif self.source:
            self.source.close_capture()

    def idle_engines(self) -> tuple[Engines, str]:
        """The engines and the language, while nobody talks with Echo. Raises ServiceError."""
        if self.awake().dialogue.busy or self.engines is None:
            raise doctor_calls.busy()
        return self.engines, self.settings().language

    def alive(self) -> bool:
        """Whether sound came in since the last call, or it is known why not."""
        microphone = self.devices.get("microphone")
        if self.fault or (microphone and not microphone.ready):
            return True
        if self.echo is None:
            return time.monotonic() - self.loading_since < LOADING_SECONDS
        before, self._heard = self._heard, self.meter.samples
        return self._heard != before

    @property
    def state(self) -> State:
        if self.fault:
            return State.ERROR
        return self.echo.dialogue.state if self.echo else State.STARTING

    def status(self) -> dict[str, Json]:
        engines = self.engines.names if self.engines and self.echo else None
        return {
            "state": self.state,
            "fault": str(self.fault) if self.fault else "none",
            "microphone": f"{self._device('microphone')} {self.gain.warning}".strip(),
            "loudspeaker": self._device("loudspeaker"),
            "echo_cancellation": self._echo_cancellation(),
            **self._of_board(),
            "recogniser": engines.recogniser if engines else "not loaded",
            "language_model": engines.model if engines else "not loaded",
            "language_model_state": self.model,
            "voice": engines.voice if engines else "not loaded",
            "words_go_to": where_words_go(self.settings().model),
            "conversations": self.keeper.status,
            "history": self.history,
            "version": __version__,
            "process": os.getpid(),
            "running_for_seconds": round(time.time() - self.started),
        }

    def vitals(self) -> dict[str, Json]:
        """What `hey-echo doctor` cannot see from outside."""
        source, sink, fault = self.source, self.sink, self.fault
        return {
            "process": os.getpid(),
            "running_for_seconds": round(time.time() - self.started),
            "awake": self.echo is not None,
            "fault": describe(fault) if fault else None,
            "devices": {name: _facts(state) for name, state in self.devices.items()},
            "hardware_faults": self._hardware_faults(),
            "overruns": source.overruns if source else 0,
            "dropped": source.dropped if source else 0,
            "underruns": sink.underruns if sink else 0,
            "gain": self.gain.warning,
            "echo_cancellation": self._echo_cancellation(),
            **self._of_board(),
            "model": self.model,
            "conversations": self.keeper.status,
            "history": self.history,
            "needs_restart": self.waiting(),
            "memory_awake_kb": self.awake_kb,
            "memory_kb": memory_kb(),
        }

    def _hardware_faults(self) -> dict[str, Json]:
        faults = self.hardware.faults if self.hardware else {}
        return {part: describe(fault) for part, fault in faults.items()}

    def _of_board(self) -> dict[str, Json]:
        return {**self.hardware.status} if self.hardware else {}

    def _echo_cancellation(self) -> str:
        match self.echo.cancellation if self.echo else None:
            case EchoCancelled() as canceller:
                return canceller.text
            case EngineError() as error:
                return str(error)
        return "off" if self.echo else "not loaded"

    def _device(self, direction: str) -> str:
        state = self.devices.get(direction)
        return state.text if state else "not opened yet"


def _facts(state: DeviceState) -> dict[str, Json]:
    return {
        "ready": state.ready,
        "closed": state.closed,
        "text": state.text,
        "error": describe(state.error) if state.error else None,
        "rate": state.rate,
        "channels": state.channels,
    }


def memory_kb() -> int:
    """Resident memory of this process, kB; 0 where it cannot be read."""
    with contextlib.suppress(OSError), Path("/proc/self/status").open() as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0
