"""Going on with an old talk, from sound to sound: asked for, offered, confirmed and continued."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from firmware_app.engines.espeak import Espeak
from firmware_app.events import CarriedOn, Notice, WakeWordHeard
from firmware_app.frames import Samples
from firmware_app.history.records import NewConversation, NewEntry
from firmware_app.settings import Settings
from tests.dialogue.conftest import Keep, keep
from tests.journeys.conftest import Tell, asked, said_by

__all__ = ["keep"]  # a fixture

pytestmark = pytest.mark.journey

GARDEN = ("When do I water the garden?", "In the morning.")


async def test_our_talk_about_the_garden_is_offered_and_after_a_yes_gone_on_with(
    tell: Tell, keep: Keep, understood: Callable[[Samples], str]
) -> None:
    settings = replace(Settings(), voice=replace(Settings().voice, history="all"))
    voice = Espeak("en-us", 0.9)
    wish = asked(await said_by(voice, "Continue our talk about the garden."))
    async with keep(settings) as kept:
        garden = NewConversation("voice", "home", GARDEN[0])
        await kept.store.start(garden)
        for number, text in enumerate(GARDEN, 1):
            who = "user" if number % 2 else "assistant"
            await kept.store.write(NewEntry(garden.uuid, number, who, (text,)))  # type: ignore[arg-type]
        await kept.store.end(garden.uuid)
        said = [wish, await said_by(voice, "Yes, please.")]
        async with tell(said, settings=settings, keeper=kept.keeper) as story:
            carried_on = await story.until(CarriedOn)
            await story.heard_out()
        assert carried_on.uuid == garden.uuid
        assert kept.keeper.conversation.uuid == garden.uuid
        assert len(story.all(WakeWordHeard)) == 1  # the yes needed none
        assert not story.all(Notice)
        played = story.sink.samples
        heard = understood(played[played != 0])  # without the silence between
        assert "water the garden" in heard
        assert "continuing" in heard
