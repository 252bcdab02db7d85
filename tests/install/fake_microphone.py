"""Stands for a sound card in a Debian box: a microphone in a quiet room, which says say.wav."""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, "/opt/hey-echo/current")

from firmware_app.audio.wav import read_wav
from tests.alsa_fixture import FifoMicrophone

FOLDER = Path("/run/fake-sound")

if __name__ == "__main__":
    os.umask(0)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "microphone").unlink(missing_ok=True)
    microphone = FifoMicrophone(FOLDER / "microphone", hum=20)
    microphone.plug()
    (FOLDER / "microphone").chmod(0o666)
    say = FOLDER / "say.wav"
    while True:
        time.sleep(0.1)
        if say.exists():
            microphone.say(read_wav(say))
            say.unlink()
