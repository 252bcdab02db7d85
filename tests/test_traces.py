"""The times of a turn, and what is made of many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_app.traces import (
    KEPT,
    SPANS,
    Outcome,
    Stage,
    Trace,
    Traces,
    report,
    spread,
    summarise,
    wake_report,
)


def answered(**ms: float) -> Trace:
    """A trace whose stages came so many milliseconds after the clock's 100 s."""
    times = {Stage(name): 100 + at / 1000 for name, at in ms.items()}
    return Trace(0.0, times, outcome=Outcome.ANSWERED)


def test_a_stage_keeps_the_first_time_it_was_reached() -> None:
    trace = Trace(0.0)
    trace.mark(Stage.FIRST_AUDIO, 1.0)
    trace.mark(Stage.FIRST_AUDIO, 2.0)
    assert trace.times == {Stage.FIRST_AUDIO: 1.0}


def test_what_was_prepared_in_vain_is_forgotten_and_marked_anew() -> None:
    trace = answered(speech_end=0, first_token=300, first_clause=350)
    trace.forget(Stage.FIRST_TOKEN, Stage.FIRST_CLAUSE, Stage.FIRST_AUDIO)
    trace.mark(Stage.FIRST_TOKEN, 101.0)
    assert trace.span_ms(Stage.SPEECH_END, Stage.FIRST_TOKEN) == pytest.approx(1000)
    assert Stage.FIRST_CLAUSE not in trace.times


def test_a_span_needs_both_its_ends() -> None:
    trace = answered(speech_end=0, first_audio=812)
    assert trace.span_ms(Stage.SPEECH_END, Stage.FIRST_AUDIO) == pytest.approx(812)
    assert trace.span_ms(Stage.SPEECH_END, Stage.TRANSCRIPT) is None


def test_times_are_told_after_the_end_of_speech_in_order() -> None:
    trace = answered(first_audio=900, speech_end=100, detection=-500)
    told = trace.relative_ms()
    assert list(told) == [Stage.DETECTION, Stage.SPEECH_END, Stage.FIRST_AUDIO]
    assert list(told.values()) == pytest.approx([-600, 0, 800])
    assert Trace(0.0).relative_ms() == {}


def test_a_typed_turn_is_told_after_its_first_stage() -> None:
    told = answered(transcript=50, first_token=150).relative_ms()
    assert list(told.values()) == pytest.approx([0, 100])


def test_a_spread_of_nothing_is_none_and_of_one_is_that_one() -> None:
    assert spread("x", []) is None
    one = spread("x", [7.0])
    assert one
    assert (one.count, one.median_ms, one.p95_ms) == (1, 7.0, 7.0)


def test_median_and_95th_percentile() -> None:
    rows = spread("x", range(101))
    assert rows
    assert (rows.count, rows.median_ms, rows.p95_ms) == (101, 50, 95)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_a_spread_lies_within_its_values(values: list[float]) -> None:
    told = spread("x", values)
    assert told
    assert min(values) <= told.median_ms <= told.p95_ms + 1e-6
    assert told.p95_ms <= max(values) + 1e-6


def test_only_spans_that_happened_are_summed_up() -> None:
    rows = summarise([answered(speech_end=0, transcript=100), answered(speech_end=0), Trace(0.0)])
    assert [(row.name, row.count) for row in rows] == [("transcript", 1)]


def test_every_span_has_a_name_of_its_own() -> None:
    assert len({name for name, _, _ in SPANS}) == len(SPANS)


def test_a_report_counts_turns_and_outcomes() -> None:
    rejected = Trace(0.0, outcome=Outcome.REJECTED)
    told = report([answered(speech_end=0, first_audio=900), rejected, rejected])
    assert told["turns"] == 3
    assert told["outcomes"] == {"answered": 1, "rejected": 2}
    assert [row["name"] for row in told["spans"]] == ["end of speech to first audio"]


def test_the_last_thousand_are_kept() -> None:
    traces = Traces()
    for number in range(KEPT + 5):
        traces.add(Trace(float(number)))
    assert len(traces.recent()) == KEPT
    assert [trace.started for trace in traces.recent(2)] == [KEPT + 3, KEPT + 4]
    assert traces.recent(0) == []


def test_wake_ups_are_listed_and_counted_by_day() -> None:
    woken = Trace(0.0, outcome=Outcome.REJECTED, wake_score=0.8, second_stage_accepted=False)
    false = Trace(0.0, outcome=Outcome.ANSWERED, wake_score=0.9, false_wake=True)
    pressed = Trace(0.0, outcome=Outcome.ANSWERED)
    told = wake_report([woken, false, pressed])
    assert [wake["score"] for wake in told["wakes"]] == [0.8, 0.9]
    (counts,) = told["days"].values()
    assert counts == {"wakes": 2, "rejected": 1, "answered": 1, "false": 1}
