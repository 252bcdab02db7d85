"""A box with one LED and a button on mock pins, and one whose pins cannot be reached."""

import json
import os
import signal

import pytest

from tests.journeys.conftest import Service

pytestmark = pytest.mark.journey


def restarted(service: Service, **environment: str) -> Service:
    service.process.kill()
    service.process.wait()
    service.environment |= {"HEY_ECHO_DEVICE_BOARD": "usb-with-led", **environment}
    service.start()
    service.until("idle")
    return service


def test_the_service_says_that_light_and_button_work(service: Service) -> None:
    restarted(service, GPIOZERO_PIN_FACTORY="mock", GPIOZERO_MOCK_PIN_CLASS="mockpwmpin")
    status = service.status()
    assert status["light"] == "one LED"
    assert status["button"] == "GPIO17"
    checks = service.command("doctor", "--json", "light", "button")
    assert {row["status"] for row in json.loads(checks.stdout)["checks"]} == {"pass"}


@pytest.mark.skipif(os.path.exists("/dev/gpiochip0"), reason="this machine has pins")  # noqa: PTH110
def test_without_pins_it_listens_all_the_same_and_says_why(service: Service) -> None:
    restarted(service)
    status = service.status()
    assert "no GPIO pins" in status["button"]
    assert "no GPIO pins" in status["light"]
    service.process.send_signal(signal.SIGUSR1)  # where there is no button
    service.until("listening")
    assert service.log.read_text().count("no button:") == 1
