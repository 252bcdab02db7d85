"""How soon Echo hears and is heard again after a device was away.

Part of ./scripts/bench device.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from firmware_app.audio.alsa import DeviceState
from firmware_app.audio.loudspeaker import AlsaSink
from firmware_app.audio.microphone import AlsaSource
from firmware_app.frames import BLOCK

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.alsa_fixture import AlsaDevices, FifoLoudspeaker, FifoMicrophone, alsa_config
from tests.alsa_fixture import alsa_devices as made_devices

AWAY = (0.3, 3.0, 15.0)  # seconds
PATIENCE = 30.0  # seconds
SILENCE = np.zeros(BLOCK, np.int16)


def run() -> None:
    """Print the table: seconds from a device's return to the state that says so."""
    print(f"load average {os.getloadavg()[0]:.2f}\n")
    print("| away, s | microphone back after, s | loudspeaker back after, s |\n|---|---|---|")
    with (
        tempfile.TemporaryDirectory() as name,
        alsa_config(Path(name)) as config,
        made_devices(Path(name), config) as devices,
    ):
        asyncio.run(_run(devices))
    print(f"\nload average {os.getloadavg()[0]:.2f}")


async def _run(devices: AlsaDevices) -> None:
    ear, mouth = devices.microphone(hum=20), devices.unpluggable_loudspeaker()
    ready: dict[str, bool] = {}

    def on_state(state: DeviceState) -> None:
        ready[state.direction] = state.ready

    source = AlsaSource(ear.name, on_state=on_state)
    sink = AlsaSink(mouth.name, on_state=on_state, open_device=mouth.opened)
    tasks = [asyncio.create_task(_listen(source)), asyncio.create_task(_speak(sink))]
    for away in AWAY:
        heard = await _back_after(ear, away, lambda: ready.get("microphone", False))
        played = await _back_after(mouth, away, lambda: ready.get("loudspeaker", False))
        print(f"| {away:.1f} | {heard:.2f} | {played:.2f} |", flush=True)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    await source.close()
    await sink.close()


async def _back_after(
    device: FifoMicrophone | FifoLoudspeaker, away: float, ready: Callable[[], bool]
) -> float:
    await _until(ready)
    device.unplug()
    await _until(lambda: not ready())
    await asyncio.sleep(away)
    device.plug()
    began = time.monotonic()
    await _until(ready)
    return time.monotonic() - began


async def _listen(source: AlsaSource) -> None:
    async for _ in source:
        pass


async def _speak(sink: AlsaSink) -> None:
    while True:
        await sink.write(SILENCE)


async def _until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not happened():
            await asyncio.sleep(0.005)


if __name__ == "__main__":
    run()
