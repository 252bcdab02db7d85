"""Doctor beside the running service, and without it, on ALSA devices made of files."""

import json
import math
from typing import Any

import numpy as np

from firmware_app.control.client import call
from tests.journeys.conftest import Service

IN_SERVICE = ["service", "microphone", "loudspeaker", "recogniser", "language-model", "growth"]


def findings(service: Service, *checks: str) -> dict[str, Any]:
    done = service.command("doctor", "--json", *checks)
    return {row["name"]: row for row in json.loads(done.stdout)["checks"]}


def db(service: Service) -> float:
    """How loud the service hears the room."""
    level = call(service.runtime, "doctor.hearing")
    return 20 * math.log10(max(level["rms"], 1e-9)) if level else -math.inf


def test_doctor_asks_the_running_service_and_leaves_it_its_microphone(
    service: Service,
) -> None:
    service.until("idle")
    random = np.random.default_rng(3).normal(0, 300, 16_000 * 120)
    service.microphone.say(random.astype(np.int16))
    service.until_true(lambda: abs(db(service) + 41) < 0.5)  # of the last two seconds
    found = findings(service, *IN_SERVICE)
    assert {name: row["status"] for name, row in found.items()} == dict.fromkeys(IN_SERVICE, "pass")
    assert "-41 dB. 16000 Hz, 1 channel, as asked." in found["microphone"]["line"]
    assert "of the letters" in found["recogniser"]["line"]
    assert "runs in the service" in found["language-model"]["line"]
    assert service.status()["state"] == "idle"
    assert service.log.read_text().count("WARNING") == 0

    service.microphone.unplug()
    service.until("error")
    lost = findings(service, "microphone")["microphone"]
    assert (lost["status"], "[device-" in lost["line"]) == ("fail", True)


def test_doctor_opens_the_devices_itself_once_the_service_is_gone(
    service: Service,
) -> None:
    service.until("idle")
    service.end()
    found = findings(service, "service", "microphone", "loudspeaker", "socket")
    assert found["service"]["status"] == "warn"
    assert "16000 Hz, 1 channel, as asked." in found["microphone"]["line"]
    assert "soft tone" in found["loudspeaker"]["line"]
    assert np.abs(service.played()).max() > 300
