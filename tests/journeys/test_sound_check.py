"""`hey-echo doctor --record` in a room made of files: it hears itself, and its name."""

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from firmware_app.audio.wav import read_wav
from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples
from tests.alsa_fixture import AlsaDevices, FifoMicrophone, FileLoudspeaker
from tests.journeys.conftest import COMMAND, QUESTION

DEAD, HEARD, LOOP_BACK = range(3)  # the channels of the microphone
FAR = 6 * BLOCK  # samples from the loudspeaker to the microphone
SOFTER = 4  # times, of the echo

pytestmark = pytest.mark.journey


def at_microphone(heard: Samples, played: Samples) -> Samples:
    """What its channels deliver, shape (n, 3)."""
    noise = np.random.default_rng(len(heard)).integers(-60, 61, len(heard))
    return np.stack((np.zeros_like(heard), heard + noise, played), axis=1).astype(np.int16)


@contextmanager
def fake_room(loudspeaker: FileLoudspeaker, microphone: FifoMicrophone) -> Iterator[None]:
    """Lets the microphone hear, more softly and a little later, what the loudspeaker plays."""
    over = threading.Event()

    def carry() -> None:
        done = 0
        while not over.wait(0.01):
            with suppress(FileNotFoundError):  # it has not begun
                played = loudspeaker.frames()[done::3, 0].astype(np.int16)
                played = played[: len(played) // BLOCK * BLOCK]
                if len(played):
                    before = np.zeros(0 if done else FAR, np.int16)
                    done += 3 * len(played)
                    sound = np.concatenate((before, played))
                    microphone.say(at_microphone(sound // SOFTER, sound))

    carrier = threading.Thread(target=carry, daemon=True)
    carrier.start()
    try:
        yield
    finally:
        over.set()
        carrier.join()


@pytest.mark.parametrize("keep", [False, True])
def test_it_measures_the_room_hears_the_wake_word_and_forgets_what_it_need_not_keep(
    alsa: AlsaDevices, models: Path, tmp_path: Path, keep: bool
) -> None:
    microphone = alsa.microphone(channels=3, hum=(0, 60, 0))
    loudspeaker, kept = alsa.loudspeaker(), tmp_path / "mine.wav"
    environment = {
        **os.environ,
        **alsa.environment,
        "HEY_ECHO_PATHS_STATE": str(tmp_path / "state"),
        "HEY_ECHO_PATHS_RUNTIME": str(tmp_path / "run"),
        "HEY_ECHO_PATHS_MODELS": str(models),
        "HEY_ECHO_AUDIO_MICROPHONE": microphone.name,
        "HEY_ECHO_AUDIO_MICROPHONE_CHANNELS": "3",
        "HEY_ECHO_AUDIO_MICROPHONE_CHANNEL": str(HEARD),
        "HEY_ECHO_AUDIO_LOUDSPEAKER": loudspeaker.name,
    }
    owner = read_wav(QUESTION)  # it begins with the wake word
    command = [*COMMAND, "doctor", "--record", *(["--keep", str(kept)] if keep else [])]
    told = []
    with (
        fake_room(loudspeaker, microphone),
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as running,
    ):
        assert running.stdout
        for line in running.stdout:
            told.append(line)
            if line.startswith("Say “Hey Echo”"):
                for _ in range(2):
                    microphone.say(at_microphone(owner, np.zeros_like(owner)))
    text = "".join(told)
    assert running.returncode in {0, 1}, text  # on a busy machine the echo may come late
    channels = (
        f"3 channels, number {HEARD} is heard; silent: {DEAD}; "
        f"the loudspeaker's own signal: {LOOP_BACK}."
    )
    for part in (
        "Please be quiet",
        "the loudspeaker chirps",
        channels,
        r"The quiet room is at -5\d dB\.",
        r"heard \d+ ms later than it tells",
        r"Your voice is at -\d+ dB, \d+ dB above the room; 0\.0% of it is clipped",
        r"The wake word was heard (once|2 times), with a score up to (0\.[5-9]\d|1\.00)\.",
    ):
        assert re.search(part, text), f"{part} is missing in:\n{text}"
    sounds = [place for place in tmp_path.rglob("*") if place.suffix == ".wav"]
    assert sounds == ([kept] if keep else [])
    if keep:
        assert f"rm {kept}" in text
        assert kept.stat().st_size > 10 * 3 * 2 * SAMPLE_RATE
