"""What people say to a speaker, and what of it a skill does. The sentences are in requests.csv."""

import pytest

from firmware_app.skills.building import World, build
from firmware_app.skills.registry import Skills
from tests.skills.conftest import DrivenClock
from tests.skills.requested import Request, assert_reached, requests


@pytest.fixture(scope="module")
def skills() -> Skills:
    """Without an effect: it is only asked what it understands."""
    return build(World(time=DrivenClock().local()))


FOR_SKILLS = [request for request in requests() if request.tool]
FOR_THE_MODEL = [request for request in requests() if not request.tool]


@pytest.mark.parametrize("request_", FOR_SKILLS, ids=lambda request: request.text)
def test_a_skill_is_reached_with_the_right_arguments(skills: Skills, request_: Request) -> None:
    assert_reached(skills, request_)


@pytest.mark.parametrize("request_", FOR_THE_MODEL, ids=lambda request: request.text)
def test_a_question_is_left_to_the_model(skills: Skills, request_: Request) -> None:
    assert skills.understand(request_.text) is None


def test_there_are_enough_of_both() -> None:
    assert len(FOR_SKILLS) >= 300
    assert len(FOR_THE_MODEL) >= 100


@pytest.mark.parametrize(
    "heard",
    [
        "set a time or for ten minutes",
        "sat a timer for 10 minutes",
        "Set a timer for 10 minute.",
        "set the timer for ten minutes",
        "set timer four 10 minutes",
        "Send a timer for 10 minutes.",
        "said a timer for ten minutes please",
    ],
)
def test_a_garbled_timer_is_the_right_timer_or_asked_about(skills: Skills, heard: str) -> None:
    understood = skills.understand(heard)
    assert understood
    if understood.call:
        assert understood.call.arguments == {"seconds": 600}
    else:
        assert understood.says
        assert understood.says.asks
        assert "10 minutes" in understood.says.text
