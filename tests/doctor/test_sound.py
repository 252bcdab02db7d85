"""Faults of microphone and loudspeaker on ALSA's own plugins, and the line that doctor says."""

from dataclasses import asdict

import numpy as np
import pytest
from numpy.typing import NDArray

from firmware_app.audio import speex
from firmware_app.audio.alsa import device_error
from firmware_app.audio.level import Level
from firmware_app.doctor import Finding, Status
from firmware_app.doctor.checks import alsa as alsa_check
from firmware_app.doctor.checks import loudspeaker, microphone
from firmware_app.errors import DeviceError, ServiceError
from tests.alsa_fixture import AlsaDevices, FifoMicrophone
from tests.doctor.conftest import Box

SECONDS = 2  # more than a check listens here, and a test waits
Sound = NDArray[np.int16]


@pytest.fixture(autouse=True)
def shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microphone, "WINDOW_SECONDS", 0.6)


def noise(level: float, *, rate: int = 16_000, offset: float = 0.0) -> Sound:
    """level, offset: of full scale."""
    random = np.random.default_rng(7).normal(0, level, SECONDS * rate) + offset
    return np.clip(random * 32768, -32768, 32767).astype(np.int16)


def heard(box: Box, device: FifoMicrophone, sound: Sound | None) -> Finding:
    if sound is not None:
        device.say(sound)
    box.values["audio.microphone"] = device.name
    return box.finds("microphone")


def test_a_microphone_that_hears_is_shown_with_its_level(box: Box, alsa: AlsaDevices) -> None:
    shown: list[float] = []
    box.context["on_level"] = shown.append
    finding = heard(box, alsa.microphone(), noise(0.01))
    assert finding.status is Status.PASS
    assert finding.line == "[##########..........] -40 dB. 16000 Hz, 1 channel, as asked."
    assert len(shown) > 20
    assert shown[-1] == pytest.approx(-40, abs=1)


@pytest.mark.parametrize(
    ("sound", "status", "says"),
    [
        (None, Status.FAIL, "digital silence"),
        (np.full(SECONDS * 16_000, 1638, np.int16), Status.FAIL, "same value all the time (+0.05"),
        (noise(0.5), Status.WARN, "% of the sound is clipped"),
        (noise(0.01, offset=0.2), Status.WARN, "constant offset of +0.200"),
        (noise(0.0002), Status.WARN, "hardly anything"),
    ],
    ids=["silence", "stuck", "clipping", "offset", "quiet"],
)
def test_a_microphone_that_does_not_hear_says_why(
    box: Box, alsa: AlsaDevices, sound: Sound | None, status: Status, says: str
) -> None:
    finding = heard(box, alsa.microphone(), sound)
    assert finding.status is status
    assert says in finding.line
    assert finding.mend


def test_the_wrong_channel_of_a_stereo_microphone_is_found(box: Box, alsa: AlsaDevices) -> None:
    box.values["audio.microphone_channels"] = 2
    right = np.stack((np.zeros(SECONDS * 16_000, np.int16), noise(0.01)), axis=1)
    finding = heard(box, alsa.microphone(channels=2), right)
    assert (finding.status, "channel 1 is not" in finding.line) == (Status.FAIL, True)
    assert finding.mend == "hey-echo config set audio.microphone_channel 1"


def test_a_48_khz_microphone_is_no_fault(box: Box, alsa: AlsaDevices) -> None:
    box.values["audio.microphone_rate"] = 48_000
    finding = heard(box, alsa.microphone(rate=48_000), noise(0.01, rate=48_000))
    assert finding.status is Status.PASS
    assert "48000 Hz, 1 channel, as asked; Echo converts it." in finding.line


def test_a_device_that_lies_about_its_rate_is_found(box: Box, alsa: AlsaDevices) -> None:
    finding = heard(box, alsa.microphone(rate=32_000), noise(0.01))
    assert finding.status is Status.FAIL
    assert "claims 16000 Hz and delivers 3" in finding.line
    assert finding.mend == "hey-echo config set audio.microphone_rate 32000"


def test_a_microphone_that_is_not_there_is_named(box: Box, alsa: AlsaDevices) -> None:
    finding = heard(box, alsa.microphone(plugged=False), None)
    assert (finding.status, "[device-missing]" in finding.line) == (Status.FAIL, True)
    assert "Plug it in" in finding.mend


def test_whoever_holds_a_busy_device_is_named(box: Box) -> None:
    box.file("/proc/asound/cards", " 1 [Array          ]: USB-Audio - Mic Array\n")
    box.file("/proc/asound/card1/pcm0c/sub0/status", "state: RUNNING\nowner_pid   : 812\n")
    box.file("/proc/812/comm", "pipewire\n")
    who = "the microphone of card1 is used by process 812 (pipewire)"
    assert who in box.finds("sound-cards").line
    busy = device_error("microphone", "hw:1", "Device or resource busy [hw:1]")
    assert isinstance(busy, DeviceError)
    assert who in microphone.unopened(box.made(), busy).line


def test_a_card_that_the_settings_name_and_is_not_there_is_found(box: Box) -> None:
    assert box.finds("sound-cards").line == "The kernel has no sound card."
    box.file("/proc/asound/cards", " 0 [vc4hdmi        ]: vc4-hdmi - vc4-hdmi\n")
    assert box.finds("sound-cards").status is Status.PASS
    box.values["audio.microphone"] = "plughw:CARD=Array,DEV=0"
    finding = box.finds("sound-cards")
    assert (finding.status, finding.line) == (
        Status.FAIL,
        "audio.microphone names the card Array, which is not there (there: vc4hdmi).",
    )
    box.values["audio.microphone"] = "hw:0"
    assert box.finds("sound-cards").status is Status.PASS


def test_sound_devices_that_may_not_be_used_are_named(box: Box) -> None:
    device = box.file("/dev/snd/pcmC0D0c", "")
    device.chmod(0o660)
    box.context |= {"uid": device.stat().st_uid + 1, "groups": [device.stat().st_gid + 1]}
    finding = box.finds("groups")
    assert (finding.status, "pcmC0D0c" in finding.line) == (Status.FAIL, True)
    assert "usermod -aG audio" in finding.mend
    box.context["groups"] = [device.stat().st_gid]
    assert box.finds("groups").status is Status.PASS


def test_the_loudspeaker_plays_a_soft_tone(box: Box, alsa: AlsaDevices) -> None:
    device = alsa.loudspeaker()
    box.values["audio.loudspeaker"] = device.name
    assert box.finds("loudspeaker").status is Status.PASS
    played = device.frames().astype(np.int64)[:, 0]
    assert 1000 < np.abs(played).max() < 0.2 * 32768
    spectrum = np.abs(np.fft.rfft(played[: 48_000 // 5]))
    assert np.argmax(spectrum) * 5 == pytest.approx(loudspeaker.HERTZ, abs=10)


def test_a_loudspeaker_that_is_missing_or_turned_down_is_found(box: Box) -> None:
    box.values["audio.loudspeaker"] = "hw:CARD=NoSuchCard"
    assert "[device-missing]" in box.finds("loudspeaker").line
    box.values["voice.volume"] = 0
    finding = box.finds("loudspeaker")
    assert (finding.status, finding.mend) == (Status.WARN, "hey-echo config set voice.volume 80")


LOUD = Level(seconds=2.0, rms=0.01, peak=0.05, swing=0.09, offset=0.0, clipped=0.0)


def test_beside_the_service_its_own_figures_are_shown(box: Box) -> None:
    box.service()
    box.answers["doctor.hearing"] = asdict(LOUD)
    box.values["audio.microphone"] = "hw:CARD=NotToBeOpened"
    assert box.finds("microphone").line.startswith("[##########..........] -40 dB.")
    box.service(overruns=40, dropped=2)
    finding = box.finds("microphone")
    assert (finding.status, "Sound was lost 42 times" in finding.line) == (Status.WARN, True)


def test_devices_of_a_service_that_does_not_answer_are_left_alone(box: Box) -> None:
    box.answers["doctor"] = ServiceError("no-answer", "It is silent.", "Restart it.")
    for check in ("microphone", "loudspeaker"):
        finding = box.finds(check)
        assert (finding.status, "Not tried" in finding.line) == (Status.WARN, True)


def test_a_device_that_the_service_lost_is_told_with_the_services_words(box: Box) -> None:
    error = {
        "code": "device-missing",
        "what": "The microphone “x” was not found.",
        "mend": "Plug it in.",
        "exit_status": 74,
    }
    lost = {"ready": False, "text": "", "error": error, "rate": 0, "channels": 0}
    box.service(devices={"microphone": lost, "loudspeaker": lost})
    for check in ("microphone", "loudspeaker"):
        finding = box.finds(check)
        assert (finding.status, finding.mend) == (Status.FAIL, "Plug it in.")


def test_a_microphone_that_was_closed_on_purpose_is_no_fault(box: Box) -> None:
    closed = {
        "ready": False,
        "closed": True,
        "text": "The microphone is closed: Echo hears nothing.",
        "error": None,
        "rate": 0,
        "channels": 0,
    }
    box.service(devices={"microphone": closed})
    finding = box.finds("microphone")
    assert (finding.status, "hey-echo unmute" in finding.mend) == (Status.WARN, True)


def test_sound_that_comes_too_late_is_told(box: Box) -> None:
    box.service(underruns=25)
    assert "too late 25 times" in box.finds("loudspeaker").line


def test_a_version_of_the_alsa_library_with_a_known_fault_is_a_warning() -> None:
    finding = alsa_check.judge("1.2.5")
    assert (finding.status, "apt upgrade" in finding.mend) == (Status.WARN, True)
    assert alsa_check.judge("1.2.5.1").status is Status.PASS
    assert alsa_check.judge("1.2.15").status is Status.WARN


def test_an_echo_that_would_hear_itself_is_told(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    assert box.finds("echo-cancellation").status is Status.PASS
    monkeypatch.setattr(speex, "LIBRARY", "libspeexdsp.so.none")
    speex.available.cache_clear()
    missing = box.finds("echo-cancellation")
    assert missing.status is Status.WARN
    assert "[echo-library-missing]" in missing.line
    assert "apt install libspeexdsp1" in missing.mend
    speex.available.cache_clear()
    box.values["audio.echo_cancellation"] = False
    assert box.finds("echo-cancellation").mend.endswith("audio.echo_cancellation true")
