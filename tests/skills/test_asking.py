"""What Echo asks where it is in doubt, and what it takes for an answer."""

from firmware_app.skills.registry import Skills
from firmware_app.skills.timers.schedule import Alert
from tests.skills.conftest import DrivenClock, Speaker


def timers(skills: Skills) -> list[Alert]:
    return skills.timers.schedule.alerts("timer")


async def test_numbers_that_sound_alike_are_asked_about_where_the_recogniser_is_unsure(
    skills: Skills, say: Speaker
) -> None:
    asked = await say("Set a timer for fifteen minutes.", 0.4)
    assert asked == "Did you say a timer for 15 minutes or a timer for 50 minutes?"
    assert timers(skills) == []
    assert await say("Fifty.") == "50 minutes, starting now."
    assert [alert.seconds for alert in timers(skills)] == [3000]


async def test_the_whole_duration_is_an_answer_too(skills: Skills, say: Speaker) -> None:
    await say("Set a timer for fifty minutes.", 0.4)
    await say("Fifteen minutes.")
    assert [alert.seconds for alert in timers(skills)] == [900]


async def test_a_yes_to_one_of_two_is_no_answer(skills: Skills, say: Speaker) -> None:
    await say("Set a timer for fifty minutes.", 0.4)
    assert await say("Yes.") == ""
    assert timers(skills) == []


async def test_no_leaves_it_undone(skills: Skills, say: Speaker) -> None:
    await say("Set a timer for fifty minutes.", 0.4)
    assert await say("No.") == "All right."
    assert await say("Fifty minutes.") == ""
    assert timers(skills) == []


async def test_a_near_miss_is_done_after_a_yes(skills: Skills, say: Speaker) -> None:
    asked = await say("Seat a timing fir ten minutes.")
    assert asked == "Did you say a timer for 10 minutes?"
    assert await say("Yes, please.") == "10 minutes, starting now."


async def test_a_sure_recogniser_is_believed(skills: Skills, say: Speaker) -> None:
    assert await say("Set a timer for fifteen minutes.", 0.95) == "15 minutes, starting now."


async def test_what_is_missing_is_asked_for(skills: Skills, say: Speaker) -> None:
    assert await say("Set a timer.") == "For how long?"
    assert await say("Twenty minutes.") == "20 minutes, starting now."
    assert await say("Set an alarm.") == "For what time?"
    assert await say("Seven thirty tomorrow.") == "The alarm is set for tomorrow at 7:30 AM."
    assert await say("Remind me to buy milk.") == "When shall I remind you?"
    assert await say("At six.") == "I will remind you today at 6:00 PM: buy milk."


async def test_another_question_leaves_what_was_asked(skills: Skills, say: Speaker) -> None:
    await say("Set a timer.")
    assert await say("What time is it?") == "It is 5:00 PM."
    assert await say("Twenty minutes.") == ""


async def test_one_of_several_timers_is_chosen(skills: Skills, say: Speaker) -> None:
    await say("Set a pasta timer for 9 minutes.")
    await say("Set an egg timer for 6 minutes.")
    asked = await say("Cancel the timer.")
    assert asked == "Which one? the egg timer and the pasta timer."
    assert await say("The pasta timer.") == "The pasta timer is cancelled."
    assert [alert.name for alert in timers(skills)] == ["egg"]


async def test_two_timers_of_one_name_are_told_apart_by_their_length(
    skills: Skills, say: Speaker, clock: DrivenClock
) -> None:
    await say("Set a pasta timer for 9 minutes.")
    await say("Set a pasta timer for 7 minutes.")
    assert await say("How much time is left on the pasta timer?") == (
        "7 minutes left on the pasta timer. 9 minutes left on the pasta timer."
    )
    asked = "Which one? the pasta timer of 7 minutes and the pasta timer of 9 minutes."
    assert await say("Cancel the pasta timer.") == asked
    await say("The nine minute one.")
    assert [alert.seconds for alert in timers(skills)] == [420]
    await say("Set a pasta timer for 7 minutes.")
    await say("Cancel the pasta timer.")
    assert await say("The second one.") == "The pasta timer is cancelled."
    assert len(timers(skills)) == 1


async def test_all_is_an_answer(skills: Skills, say: Speaker, clock: DrivenClock) -> None:
    await say("Set a pasta timer for 9 minutes.")
    await say("Set an egg timer for 6 minutes.")
    await say("Cancel the timer.")
    assert await say("All of them.") == "All cancelled."
    assert timers(skills) == []
