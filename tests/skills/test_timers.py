"""Timers, alarms and reminders: over restarts, clock jumps, no clock at boot, and summer time."""

import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_app.skills.building import World, build
from firmware_app.skills.moments import TimeOfDay
from firmware_app.skills.registry import Skills
from firmware_app.skills.timers.schedule import Schedule
from firmware_app.skills.timers.store import Alerts
from firmware_app.state import StateStore
from tests.skills.conftest import BERLIN, DrivenClock, Speaker

HOUR = 3600.0


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> datetime.datetime:
    return datetime.datetime(year, month, day, hour, minute, tzinfo=BERLIN)


def names(schedule: Schedule) -> list[str]:
    return [due.alert.name for due in schedule.due()]


async def test_ten_timers_survive_a_restart_of_echo_and_one_of_the_device(
    tmp_path: Path, clock: DrivenClock
) -> None:
    path = tmp_path / "state.db"
    store = StateStore(path)
    speaker = Speaker(build(World(time=clock.local(), alerts=Alerts(store))))
    dishes = ["pasta", "eggs", "bread", "rice", "soup", "beans", "cake", "tea", "fish", "pizza"]
    for minutes, dish in enumerate(dishes, 1):
        said = await speaker(f"Set a timer called {dish} for {minutes} minutes.")
        assert said.endswith("starting now.")
    store.close()

    clock.go_on(90)  # Echo is updated meanwhile; the device runs on
    store = StateStore(path)
    schedule = Schedule(clock.local(), await Alerts(store).load(), Alerts(store))
    assert len(names(schedule)) == 1
    lefts = [schedule.left(alert) for alert in schedule.alerts()]
    assert lefts == [60.0 * minutes - 90 for minutes in range(2, 11)]
    store.close()

    clock.restart(seconds_off=100)  # the power was off; two more came due meanwhile
    store = StateStore(path)
    schedule = Schedule(clock.local(), await Alerts(store).load(), Alerts(store))
    late = [round(due.late) for due in schedule.due()]
    assert late == [70, 10]
    assert [schedule.left(a) for a in schedule.alerts()] == [
        pytest.approx(60 * m - 190) for m in range(4, 11)
    ]
    store.close()


async def test_a_setting_of_the_clock_changes_no_timer(
    skills: Skills, say: Speaker, clock: DrivenClock
) -> None:
    await say("Set a timer for ten minutes.")
    schedule = skills.timers.schedule
    clock.wall += 5 * HOUR
    assert schedule.due() == []
    assert schedule.next_in() == 600
    clock.wall -= 24 * HOUR
    clock.go_on(599)
    assert schedule.due() == []
    clock.go_on(1)
    assert len(schedule.due()) == 1


async def test_without_a_clock_a_timer_runs_and_an_alarm_waits_and_says_so(
    skills: Skills, say: Speaker, clock: DrivenClock
) -> None:
    clock.trusted = False
    assert await say("What time is it?") == (
        "I do not know the time yet: this device has not reached a time server since it started."
    )
    assert await say("Set a timer for one minute.") == "1 minute, starting now."
    assert "only ring once this device has reached" in await say("Wake me up at 7 am.")
    assert "today's date" in await say("Wake me up tomorrow at 7 am.")
    clock.go_on(60)
    schedule = skills.timers.schedule
    assert [due.alert.kind for due in schedule.due()] == ["timer"]
    clock.go_on(20 * HOUR)
    assert schedule.due() == []
    assert schedule.next_in() is None
    clock.wall, clock.trusted = at(2026, 12, 1, 6).timestamp(), True
    assert schedule.next_in() == HOUR
    clock.go_on(HOUR)
    assert [due.alert.kind for due in schedule.due()] == ["alarm"]


def test_a_timer_whose_device_was_off_for_an_unknown_time_rings_and_tells(
    clock: DrivenClock,
) -> None:
    clock.trusted = False
    schedule = Schedule(clock.local())
    alert = schedule.count_down("timer", 600, "pasta")
    clock.restart()
    (due,) = Schedule(clock.local(), [alert]).due()
    assert due.lost
    assert not due.missed


@pytest.mark.parametrize(
    ("evening", "morning", "hours"),
    [
        (at(2027, 3, 27, 22), at(2027, 3, 28, 7), 8),  # the night that is an hour shorter
        (at(2026, 10, 24, 22), at(2026, 10, 25, 7), 10),  # and the one that is longer
    ],
)
def test_an_alarm_rings_at_its_hour_after_a_daylight_saving_night(
    clock: DrivenClock, evening: datetime.datetime, morning: datetime.datetime, hours: int
) -> None:
    clock.go_to(evening)
    schedule = Schedule(clock.local())
    schedule.at_time("alarm", TimeOfDay(7, 0, ambiguous=False), "once")
    schedule.at_time("alarm", TimeOfDay(7, 0, ambiguous=False), "daily", days=range(7))
    assert schedule.next_in() == hours * HOUR
    clock.go_to(morning)
    assert sorted(names(schedule)) == ["daily", "once"]
    assert schedule.next_in() == 24 * HOUR


def test_a_time_that_the_night_leaves_out_rings_once_and_one_that_comes_twice_too(
    clock: DrivenClock,
) -> None:
    for night in (at(2027, 3, 27, 22), at(2027, 10, 30, 22)):
        clock.go_to(night)
        schedule = Schedule(clock.local())
        schedule.at_time("alarm", TimeOfDay(2, 30, ambiguous=False), "daily", days=range(7))
        rung = []
        for _ in range(12 * 60):
            clock.go_on(60)
            rung += schedule.due()
        assert len(rung) == 1


def test_an_alarm_that_was_slept_through_by_the_device_rings_late_or_is_missed(
    clock: DrivenClock,
) -> None:
    schedule = Schedule(clock.local())
    schedule.at_time("alarm", TimeOfDay(18, 0, ambiguous=False))
    schedule.at_time("reminder", TimeOfDay(18, 0, ambiguous=False), "call Ann")
    kept = schedule.alerts()
    clock.restart(seconds_off=HOUR + 600)
    assert [(d.alert.kind, d.missed) for d in Schedule(clock.local(), kept).due()] == [
        ("alarm", False),
        ("reminder", False),
    ]
    clock.go_on(3 * HOUR)
    assert [(d.alert.kind, d.missed) for d in Schedule(clock.local(), kept).due()] == [
        ("alarm", True),
        ("reminder", False),
    ]


def test_a_clock_that_is_set_back_a_little_rings_nothing_twice(clock: DrivenClock) -> None:
    schedule = Schedule(clock.local())
    schedule.at_time("alarm", TimeOfDay(18, 0, ambiguous=False), "daily", days=range(7))
    clock.go_on(HOUR)
    assert names(schedule) == ["daily"]
    clock.wall -= 600
    for _ in range(30):
        clock.go_on(60)
        assert names(schedule) == []
    assert schedule.next_in() == pytest.approx(24 * HOUR - 1200)


def test_a_clock_that_was_years_ahead_silences_no_alarm(clock: DrivenClock) -> None:
    clock.wall += 4 * 365 * 24 * HOUR
    schedule = Schedule(clock.local())
    schedule.at_time("alarm", TimeOfDay(18, 0, ambiguous=False), "daily", days=range(7))
    clock.go_on(24 * HOUR)
    schedule.due()
    clock.wall -= 4 * 365 * 24 * HOUR
    schedule.due()
    assert schedule.next_in() is not None
    assert schedule.next_in() <= 24 * HOUR  # type: ignore[operator]


TIMES = st.builds(TimeOfDay, st.integers(0, 23), st.integers(0, 59), st.just(False))
START = at(2026, 1, 1).timestamp()
ANY_MOMENT = st.floats(START, START + 3 * 366 * 24 * HOUR)


@settings(max_examples=200, deadline=None)
@given(
    ANY_MOMENT,
    TIMES,
    st.sets(st.integers(0, 6), min_size=1),
    st.lists(st.floats(1.0, 40 * HOUR), min_size=1, max_size=30),
)
def test_a_repeated_alarm_is_always_ahead_and_rings_once_a_day(
    start: float, time: TimeOfDay, days: set[int], steps: list[float]
) -> None:
    clock = DrivenClock(wall=start)
    schedule = Schedule(clock.local())
    schedule.at_time("alarm", time, "daily", days=sorted(days))
    rung: list[datetime.date] = []
    for step in steps:
        clock.go_on(step)
        rung += [clock.local().at(clock.wall - due.late).date() for due in schedule.due()]
        left = schedule.next_in()
        assert left is not None
        assert 0 < left <= 7 * 24 * HOUR + HOUR
    assert len(rung) == len(set(rung))
    assert {day.weekday() for day in rung} <= days


@settings(max_examples=200, deadline=None)
@given(
    ANY_MOMENT,
    st.integers(1, 200_000),
    st.lists(st.tuples(st.floats(0.0, 5000.0), st.floats(-1e7, 1e7)), max_size=20),
)
def test_a_countdown_takes_its_time_whatever_becomes_of_the_clock(
    start: float, seconds: int, steps: list[tuple[float, float]]
) -> None:
    clock = DrivenClock(wall=start)
    schedule = Schedule(clock.local())
    schedule.count_down("timer", seconds)
    passed = 0.0
    for step, jump in steps:
        clock.wall += jump
        clock.go_on(step)
        passed += step
        due = schedule.due()
        assert bool(due) == (passed >= seconds)
        if due:
            return


async def test_snooze_lets_the_last_one_ring_again(
    skills: Skills, say: Speaker, clock: DrivenClock
) -> None:
    assert await say("Snooze.") == "Nothing has rung."
    await say("Wake me up at 6 pm.")
    clock.go_on(HOUR)
    schedule = skills.timers.schedule
    (due,) = schedule.due()
    assert skills.timers.ring_text(due) == "It is 6:00 PM."
    schedule.rang(due.alert)
    assert await say("Five more minutes.") == "I will ring again in 5 minutes."
    clock.go_on(300)
    assert [d.alert.kind for d in schedule.due()] == ["alarm"]


async def test_what_is_left_listed_changed_and_cancelled(
    skills: Skills, say: Speaker, clock: DrivenClock
) -> None:
    assert await say("How much time is left?") == "No timer is running."
    await say("Set a pasta timer for 9 minutes.")
    await say("Set a timer for an hour.")
    clock.go_on(60)
    assert await say("How much time is left on the pasta timer?") == (
        "8 minutes left on the pasta timer."
    )
    assert await say("What timers do I have?") == (
        "2 timers: the pasta timer, 8 minutes left and the 1 hour timer, 59 minutes left."
    )
    assert await say("Add five minutes to the pasta timer.") == "13 minutes left now."
    assert await say("Take 20 minutes off the pasta timer.") == "That is more than is left."
    assert await say("Cancel the one hour timer.") == "The 1 hour timer is cancelled."
    assert await say("Set an alarm for 7 am on weekdays.") == (
        "The alarm is set for 7:00 AM, every weekday. It rings first tomorrow at 7:00 AM."
    )
    assert await say("What alarms are set?") == "One alarm: 7:00 AM, every weekday."
    assert await say("Cancel the 7 am alarm.") == "The alarm for tomorrow at 7:00 AM is cancelled."
    assert await say("Set an alarm for 9 am today.") == "That time is over."


async def test_a_reminder_rings_with_its_text(
    skills: Skills, say: Speaker, clock: DrivenClock
) -> None:
    assert await say("Remind me to call Ann at half past five.") == (
        "I will remind you today at 5:30 PM: call ann."
    )
    clock.go_on(1800)
    (due,) = skills.timers.schedule.due()
    assert skills.timers.ring_text(due) == "A reminder: call ann."


async def test_a_timer_that_cannot_be_kept_says_so(clock: DrivenClock) -> None:
    speaker = Speaker(build(World(time=clock.local())))
    assert await speaker("Set a timer for one minute.") == (
        "1 minute, starting now. It would be lost if this device were switched off."
    )
