"""ALSA devices: opening them, what they deliver, and sentences for what goes wrong."""

import ctypes
import functools
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from firmware_app.audio.dsp import FULL_SCALE
from firmware_app.errors import DeviceError

log = logging.getLogger(__name__)

Direction = Literal["microphone", "loudspeaker"]
LOWEST_RATE, HIGHEST_RATE = 8_000, 192_000
XRUN = -32  # -EPIPE, returned by read, write and avail; read and write have recovered then
BACK_OFF = (0.5, 1.0, 2.0, 4.0, 8.0, 10.0)  # seconds between attempts to open a device
FORMATS = ("S16_LE", "S32_LE", "S24_3LE", "FLOAT_LE")  # understood, the first is asked first


class Pcm(Protocol):
    """The part of alsaaudio.PCM that is used."""

    def read(self) -> tuple[int, bytes]: ...
    def write(self, data: bytes) -> int: ...
    def avail(self) -> int: ...
    def drop(self) -> int: ...
    def close(self) -> None: ...
    def info(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Device:
    """An open device and what it truly delivers, which may not be what was asked.

    period, buffer: in frames of `channels` samples at `rate` Hz.
    """

    pcm: Pcm
    name: str
    rate: int
    channels: int
    format: str
    period: int
    buffer: int

    def __str__(self) -> str:
        return f"{self.name}: {self.rate} Hz, {self.channels} channels, {self.format}"

    def close(self) -> None:
        """Let go of the device at once; closing alone would play out what is queued."""
        for step in (self.pcm.drop, self.pcm.close):
            try:
                step()
            except Exception as error:
                log.debug("closing %s: %s", self.name, error)


@dataclass(frozen=True, slots=True)
class DeviceState:
    """Told once when a device is lost and once when it is (again) ready.

    closed: the microphone was closed on purpose; nothing of it is lost.
    """

    direction: Direction
    ready: bool
    text: str
    error: DeviceError | None = None
    rate: int = 0  # delivered, Hz, where it is ready
    channels: int = 0
    closed: bool = False


Open = Callable[[], Device]
OnState = Callable[[DeviceState], None]


def open_microphone(name: str, rate: int, channels: int) -> Device:
    """Open for capture, 8 periods of 20 ms. Raises DeviceError."""
    return _open("microphone", name, rate, channels, rate // 50, 8)


def open_loudspeaker(name: str, rate: int) -> Device:
    """Open for playback, 16 periods of 10 ms. Raises DeviceError."""
    return _open("loudspeaker", name, rate, 1, rate // 100, 16)


def _open(
    direction: Direction, name: str, rate: int, channels: int, period: int, periods: int
) -> Device:
    alsaaudio = _alsaaudio()
    for asked in FORMATS:
        try:
            # Without PCM_NONBLOCK, opening a busy device waits for it and holds the GIL.
            pcm: Pcm = alsaaudio.PCM(
                type=alsaaudio.PCM_CAPTURE if direction == "microphone" else alsaaudio.PCM_PLAYBACK,
                mode=alsaaudio.PCM_NONBLOCK,
                device=name,
                rate=rate,
                channels=channels,
                format=getattr(alsaaudio, f"PCM_FORMAT_{asked}"),
                periodsize=period,
                periods=periods,
            )
        except alsaaudio.ALSAAudioError as error:
            raise device_error(direction, name, str(error)) from error
        device = _described(pcm, name)
        if device.format in FORMATS and LOWEST_RATE <= device.rate <= HIGHEST_RATE:
            return device
        device.close()
    raise DeviceError(
        "device-format",
        f"The {direction} “{name}” gives only {device.format} at {device.rate} Hz.",
        f"Put “plug:” before its name in the setting audio.{direction}.",
    )


def _described(pcm: Pcm, name: str) -> Device:
    info = pcm.info()
    return Device(
        pcm,
        name,
        info["rate"],
        info["channels"],
        info["format_name"],
        info["period_size"],
        info["buffer_size"],
    )


def _alsaaudio() -> ModuleType:
    try:
        import alsaaudio  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise DeviceError(
            "alsa-missing", "The package pyalsaaudio is not installed.", "Run ./scripts/setup."
        ) from error
    _silence_alsa()
    module: ModuleType = alsaaudio
    return module


@functools.cache
def _silence_alsa() -> None:
    """Keep ALSA's own messages off stderr: a missing device would fill the log at each attempt.

    The handler is a C function that ignores its arguments; a Python one would need memory that
    is writable and executable, which the service is denied.
    """
    try:
        alsa, libc = ctypes.CDLL("libasound.so.2"), ctypes.CDLL(None)
        alsa.snd_lib_error_set_handler(ctypes.cast(libc.getpid, ctypes.c_void_p))
    except (OSError, AttributeError) as error:
        log.debug("ALSA's messages stay: %s", error)


def library_version() -> str:
    """Of the ALSA library, such as 1.2.8; empty where it cannot be asked."""
    try:
        version = ctypes.CDLL("libasound.so.2").snd_asoundlib_version
    except (OSError, AttributeError):
        return ""
    version.restype = ctypes.c_char_p
    return str(version().decode())


def device_error(direction: Direction, name: str, reason: str) -> DeviceError:
    """Our sentence for ALSA's, which is all that it gives: no number, and a name at the end."""
    reason = re.sub(r"\s*\[[^\]]*\]$", "", reason)
    lister = "arecord -L" if direction == "microphone" else "aplay -L"
    setting = f"the setting audio.{direction}"
    for words, code, what, mend in (
        (
            ("No such file", "No such device", "Unknown", "Invalid card"),
            "device-missing",
            "was not found",
            f"Plug it in, or choose one that `{lister}` shows with {setting}.",
        ),
        (
            ("busy",),
            "device-busy",
            "is in use by another program",
            f"End that program, or choose a shared device such as “default” with {setting}.",
        ),
        (
            ("Permission", "not permitted"),
            "device-forbidden",
            "may not be used by this user",
            "Add the user to the group audio: sudo usermod -aG audio $USER, then log in again.",
        ),
    ):
        if any(word in reason for word in words):
            return DeviceError(code, f"The {direction} “{name}” {what}.", mend)
    return DeviceError(
        "device-failed",
        f"The {direction} “{name}” failed: {reason}.",
        f"Check its cable and `{lister}`, or choose another with {setting}.",
    )


def decode(data: bytes, device: Device, channel: int) -> NDArray[np.float32]:
    """One channel of interleaved sound as float32 of full scale 1.0, shape (frames,)."""
    match device.format:
        case "S16_LE":
            values = np.frombuffer(data, "<i2").reshape(-1, device.channels)[:, channel]
            return values.astype(np.float32) / np.float32(FULL_SCALE)
        case "S32_LE":
            values = np.frombuffer(data, "<i4").reshape(-1, device.channels)[:, channel]
            return values.astype(np.float32) / np.float32(2**31)
        case "S24_3LE":
            bytes_ = np.frombuffer(data, np.uint8).reshape(-1, device.channels, 3)[:, channel]
            wide = np.zeros((len(bytes_), 4), np.uint8)
            wide[:, 1:] = bytes_
            return wide.view("<i4")[:, 0].astype(np.float32) / np.float32(2**31)
        case "FLOAT_LE":
            return np.frombuffer(data, "<f4").reshape(-1, device.channels)[:, channel].copy()
    raise ValueError(device.format)


def encode(sound: NDArray[np.float32], device: Device) -> bytes:
    """Mono float32 as the device's interleaved sound, the same in each channel."""
    bounded = np.clip(sound, -1.0, 1.0 - 2**-15)
    match device.format:
        case "S16_LE":
            values: NDArray[Any] = np.rint(bounded * np.float32(FULL_SCALE)).astype("<i2")
        case "S32_LE":
            values = np.rint(bounded.astype(np.float64) * 2**31).astype("<i4")
        case "S24_3LE":
            wide = np.rint(bounded.astype(np.float64) * 2**31).astype("<i4")
            values = wide.view(np.uint8).reshape(-1, 4)[:, 1:]
            return np.repeat(values[:, np.newaxis], device.channels, axis=1).tobytes()
        case _:
            values = bounded.astype("<f4")
    return np.repeat(values[:, np.newaxis], device.channels, axis=1).tobytes()


class MixerControl:
    """One control of a card's mixer, such as "Speaker". Raises OSError where there is none."""

    def __init__(self, card: str, name: str) -> None:
        self._alsaaudio = _alsaaudio()
        try:
            self._mixer = self._alsaaudio.Mixer(name, device=f"hw:CARD={card}")
        except self._alsaaudio.ALSAAudioError as error:
            raise OSError(str(error)) from error

    def set_percent(self, percent: int) -> None:
        """Set all its channels, whether it is for playback, for capture or both."""
        directions = self._alsaaudio.PCM_PLAYBACK, self._alsaaudio.PCM_CAPTURE
        try:
            for able, direction in zip(("Playback", "Capture"), directions, strict=True):
                if any(able in what for what in self._mixer.volumecap()):
                    self._mixer.setvolume(percent, self._alsaaudio.MIXER_CHANNEL_ALL, direction)
        except self._alsaaudio.ALSAAudioError as error:
            raise OSError(str(error)) from error
