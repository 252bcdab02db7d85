"""The reference knows what left the loudspeaker at which time."""

import threading

import numpy as np

from firmware_app.audio.reference import KEPT, Reference
from firmware_app.frames import SAMPLE_RATE, Samples

OPENED = 50.0


def sound(count: int, seed: int = 1) -> Samples:
    return np.random.default_rng(seed).integers(-9000, 9000, count).astype(np.int16)


def test_what_is_played_stands_at_its_time_and_around_it_is_silence() -> None:
    reference, played = Reference(OPENED), sound(800)
    reference.add(OPENED + 2.0, played)
    at = reference.position_at(OPENED + 2.0)
    assert at == 2 * SAMPLE_RATE
    heard = reference.read(at - 100, 1000)
    assert np.array_equal(heard[100:900], played)
    assert not heard[:100].any()
    assert not heard[900:].any()


def test_what_follows_stands_without_a_gap_though_its_times_are_rough() -> None:
    reference, played = Reference(OPENED), sound(16_000)
    random = np.random.default_rng(2)
    for at in range(0, 16_000, 160):
        begins = OPENED + 1.0 + at / SAMPLE_RATE + random.normal(0, 0.002)
        reference.add(begins, played[at : at + 160])
    assert np.array_equal(reference.read(reference.run, 16_000), played)
    told = reference.position_at(OPENED + 1.5) - reference.run
    assert abs(told - SAMPLE_RATE // 2) < 80


def test_a_loudspeaker_whose_clock_is_slow_is_followed() -> None:
    reference = Reference(OPENED)
    pace = 1 + 200e-6
    for n in range(100 * 60):
        reference.add(OPENED + n * 0.01 * pace, sound(160))
    assert reference.run == 0
    assert abs(reference.position_at(OPENED + 60 * pace) - 60 * SAMPLE_RATE) < 32


def test_after_a_pause_or_an_interruption_a_new_run_begins_at_its_own_time() -> None:
    reference, first, second = Reference(OPENED), sound(1600, 1), sound(1600, 2)
    reference.add(OPENED, first)
    reference.add(OPENED + 1.0, second)
    assert reference.run == SAMPLE_RATE
    reference.interrupt()
    reference.add(OPENED + 1.1 + 0.005, first)
    assert reference.run == SAMPLE_RATE + 1600 + 80
    assert np.array_equal(reference.read(SAMPLE_RATE, 1600), second)
    assert not reference.read(SAMPLE_RATE + 1600, 80).any()


def test_what_was_cut_is_silence() -> None:
    reference, played = Reference(OPENED), sound(3200)
    reference.add(OPENED, played)
    reference.cut(OPENED + 0.1)
    assert reference.end == 1600
    assert np.array_equal(reference.read(0, 1600), played[:1600])
    assert not reference.read(1600, 1600).any()
    reference.add(OPENED + 0.15, played)
    assert not reference.read(1600, 800).any()
    assert np.array_equal(reference.read(2400, 3200), played)


def test_only_the_last_ten_seconds_are_kept() -> None:
    reference = Reference(OPENED)
    for n in range(15):
        reference.add(OPENED + n, np.full(SAMPLE_RATE, n + 1, np.int16))
    assert not reference.read(4 * SAMPLE_RATE, SAMPLE_RATE).any()
    assert set(reference.read(5 * SAMPLE_RATE, KEPT)) == set(range(6, 16))
    reference.add(OPENED + 100, np.full(10, 1, np.int16))
    assert not reference.read(90 * SAMPLE_RATE + 10, KEPT - 10).any()


def test_one_thread_feeds_it_while_another_reads() -> None:
    reference = Reference(OPENED)

    def feed() -> None:
        for n in range(2000):
            reference.add(OPENED + n * 0.01, np.full(160, n % 100 + 1, np.int16))

    thread = threading.Thread(target=feed)
    thread.start()
    torn = 0
    while thread.is_alive():
        start = (reference.end // 160 - 1) * 160
        torn += len(np.unique(reference.read(max(0, start), 160))) > 1
    thread.join()
    assert torn == 0
