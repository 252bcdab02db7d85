"""The microphone listens for ever, and says what it could not hear."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest

from firmware_app.audio import microphone
from firmware_app.audio.alsa import Device, DeviceState, open_microphone
from firmware_app.audio.microphone import AlsaSource, SampleClock
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples
from tests.alsa_fixture import AlsaDevices
from tests.audio.fake_pcm import FakeMicrophonePcm
from tests.audio.sounds import quality_db, tone
from tests.conftest import PATIENCE


class Listener:
    """Keeps the frames of a source, and the states it told."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.states: list[DeviceState] = []
        self.ended = False

    @property
    def sound(self) -> Samples:
        return np.concatenate([frame.samples for frame in self.frames])

    @property
    def jumps(self) -> list[int]:
        """Samples missing between frames, where any are."""
        pairs = zip(self.frames, self.frames[1:], strict=False)
        return [b.index - a.end for a, b in pairs if b.index != a.end]

    @property
    def told(self) -> list[bool]:
        return [state.ready for state in self.states]

    async def listen(self, source: AlsaSource) -> None:
        async for frame in source:
            self.frames.append(frame)
        self.ended = True

    async def until(self, happened: Callable[[], bool], patience: float = PATIENCE) -> None:
        async with asyncio.timeout(patience):
            while not happened():
                await asyncio.sleep(0.01)

    async def hear(self, count: int) -> None:
        """Wait for so many frames more."""
        enough = len(self.frames) + count
        await self.until(lambda: len(self.frames) >= enough)


@contextlib.asynccontextmanager
async def listening(listener: Listener, source: AlsaSource) -> AsyncIterator[Listener]:
    task = asyncio.create_task(listener.listen(source))
    try:
        yield listener
    finally:
        await source.close()
        await asyncio.wait_for(task, PATIENCE)


@pytest.fixture
def quick_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microphone, "BACK_OFF", (0.05,))


def fake_source(pcm: FakeMicrophonePcm, listener: Listener) -> AlsaSource:
    return AlsaSource(
        "fake", on_state=listener.states.append, open_device=lambda *asked: pcm.device()
    )


async def test_what_is_said_at_our_rate_is_heard_bit_for_bit(alsa: AlsaDevices) -> None:
    device = alsa.microphone()
    said = np.random.default_rng(1).integers(-9000, 9000, BLOCK * 20).astype(np.int16)
    async with listening(Listener(), AlsaSource(device.name)) as heard:
        await heard.hear(3)
        device.say(said)
        await heard.until(lambda: said.tobytes() in heard.sound.tobytes())
    assert heard.jumps == []
    assert all(len(frame.samples) == BLOCK for frame in heard.frames)


@pytest.mark.parametrize(
    ("rate", "channels", "dtype"),
    [(48_000, 4, "<i4"), (44_100, 2, "<i2"), (8_000, 1, "<i2")],
)
async def test_an_array_at_another_rate_is_heard_as_one_channel_of_ours(
    alsa: AlsaDevices, rate: int, channels: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype == "<i4":  # ALSA's file takes whatever is asked; ask as for a card of 32 bits
        monkeypatch.setattr("firmware_app.audio.alsa.FORMATS", ("S32_LE",))
    device = alsa.microphone(rate=rate, channels=channels, dtype=dtype)
    sound = np.zeros((rate, channels))
    sound[:, channels - 1] = tone(440, 1.0, rate=rate)
    if dtype == "<i4":
        sound *= 65536
    source = AlsaSource(device.name, rate=rate, channels=channels, channel=channels - 1)
    async with listening(Listener(), source) as heard:
        await heard.hear(3)
        device.say(sound)
        await heard.until(lambda: len(heard.frames) > 0 and not device.waiting)
        await heard.hear(10)
    tones = heard.sound[np.flatnonzero(np.abs(heard.sound) > 4000)[0] :][: SAMPLE_RATE - 1600]
    assert quality_db(tones, 440) > 60
    assert tones.max() == pytest.approx(16384, rel=0.01)


@pytest.mark.parametrize("rate", [16_000, 48_000])
async def test_the_microphones_of_an_array_come_beside_the_one_listened_to(
    alsa: AlsaDevices, rate: int
) -> None:
    device = alsa.microphone(rate=rate, channels=6)
    tones = [tone(hertz, 1.0, rate=rate) for hertz in (300, 440, 600, 800, 1000, 1200)]
    source = AlsaSource(device.name, rate=rate, channels=6, channel=0, raw=(1, 2, 3, 4))
    async with listening(Listener(), source) as heard:
        await heard.hear(3)
        device.say(np.stack(tones, axis=1))
        await heard.until(lambda: len(heard.frames) > 0 and not device.waiting)
        await heard.hear(10)
    raw = np.concatenate([frame.raw for frame in heard.frames if frame.raw is not None], axis=1)
    assert raw.dtype == np.int16
    assert raw.shape == (4, len(heard.sound))
    begins = np.flatnonzero(np.abs(heard.sound) > 4000)[0]
    part = slice(begins, begins + SAMPLE_RATE - 1600)
    assert quality_db(heard.sound[part], 300) > 60
    for channel, hertz in zip(raw, (440, 600, 800, 1000), strict=True):
        assert quality_db(channel[part], hertz) > 60


async def test_a_device_without_an_arrays_channels_gives_the_one_alone(alsa: AlsaDevices) -> None:
    device = alsa.microphone(channels=2)
    source = AlsaSource(device.name, channels=2, raw=(1, 2, 3, 4))
    async with listening(Listener(), source) as heard:
        await heard.hear(3)
    assert all(frame.raw is None for frame in heard.frames)


async def test_the_times_of_frames_are_those_of_their_sound(alsa: AlsaDevices) -> None:
    device = alsa.microphone()
    async with listening(Listener(), AlsaSource(device.name)) as heard:
        await heard.hear(50)
    steps = np.diff([frame.heard_at for frame in heard.frames[5:]])
    assert steps.max() < 0.022
    assert steps.min() > 0.015
    assert heard.frames[-1].heard_at <= time.monotonic()


def test_a_late_read_does_not_make_the_sound_later() -> None:
    clock = SampleClock()
    times = []
    for n in range(1, 200):
        late = 0.1 if n % 50 == 0 else 0.001
        clock.read(BLOCK, 100 + n * 0.02 + late)
        clock.index += BLOCK
        times.append(clock.at(clock.index) - (100 + n * 0.02))
    assert max(times) < 0.0011
    assert min(times) > 0.0009


def test_a_device_whose_clock_is_slow_is_followed() -> None:
    clock = SampleClock()
    seconds_each = 0.02 * (1 + 100e-6)
    for n in range(1, 50 * 3600):
        assert clock.read(BLOCK, 100 + n * seconds_each) < 0.1
        clock.index += BLOCK
    assert clock.at(clock.index) == pytest.approx(100 + (50 * 3600 - 1) * seconds_each, abs=0.002)


async def test_lost_sound_is_seen_as_a_jump_of_the_index() -> None:
    pcm, heard = FakeMicrophonePcm(), Listener()
    source = fake_source(pcm, heard)
    async with listening(heard, source):
        await heard.hear(5)
        pcm.overrun_once = 0.3
        await heard.until(lambda: source.overruns == 1)
        await heard.hear(5)
    assert len(heard.jumps) == 1
    assert heard.jumps[0] == pytest.approx(0.3 * SAMPLE_RATE, abs=0.05 * SAMPLE_RATE)
    assert heard.told == [True]


@pytest.mark.usefixtures("quick_return")
async def test_a_microphone_that_vanishes_and_returns_is_heard_again(
    alsa: AlsaDevices, caplog: pytest.LogCaptureFixture
) -> None:
    device, heard = alsa.microphone(), Listener()
    source = AlsaSource(device.name, on_state=heard.states.append)
    async with listening(heard, source):
        device.say(tone(300, 1.0))
        await heard.hear(25)
        device.unplug()
        await heard.until(lambda: heard.told == [True, False])
        await asyncio.sleep(0.4)
        device.plug()
        await heard.until(lambda: heard.told == [True, False, True])
        said = tone(700, 0.2)
        device.say(said)
        await heard.until(lambda: said.tobytes() in heard.sound.tobytes())
    assert len(heard.jumps) == 1
    assert heard.jumps[0] > 0
    lost = heard.states[1]
    assert lost.error is not None
    assert device.name in lost.text
    assert len([r for r in caplog.records if r.levelname == "WARNING"]) == 1


@pytest.mark.usefixtures("quick_return")
async def test_a_device_that_raises_for_ever_is_told_once_and_tried_again() -> None:
    pcm, heard = FakeMicrophonePcm(), Listener()
    async with listening(heard, fake_source(pcm, heard)):
        await heard.hear(3)
        pcm.lost = True
        await asyncio.sleep(0.4)
        assert heard.told == [True, False]
        assert heard.states[1].error is not None
        assert heard.states[1].error.code == "device-missing"
        pcm.lost = False
        await heard.hear(3)
    assert heard.told == [True, False, True]


@pytest.mark.usefixtures("quick_return")
async def test_a_device_that_falls_silent_without_an_error_is_opened_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(microphone, "STALLED", 0.3)
    pcm, heard = FakeMicrophonePcm(), Listener()
    async with listening(heard, fake_source(pcm, heard)):
        await heard.hear(3)
        pcm.silent = True
        await heard.until(lambda: heard.told == [True, False])
        assert "no more sound" in heard.states[1].text
        pcm.silent = False
        await heard.hear(3)


@pytest.mark.usefixtures("quick_return")
@pytest.mark.parametrize("value", [0, 1234])
async def test_a_microphone_that_delivers_one_value_only_is_dead_until_it_hears(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, value: int
) -> None:
    monkeypatch.setattr(microphone, "DEAD", 0.4)
    monkeypatch.setattr(microphone, "STILL_DEAD", 0.1)
    pcm, heard = FakeMicrophonePcm(), Listener()
    opened: list[Device] = []

    def open_device(*asked: object) -> Device:
        opened.append(pcm.device())
        return opened[-1]

    source = AlsaSource("fake", on_state=heard.states.append, open_device=open_device)
    async with listening(heard, source):
        await heard.hear(3)
        pcm.constant = value
        await heard.until(lambda: heard.told == [True, False])
        error = heard.states[1].error
        assert error is not None
        assert error.code == "device-silent"
        await heard.until(lambda: len(opened) >= 4)
        assert heard.told == [True, False]
        pcm.constant = None
        await heard.until(lambda: heard.told == [True, False, True])
    assert len([r for r in caplog.records if r.levelname == "WARNING"]) == 1


@pytest.mark.usefixtures("quick_return")
async def test_a_busy_device_is_taken_when_it_is_free() -> None:
    pcm, heard = FakeMicrophonePcm(busy=True), Listener()
    async with listening(heard, fake_source(pcm, heard)):
        await heard.until(lambda: heard.told == [False])
        error = heard.states[0].error
        assert error is not None
        assert error.code == "device-busy"
        pcm.busy = False
        await heard.hear(3)
    assert heard.told == [False, True]


@pytest.mark.usefixtures("quick_return")
async def test_one_that_comes_back_with_another_rate_is_heard_at_ours() -> None:
    pcm, heard = FakeMicrophonePcm(), Listener()
    async with listening(heard, fake_source(pcm, heard)):
        await heard.hear(5)
        pcm.lost = True
        await heard.until(lambda: heard.told == [True, False])
        pcm.rate, pcm.lost = 48_000, False
        before = len(heard.frames)
        await heard.until(lambda: heard.told == [True, False, True])
        await heard.hear(50)
    assert heard.states[-1].rate == 48_000
    later = heard.frames[before + 5 :]
    paces = np.diff([frame.heard_at for frame in later])
    assert paces.mean() == pytest.approx(0.02, abs=0.004)
    ramp = np.concatenate([frame.samples for frame in later[:10]]).astype(int)
    assert np.median(np.diff(ramp)) == 3  # of the ramp at 48 kHz every third value


@pytest.mark.usefixtures("quick_return")
async def test_forty_short_losses_in_a_row_leave_it_listening() -> None:
    pcm, heard = FakeMicrophonePcm(), Listener()
    async with listening(heard, fake_source(pcm, heard)):
        for _ in range(40):
            await heard.hear(1)
            pcm.lost = True
            await heard.until(lambda: not heard.told[-1])
            pcm.lost = False
            await heard.until(lambda: heard.told[-1])
        await heard.hear(3)
    assert heard.told == [True, *[False, True] * 40]
    await heard.until(lambda: all(one.name != "microphone" for one in threading.enumerate()))


async def test_a_device_that_fails_again_at_once_is_tried_less_and_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(microphone, "BACK_OFF", (0.01, 0.1, 5.0))
    pcm, heard = FakeMicrophonePcm(), Listener()
    opened: list[float] = []

    def open_device(*asked: object) -> Device:
        opened.append(time.monotonic())
        return pcm.device()

    def fail() -> tuple[int, bytes]:
        raise OSError("Input/output error [fake]")

    monkeypatch.setattr(pcm, "read", fail)
    source = AlsaSource("fake", on_state=heard.states.append, open_device=open_device)
    async with listening(heard, source):
        await heard.until(lambda: len(opened) == 3)
        await asyncio.sleep(0.3)
    assert len(opened) == 3
    assert heard.told == [False]


async def test_a_device_whose_sound_runs_away_is_told_once_and_never_heard(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(microphone, "BACK_OFF", (0.01, 0.1, 0.4, 5.0))
    caplog.set_level("INFO")
    heard, opened = Listener(), list[float]()

    def open_device(*asked: str | int) -> Device:
        opened.append(time.monotonic())
        return open_microphone("null", SAMPLE_RATE, 1)  # gives silence as fast as it is read

    source = AlsaSource("null", on_state=heard.states.append, open_device=open_device)
    async with listening(heard, source):
        await heard.until(lambda: len(opened) == 4)
        await asyncio.sleep(0.3)
    assert np.all(np.diff(opened) >= (0.01, 0.1, 0.4))  # less and less often
    assert (heard.told, heard.frames) == ([False], [])
    error = heard.states[0].error
    assert error is not None
    assert error.code == "device-pace"
    assert "hey-echo doctor microphone" in error.mend
    assert len(caplog.records) == 1


@pytest.mark.parametrize("delivers", [0.0, 0.2])
async def test_one_that_opens_and_fails_after_a_moment_is_told_once_however_often_it_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, delivers: float
) -> None:
    monkeypatch.setattr(microphone, "BACK_OFF", (0.3, 0.3, 0.3, 0.6))
    caplog.set_level("INFO")
    pcm, heard = FakeMicrophonePcm(fails_after=delivers), Listener()
    opened: list[Device] = []

    def open_device(*asked: object) -> Device:
        opened.append(pcm.device())
        return opened[-1]

    source = AlsaSource("fake", on_state=heard.states.append, open_device=open_device)
    async with listening(heard, source):
        await heard.until(lambda: len(opened) == 4)
        before, beginning = len(heard.frames), [True] if delivers else []
        assert heard.told == [*beginning, False]
        assert len(caplog.records) == len(heard.told)
        pcm.fails_after = None  # it is mended, and has to prove it
        await heard.until(lambda: heard.told == [*beginning, False, True])
        await heard.hear(3)
    assert (before == 0) is not bool(delivers)


async def test_a_missing_microphone_is_named_with_the_mend_and_listening_goes_on(
    alsa: AlsaDevices, tmp_path: Path
) -> None:
    heard = Listener()
    name = f"echomic:FIFO={tmp_path}/nothing"
    async with listening(heard, AlsaSource(name, on_state=heard.states.append)):
        await heard.until(lambda: bool(heard.states))
        assert not heard.ended
    error = heard.states[0].error
    assert error is not None
    assert error.code == "device-missing"
    assert name in error.what
    assert "arecord -L" in error.mend
    assert "audio.microphone" in error.mend


async def test_a_channel_that_the_device_has_not_is_named() -> None:
    pcm, heard = FakeMicrophonePcm(channels=2), Listener()
    source = AlsaSource(
        "fake",
        channel=4,
        on_state=heard.states.append,
        open_device=lambda *asked: pcm.device(),
    )
    async with listening(heard, source):
        await heard.until(lambda: bool(heard.states))
    assert "has 2 channels" in heard.states[0].text
    assert "audio.microphone_channel" in heard.states[0].text


async def test_a_process_that_stood_still_does_not_take_that_for_a_loss() -> None:
    pcm, heard, stood_still = FakeMicrophonePcm(), Listener(), 0.0
    source = AlsaSource(
        "fake",
        on_state=heard.states.append,
        open_device=lambda *asked: pcm.device(),
        clock=lambda: time.monotonic() + stood_still,
    )
    async with listening(heard, source):
        await heard.hear(3)
        stood_still = 2 * microphone.STALLED
        await heard.hear(3)
    assert heard.told == [True]


async def test_a_loop_that_is_late_for_long_loses_the_oldest_and_can_tell() -> None:
    pcm, heard = FakeMicrophonePcm(), Listener()
    source = fake_source(pcm, heard)
    async with listening(heard, source):
        await heard.hear(3)
        time.sleep(2.3)  # noqa: ASYNC251 - the loop is held up, on purpose
        await heard.hear(90)
    assert source.dropped > 0
    assert heard.jumps == [source.dropped * BLOCK]


async def test_closing_does_not_wait_for_a_driver_that_hangs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    release = threading.Event()
    pcm, heard = FakeMicrophonePcm(hangs=release), Listener()
    source = fake_source(pcm, heard)
    async with listening(heard, source):
        await asyncio.sleep(0.05)
        await asyncio.wait_for(source.close(), PATIENCE)  # the driver hangs on
    assert heard.ended
    assert "does not let go" in caplog.text
    release.set()
    await heard.until(lambda: pcm.closed)


async def test_a_closed_microphone_hears_nothing_until_it_is_opened() -> None:
    pcm, heard = FakeMicrophonePcm(), Listener()
    source = fake_source(pcm, heard)
    async with listening(heard, source):
        await heard.hear(5)
        source.close_capture()
        told_at = len(heard.frames)
        await heard.until(lambda: heard.states[-1].closed)
        assert pcm.closed
        await asyncio.sleep(0.2)
        assert len(heard.frames) == told_at
        source.open_capture()
        await heard.hear(5)
    assert [(state.ready, state.closed) for state in heard.states] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert heard.jumps[0] >= 0.2 * SAMPLE_RATE


async def test_a_microphone_can_be_closed_and_opened_while_it_is_lost() -> None:
    pcm, heard = FakeMicrophonePcm(lost=True), Listener()
    source = fake_source(pcm, heard)
    async with listening(heard, source):
        await heard.until(lambda: len(heard.states) == 1)
        source.close_capture()
        await heard.until(lambda: heard.states[-1].closed)
        source.open_capture()
        await heard.until(lambda: heard.states[-1].error is not None)
        pcm.lost = False
        await heard.hear(2)
    assert [(state.ready, state.closed) for state in heard.states] == [
        (False, False),
        (False, True),
        (False, False),
        (True, False),
    ]


async def test_a_driver_that_hangs_is_not_called_closed() -> None:
    release = threading.Event()
    pcm, heard = FakeMicrophonePcm(), Listener()
    source = fake_source(pcm, heard)
    async with listening(heard, source):
        await heard.hear(2)
        pcm.hangs = release
        await asyncio.sleep(0.1)
        source.close_capture()
        await asyncio.sleep(0.3)
        assert not heard.states[-1].closed
        release.set()
        await heard.until(lambda: heard.states[-1].closed)


async def test_no_thread_and_no_device_is_left_after_closing(alsa: AlsaDevices) -> None:
    device = alsa.microphone()
    for _ in range(5):
        source = AlsaSource(device.name)
        async with listening(Listener(), source) as heard:
            await heard.hear(2)
    await heard.until(lambda: all(one.name != "microphone" for one in threading.enumerate()))


async def test_closing_one_that_was_never_heard_is_nothing() -> None:
    await AlsaSource("nothing").close()
