"""The loudspeaker plays what it is given, stops at once without a click, and holds up no turn."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator

import numpy as np
import pytest

from firmware_app.audio import loudspeaker
from firmware_app.audio.alsa import DeviceState
from firmware_app.audio.dsp import milliseconds
from firmware_app.audio.loudspeaker import AlsaSink, Ledger
from firmware_app.audio.player import FADE, Player
from firmware_app.frames import SAMPLE_RATE, Samples
from tests.alsa_fixture import AlsaDevices
from tests.audio.fake_pcm import FakeLoudspeakerPcm
from tests.audio.sounds import click_db, quality_db, tone
from tests.conftest import PATIENCE, until


@contextlib.asynccontextmanager
async def opened(sink: AlsaSink) -> AsyncIterator[AlsaSink]:
    try:
        yield sink
    finally:
        await sink.close()


def fake_sink(pcm: FakeLoudspeakerPcm, states: list[DeviceState] | None = None) -> AlsaSink:
    told = None if states is None else states.append
    return AlsaSink("fake", on_state=told, open_device=lambda *asked: pcm.device())


def at_our_rate(sound: Samples, rate: int = 48_000) -> Samples:
    return np.ascontiguousarray(sound[:: rate // SAMPLE_RATE])


async def say(sink: AlsaSink, sound: Samples) -> None:
    for start in range(0, len(sound), 320):
        await sink.write(sound[start : start + 320])


async def test_what_is_written_at_our_rate_is_heard_bit_for_bit(alsa: AlsaDevices) -> None:
    device = alsa.loudspeaker()
    said = np.random.default_rng(1).integers(-9000, 9000, 9_600).astype(np.int16)
    async with opened(AlsaSink(device.name, rate=SAMPLE_RATE)) as sink:
        await say(sink, said)
        await sink.drain()
        assert sink.heard == len(said)
    assert said.tobytes() in device.frames()[:, 0].tobytes()


@pytest.mark.parametrize("rate", [48_000, 44_100, 8_000])
async def test_at_another_rate_it_is_the_same_sound(alsa: AlsaDevices, rate: int) -> None:
    device = alsa.loudspeaker()
    async with opened(AlsaSink(device.name, rate=rate)) as sink:
        await say(sink, tone(440, 0.5))
        await sink.drain()
        assert sink.heard == SAMPLE_RATE // 2
        async with asyncio.timeout(PATIENCE):  # until the device rests, and the file is complete
            while len(np.trim_zeros(device.frames()[:, 0])) < rate * 0.49:
                await asyncio.sleep(0.05)
    heard = np.trim_zeros(device.frames()[:, 0]).astype(np.int16)
    assert len(heard) == pytest.approx(rate / 2, abs=rate * 0.003)
    scaled = round(440 * SAMPLE_RATE / rate)  # judged as if it were at our rate
    assert abs(scaled - 440 * SAMPLE_RATE / rate) < 1
    assert quality_db(heard, 440 * SAMPLE_RATE / rate) > 60


async def test_sound_leaves_at_the_speed_of_time_and_is_counted(alsa: AlsaDevices) -> None:
    async with opened(AlsaSink(alsa.loudspeaker().name)) as sink:
        started = time.monotonic()
        await say(sink, tone(440, 1.5))
        assert sink.delay > 0.1
        before = sink.heard
        await sink.drain()
        took = time.monotonic() - started
    assert before < SAMPLE_RATE * 1.5 == sink.heard
    assert took >= 1.5


async def test_little_is_queued_in_the_device() -> None:
    pcm = FakeLoudspeakerPcm()
    async with opened(fake_sink(pcm)) as sink:
        await say(sink, tone(440, 0.5))
        await sink.drain()
    limit = loudspeaker.AHEAD_AFTER_UNDERRUN if pcm.underruns else loudspeaker.AHEAD
    assert pcm.most_queued <= limit * pcm.rate


async def test_a_stop_is_heard_within_60_ms_and_does_not_click() -> None:
    said = tone(440, 5.0)
    late = []
    for _ in range(5):  # the best of them, for a busy machine is late by itself
        pcm = FakeLoudspeakerPcm()
        async with opened(fake_sink(pcm)) as sink:
            player = Player(sink)
            await player.queue(said)
            await asyncio.sleep(0.2)
            already = sink.heard
            position = await player.stop()
            assert position == sink.heard
            assert sink.delay == 0
            await asyncio.sleep(0.05)
            assert sink.heard == position
        late.append(position - already)
        heard = at_our_rate(pcm.sound())
        assert 0 < len(np.trim_zeros(heard)) <= position + 160
        if not pcm.underruns:
            assert click_db(heard) < click_db(said[: len(np.trim_zeros(heard)) - 160 + 13]) - 12
    assert min(late) <= milliseconds(60)


async def test_forty_stops_and_starts_leave_nothing_behind(alsa: AlsaDevices) -> None:
    before = set(threading.enumerate())
    async with opened(AlsaSink(alsa.loudspeaker().name)) as sink:
        for _ in range(40):
            player = Player(sink)
            await player.queue(tone(440, 1.0))
            await asyncio.sleep(0.02)
            await player.stop()
            assert sink.delay == 0
        assert len(set(threading.enumerate()) - before) == 1
    await until(lambda: set(threading.enumerate()) <= before)


async def test_after_a_stop_the_next_word_is_whole() -> None:
    pcm = FakeLoudspeakerPcm(rate=SAMPLE_RATE, buffer=2_560)
    async with opened(fake_sink(pcm)) as sink:
        first = Player(sink)
        await first.queue(tone(440, 5.0))
        await asyncio.sleep(0.1)
        await first.stop()
        said = tone(700, 0.3)
        second = Player(sink)
        await second.queue(said)
        await second.drained()
        assert second.position == len(said)
        await asyncio.sleep(0.05)
    if not pcm.underruns:
        assert said[FADE:-FADE].tobytes() in pcm.sound().tobytes()


async def test_after_an_underrun_more_is_queued_and_later_less_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loudspeaker, "CALM", 0.5)
    pcm = FakeLoudspeakerPcm()
    hold = threading.Event()
    write = pcm.write

    def late_write(data: bytes) -> int:
        if hold.is_set():
            hold.clear()
            time.sleep(0.15)
        return write(data)

    monkeypatch.setattr(pcm, "write", late_write)
    async with opened(fake_sink(pcm)) as sink:
        player = Player(sink)
        await player.queue(tone(440, 2.5))
        await asyncio.sleep(0.3)
        before = sink.underruns
        hold.set()
        await until(lambda: sink.underruns > before)
        await until(lambda: pcm.most_queued > loudspeaker.AHEAD * pcm.rate)
        assert pcm.most_queued <= (loudspeaker.AHEAD_AFTER_UNDERRUN + 0.001) * pcm.rate
        await player.drained()
        assert player.position == SAMPLE_RATE * 2.5
        assert np.count_nonzero(pcm.sound()) > 2.4 * pcm.rate
        seen = sink.underruns
        await asyncio.sleep(1.0)
        pcm.most_queued = 0
        await say(sink, tone(440, 0.3))
        await sink.drain()
        if sink.underruns == seen:  # a busy machine makes some of its own
            assert pcm.most_queued <= loudspeaker.AHEAD * pcm.rate


async def test_a_small_buffer_is_enough() -> None:
    pcm = FakeLoudspeakerPcm(rate=SAMPLE_RATE, buffer=480)  # 30 ms
    async with opened(fake_sink(pcm)) as sink:
        await say(sink, tone(440, 0.3))
        await asyncio.wait_for(sink.drain(), PATIENCE)
        await asyncio.sleep(0.1)
    assert np.count_nonzero(pcm.sound()) > 0.29 * SAMPLE_RATE


async def test_a_pause_between_clauses_is_silent_and_then_the_device_rests() -> None:
    pcm = FakeLoudspeakerPcm()
    async with opened(fake_sink(pcm)) as sink:
        player = Player(sink)
        await player.queue(tone(440, 0.2))
        await asyncio.sleep(0.5)
        await player.queue(tone(440, 0.2))
        await player.drained()
        assert player.position == SAMPLE_RATE * 0.4
        await asyncio.sleep(loudspeaker.LINGER + 0.3)
        async with asyncio.timeout(PATIENCE):
            quiet = -1
            while len(pcm.sound()) != quiet:
                quiet = len(pcm.sound())
                await asyncio.sleep(0.1)
    assert click_db(at_our_rate(pcm.sound())) < -50


async def test_a_lost_loudspeaker_holds_up_no_turn_and_returns(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loudspeaker, "BACK_OFF", (0.1,))
    pcm = FakeLoudspeakerPcm()
    states: list[DeviceState] = []
    async with opened(fake_sink(pcm, states)) as sink:
        player = Player(sink)
        await player.queue(tone(440, 2.0))
        await until(lambda: bool(len(pcm.sound())))
        pcm.lost = True
        started, left = time.monotonic(), sink.delay
        await asyncio.wait_for(player.drained(), PATIENCE)
        assert time.monotonic() - started > left - 0.1
        assert [state.ready for state in states] == [True, False]
        pcm.lost = False
        await until(lambda: len(states) == 3)
        assert states[-1].ready
        before = len(pcm.sound())
        await say(sink, tone(440, 0.2))
        await sink.drain()
        assert np.count_nonzero(pcm.sound()[before:]) > 0.15 * pcm.rate
    assert len([r for r in caplog.records if r.levelname == "WARNING"]) == 1


async def test_one_that_opens_and_takes_nothing_is_told_once_until_it_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loudspeaker, "BACK_OFF", (0.05,))
    pcm = FakeLoudspeakerPcm()
    states: list[DeviceState] = []
    async with opened(fake_sink(pcm, states)) as sink:
        await say(sink, tone(440, 0.2))
        pcm.broken = True
        await asyncio.wait_for(say(sink, tone(440, 1.0)), PATIENCE)
        await asyncio.wait_for(sink.drain(), PATIENCE)
        await until(lambda: len(states) == 2)
        await asyncio.sleep(0.3)  # some tries
        assert [state.ready for state in states] == [True, False]
        pcm.broken = False
        await until(lambda: states[-1].ready)
    assert len([r for r in caplog.records if r.levelname == "WARNING"]) == 1


async def test_the_reference_holds_what_is_heard_at_its_time() -> None:
    said, late = tone(300, 0.5), []
    for _ in range(5):  # the best of them, for a busy machine is late by itself
        async with opened(fake_sink(FakeLoudspeakerPcm())) as sink:
            await say(sink, said)
            await sink.drain()
            reference = sink.reference
            assert np.array_equal(reference.read(reference.run, len(said)), said)
            late.append(reference.position_at(time.monotonic()) - reference.end)
    assert min(map(abs, late)) <= 0.1 * SAMPLE_RATE


async def test_what_a_stop_dropped_is_not_in_the_reference() -> None:
    pcm = FakeLoudspeakerPcm()
    async with opened(fake_sink(pcm)) as sink:
        player = Player(sink)
        await player.queue(tone(300, 2.0))
        await asyncio.sleep(0.3)
        heard = await player.stop()
        reference = sink.reference
        assert reference.end - reference.run == pytest.approx(heard, abs=0.06 * SAMPLE_RATE)
        assert not reference.read(reference.end, SAMPLE_RATE).any()


async def test_a_loudspeaker_that_takes_no_more_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loudspeaker, "STALLED", 0.3)
    pcm = FakeLoudspeakerPcm()
    states: list[DeviceState] = []
    async with opened(fake_sink(pcm, states)) as sink:
        await sink.write(tone(440, 0.2))
        await asyncio.sleep(0.1)
        pcm.stuck = True
        async with asyncio.timeout(PATIENCE):
            await say(sink, tone(440, 1.0))
            while len(states) < 2:
                await asyncio.sleep(0.02)
        pcm.stuck = False
    assert "takes no more sound" in states[1].text


async def test_a_missing_loudspeaker_is_named_with_the_mend_and_stop_does_not_hang(
    alsa: AlsaDevices,
) -> None:
    states: list[DeviceState] = []
    name = "plughw:CARD=absent"
    async with opened(AlsaSink(name, on_state=states.append)) as sink:
        player = Player(sink)
        await player.queue(tone(440, 60.0))
        await asyncio.sleep(0.2)
        position = await asyncio.wait_for(player.stop(), PATIENCE)
        assert 0 < position < 60 * SAMPLE_RATE
    error = states[0].error
    assert error is not None
    assert error.code == "device-missing"
    assert name in error.what
    assert "aplay -L" in error.mend
    assert "audio.loudspeaker" in error.mend


async def test_closing_takes_no_longer_than_half_a_second_even_when_the_driver_hangs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    release, gone = threading.Event(), threading.Event()
    pcm = FakeLoudspeakerPcm()

    class HangingPcm(FakeLoudspeakerPcm):
        def write(self, data: bytes) -> int:
            release.wait()
            return len(data) // 2

        def close(self) -> None:
            gone.set()

    pcm = HangingPcm()
    sink = fake_sink(pcm)
    await sink.write(tone(440, 0.1))
    await asyncio.sleep(0.05)
    await asyncio.wait_for(sink.close(), PATIENCE)  # the driver hangs on
    assert "does not let go" in caplog.text
    release.set()
    assert gone.wait(PATIENCE)


def test_the_ledger_knows_what_has_been_heard() -> None:
    ledger = Ledger()
    ledger.add(10.0, SAMPLE_RATE)
    ledger.add(12.0, SAMPLE_RATE)  # after a second of silence
    assert ledger.heard(9.0) == 0
    assert ledger.heard(10.5) == SAMPLE_RATE // 2
    assert ledger.heard(11.5) == SAMPLE_RATE
    assert ledger.left(11.5) == pytest.approx(1.5)
    ledger.cut(12.25)
    assert ledger.heard(99.0) == SAMPLE_RATE * 1.25
    assert ledger.left(12.3) == 0
