"""The whole service on ALSA devices made of files: how fast it starts, and what it costs idle.

Part of ./scripts/bench device. The microphone hears a quiet room: noise at -55 dB of full scale.
"""

import argparse
import compileall
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from firmware_app import models
from firmware_app.control.client import call
from firmware_app.errors import EchoError
from firmware_app.frames import SAMPLE_RATE
from firmware_app.settings_layers import load

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.alsa_fixture import AlsaDevices, FifoMicrophone, alsa_config, alsa_devices

PACKAGE = Path(__file__).resolve().parent.parent / "firmware_app"
ROOM_DB = -55.0  # of full scale
STARTS = 5
SETTLE_SECONDS = 20.0  # until the language model is warm, too
PATIENCE_SECONDS = 120.0
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of the service and its children since they were started.

    at: when this was so, on the monotonic clock.
    """

    at: float
    cpu_seconds: float
    service_mb: float  # proportional share of memory (Pss)
    model_mb: float


def run(minutes: float = 2.0, starts: int = STARTS) -> None:
    """Print both tables."""
    print(f"load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores\n")
    compileall.compile_dir(PACKAGE, quiet=1)  # as it is where Echo is installed
    with tempfile.TemporaryDirectory() as name, alsa_config(Path(name)) as config:
        folder = Path(name)
        with alsa_devices(folder, config) as devices:
            times = [start_time(devices, folder) for _ in range(starts)]
            print(
                f"start to listening, warm disk: median {median(times):.2f} s, "
                f"worst of {starts} {max(times):.2f} s\n"
            )
            idle(devices, folder, minutes)
    print(f"\nload average {os.getloadavg()[0]:.2f}")


def start_time(devices: AlsaDevices, folder: Path) -> float:
    """Seconds from starting the process to hearing."""
    with service(devices, folder) as (_, _, began):
        return time.monotonic() - began


def idle(devices: AlsaDevices, folder: Path, minutes: float) -> None:
    quiet_room = np.random.default_rng(1).normal(
        0.0, 32768 * 10 ** (ROOM_DB / 20), 61 * SAMPLE_RATE
    )
    with service(devices, folder) as (process, microphone, _):
        microphone.say(quiet_room)
        time.sleep(SETTLE_SECONDS)
        print("| minute | CPU, of one core | service, MB | language model, MB |")
        print("|---|---|---|---|")
        first = before = cost(process.pid)
        for minute in range(1, max(1, round(minutes)) + 1):
            microphone.say(quiet_room)
            time.sleep(60.0)
            now = cost(process.pid)
            print(
                f"| {minute} "
                f"| {(now.cpu_seconds - before.cpu_seconds) / (now.at - before.at):.1%} "
                f"| {now.service_mb:.0f} | {now.model_mb:.0f} |"
            )
            before = now
        grown = before.service_mb + before.model_mb - first.service_mb - first.model_mb
        print(f"\ngrowth over {max(1, round(minutes))} min: {grown:+.1f} MB")


@contextmanager
def service(
    devices: AlsaDevices, folder: Path
) -> Iterator[tuple[subprocess.Popen[bytes], FifoMicrophone, float]]:
    """A service that listens, its microphone, and when it was started."""
    microphone, loudspeaker = devices.microphone(plugged=False), devices.loudspeaker()
    microphone.plug()
    environment = {
        **os.environ,
        **devices.environment,
        "HEY_ECHO_PATHS_MODELS": str(models.folder(load().settings)),
        "HEY_ECHO_PATHS_STATE": str(folder / "state"),
        "HEY_ECHO_PATHS_RUNTIME": str(folder / "run"),
        "HEY_ECHO_WEB_PORT": "0",
        "HEY_ECHO_AUDIO_MICROPHONE": microphone.name,
        "HEY_ECHO_AUDIO_LOUDSPEAKER": loudspeaker.name,
    }
    began = time.monotonic()
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "firmware_app", "run"], env=environment, stderr=log
        )
    try:
        until_it_listens(process, folder)
        yield process, microphone, began
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        microphone.unplug()


def until_it_listens(process: subprocess.Popen[bytes], folder: Path) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        try:
            if call(folder / "run", "status")["state"] == "idle":
                return
        except EchoError:
            pass
        time.sleep(0.02)
    sys.exit((folder / "log").read_text())


def cost(pid: int) -> Cost:
    children = [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    cpu = sum(ticks(one) for one in (pid, *children)) / TICKS
    return Cost(time.monotonic(), cpu, memory_mb(pid), sum(memory_mb(child) for child in children))


def ticks(pid: int) -> int:
    """proc(5): fields 14 and 15, counted after the name, which may hold blanks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="how long it is watched [2]")
    parser.add_argument(
        "--starts", type=int, default=STARTS, help=f"how often it starts [{STARTS}]"
    )
    arguments = parser.parse_args()
    run(arguments.minutes, arguments.starts)
