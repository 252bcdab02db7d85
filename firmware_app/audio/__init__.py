"""Sources and sinks of sound, and the player between a voice and a loudspeaker."""

from collections.abc import AsyncIterator
from typing import Protocol

from firmware_app.audio.reference import Reference
from firmware_app.frames import Frame, Samples


class Source(Protocol):
    """A microphone, or what stands for one: an async iterator of frames.

    The iterator ends when a recording does; a device goes on through loss and return.
    """

    def __aiter__(self) -> AsyncIterator[Frame]: ...

    async def close(self) -> None: ...


class Sink(Protocol):
    """A loudspeaker, or what stands for one: 16 kHz mono int16, any number of samples a write."""

    async def write(self, samples: Samples) -> None:
        """Return once the samples are queued; waits while the sink holds its fill."""
        ...

    async def drain(self) -> None:
        """Return when everything written has been heard."""
        ...

    async def stop(self, fade_ms: int = 10) -> None:
        """Fade what sounds now and drop the rest."""
        ...

    async def close(self) -> None: ...

    @property
    def reference(self) -> Reference:
        """What leaves the loudspeaker and when, for echo cancellation."""
        ...

    @property
    def heard(self) -> int:
        """Samples that have left the loudspeaker since the sink was opened."""
        ...

    @property
    def delay(self) -> float:
        """Seconds until a sample written now would leave the loudspeaker."""
        ...
