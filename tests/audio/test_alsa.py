"""What ALSA says and delivers is checked, and said in words."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from firmware_app.audio import alsa as alsa_module
from firmware_app.audio.alsa import (
    Device,
    decode,
    device_error,
    encode,
    open_loudspeaker,
    open_microphone,
)
from firmware_app.errors import DeviceError
from tests.alsa_fixture import AlsaDevices
from tests.audio.fake_pcm import FakeLoudspeakerPcm


def device(kind: str, channels: int) -> Device:
    return Device(FakeLoudspeakerPcm(), "fake", 48_000, channels, kind, 480, 7_680)


@pytest.mark.parametrize("kind", alsa_module.FORMATS)
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_sound_passes_through_each_format_unharmed(kind: str, channels: int) -> None:
    said = (np.arange(-32768, 32768, 7) / 32768).astype(np.float32)
    given = device(kind, channels)
    data = encode(said, given)
    assert len(data) % (len(said) * channels) == 0
    for channel in range(channels):
        assert np.array_equal(decode(data, given, channel), said)


@pytest.mark.parametrize("kind", alsa_module.FORMATS)
def test_sound_that_is_too_loud_is_clipped_and_does_not_wrap(kind: str) -> None:
    given = device(kind, 1)
    loud = decode(encode(np.array([1.5, -1.5], np.float32), given), given, 0)
    assert loud.tolist() == pytest.approx([1.0, -1.0], abs=1e-4)


@pytest.mark.parametrize(
    ("reason", "code", "mend"),
    [
        ("No such file or directory [hw:7]", "device-missing", "arecord -L"),
        ("No such device [hw:7]", "device-missing", "Plug it in"),
        ("Device or resource busy [hw:7]", "device-busy", "End that program"),
        ("Permission denied [hw:7]", "device-forbidden", "usermod -aG audio"),
        ("Input/output error [hw:7]", "device-failed", "cable"),
    ],
)
def test_each_refusal_is_a_sentence_with_a_mend(reason: str, code: str, mend: str) -> None:
    error = device_error("microphone", "hw:7", reason)
    assert error.code == code
    assert "“hw:7”" in error.what
    assert "[" not in error.what
    assert mend in error.mend
    assert error.exit_status == 74


def test_a_missing_device_is_an_error_and_alsa_itself_stays_silent(
    alsa: AlsaDevices, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        with pytest.raises(DeviceError, match="was not found"):
            open_microphone("no-such-device", 16_000, 1)
    assert capfd.readouterr() == ("", "")


def test_what_is_delivered_is_known(alsa: AlsaDevices) -> None:
    opened = open_loudspeaker(alsa.loudspeaker().name, 44_100)
    opened.close()
    assert (opened.rate, opened.channels, opened.format) == (44_100, 1, "S16_LE")
    assert opened.buffer / opened.rate == pytest.approx(0.16, abs=0.005)
    assert "44100 Hz, 1 channels, S16_LE" in str(opened)


def test_a_missing_package_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "alsaaudio", None)
    with pytest.raises(DeviceError) as missing:
        open_microphone("default", 16_000, 1)
    assert "pyalsaaudio" in missing.value.what
    assert "./scripts/setup" in missing.value.mend


class FakeAlsa:
    """A fake alsaaudio whose card gives what it likes, whatever is asked."""

    PCM_CAPTURE, PCM_PLAYBACK, PCM_NONBLOCK = 1, 0, 1
    PCM_FORMAT_S16_LE = "S16_LE"
    PCM_FORMAT_S32_LE = "S32_LE"
    PCM_FORMAT_S24_3LE = "S24_3LE"
    PCM_FORMAT_FLOAT_LE = "FLOAT_LE"
    ALSAAudioError = OSError

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.asked: list[dict[str, Any]] = []

    def PCM(self, **asked: Any) -> Any:  # noqa: ANN401, N802 - as alsaaudio names it
        self.asked.append(asked)
        given = self.given.get(asked["format"], self.given)
        return SimpleNamespace(info=lambda: given, drop=lambda: 0, close=lambda: None)


def card(kind: str, rate: int = 44_100) -> dict[str, Any]:
    return {
        "rate": rate,
        "channels": 2,
        "format_name": kind,
        "period_size": 1024,
        "buffer_size": 8192,
    }


def test_another_rate_and_format_than_asked_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeAlsa(card("S24_3LE"))
    monkeypatch.setattr(alsa_module, "_alsaaudio", lambda: fake)
    opened = open_microphone("hw:1", 16_000, 1)
    assert (opened.rate, opened.channels, opened.format) == (44_100, 2, "S24_3LE")
    assert (opened.period, opened.buffer) == (1024, 8192)


def test_a_format_that_is_not_understood_is_asked_again_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeAlsa({**card("MU_LAW"), "S32_LE": card("S32_LE")})
    monkeypatch.setattr(alsa_module, "_alsaaudio", lambda: fake)
    assert open_microphone("hw:1", 16_000, 1).format == "S32_LE"


@pytest.mark.parametrize("given", [card("MU_LAW"), card("S16_LE", rate=4_000)])
def test_a_device_that_gives_nothing_usable_is_refused_with_the_mend(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    fake = FakeAlsa(given)
    monkeypatch.setattr(alsa_module, "_alsaaudio", lambda: fake)
    with pytest.raises(DeviceError) as refused:
        open_loudspeaker("hw:1", 48_000)
    assert refused.value.code == "device-format"
    assert "plug:" in refused.value.mend


def test_a_busy_device_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeAlsa(card("S16_LE"))
    monkeypatch.setattr(alsa_module, "_alsaaudio", lambda: fake)
    open_microphone("hw:1", 16_000, 1)
    assert fake.asked[0]["mode"] == FakeAlsa.PCM_NONBLOCK
