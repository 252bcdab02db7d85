"""The service as it runs on the box: `hey-echo run` on ALSA devices made of files."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_app.audio.wav import read_wav
from firmware_app.frames import SAMPLE_RATE, Samples
from tests.journeys.conftest import QUESTION, Service

pytestmark = pytest.mark.journey


def test_it_answers_survives_the_microphone_and_stops_at_once(
    service: Service, understood: Callable[[Samples], str]
) -> None:
    service.until("idle")
    service.microphone.say(read_wav(QUESTION))
    service.until("speaking")
    service.until("listening")  # for a follow-up

    service.microphone.unplug()
    service.until("error")
    assert "microphone" in service.status()["microphone"]
    service.microphone.plug()
    service.until("idle")

    service.microphone.say(read_wav(QUESTION))
    service.until("speaking")
    service.until("listening")

    service.end()
    played = service.played()
    assert "tokyo" in understood(played[played != 0][: 20 * SAMPLE_RATE])
    assert service.log.read_text().count("WARNING firmware_app.audio.microphone") == 1


def test_the_command_line_reaches_it(service: Service, tmp_path: Path) -> None:
    service.until("idle")
    asked = service.command("ask", "What is the capital of Japan?")
    assert "Tokyo" in asked.stdout
    assert asked.returncode == 0

    stats = json.loads(service.command("stats", "--json").stdout)
    assert stats["turns"] == 1

    set_louder = service.command("config", "set", "voice.volume", "60")
    assert set_louder.stdout == "voice.volume is 60 now.\n"
    assert "volume = 60" in (tmp_path / "state" / "settings.toml").read_text()

    second = service.command("run")
    assert second.returncode == 75
    assert f"process {service.process.pid}" in second.stderr


def test_a_broken_model_is_an_error_that_a_reload_mends(
    service: Service, models: Path, tmp_path: Path
) -> None:
    service.until("idle")
    service.process.kill()
    service.process.wait()
    config = tmp_path / "config.toml"
    cut = tmp_path / "cut.gguf"
    whole = models / "smollm2-135m-instruct" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    cut.write_bytes(whole.read_bytes()[: 1 << 20])
    config.write_text(f'[model]\nmodel = "{cut}"\n')
    service.start()
    service.until("error")
    fault = service.status()["fault"]
    assert "model.model" in fault
    assert str(cut) in fault
    config.write_text("")
    service.process.send_signal(signal.SIGHUP)
    service.until("idle")
