"""Follow-ups need no wake word, but a television must not talk to Echo all evening."""

from firmware_app.dialogue.follow_up import echoes
from firmware_app.events import ReplyEnded, State, TurnDropped, TurnTraced
from firmware_app.traces import Outcome
from tests.dialogue.conftest import MakeRoom, Room
from tests.dialogue.scripted import ScriptedModel


async def follow_up(r: Room, level: float = 0.2) -> None:
    """Speak into the open window."""
    await r.until_true(lambda: r.dialogue.busy and r.dialogue.expects_speech)
    await r.silence(200)
    await r.say(level=level)
    await r.silence()


async def test_a_follow_up_needs_no_wake_word(room: MakeRoom) -> None:
    async with room(("What time is it?", "And in Tokyo?"), follow_up=True) as r:
        await r.ask()
        await r.until(ReplyEnded)
        await follow_up(r)
        await r.until(ReplyEnded, 2)
        assert r.model.questions == ["What time is it?", "And in Tokyo?"]


async def test_the_window_closes_when_nobody_speaks(room: MakeRoom) -> None:
    async with room(follow_up=True) as r:
        await r.ask()
        await r.until(ReplyEnded)
        await r.until_it_listens()
        await r.silence(6500)
        await r.until_rest()
        assert r.rests_in(State.IDLE)


async def test_a_voice_much_quieter_than_the_wake_phrase_is_not_answered(room: MakeRoom) -> None:
    async with room(("What time is it?", "And now the weather."), follow_up=True) as r:
        await r.ask()
        await r.until(ReplyEnded)
        await follow_up(r, level=0.05)
        await r.say(level=0.05)
        await r.silence()
        assert (await r.until(TurnDropped)) == TurnDropped(Outcome.NOT_ADDRESSED)
        await r.until_rest()
        assert len(r.answers) == 1


async def test_mumbling_is_not_answered(room: MakeRoom) -> None:
    async with room(confidence=0.2, follow_up=True) as r:
        await r.ask()
        await r.until(ReplyEnded)
        await follow_up(r)
        await r.say()
        await r.silence()
        await r.until(TurnDropped)
        assert len(r.answers) == 1


async def test_after_three_follow_ups_the_wake_word_is_wanted_again(room: MakeRoom) -> None:
    async with room(follow_up=True) as r:
        await r.ask()
        for turn in (1, 2, 3):
            await r.until(ReplyEnded, turn)
            await follow_up(r)
        await r.until(TurnTraced, 4)
        await r.until_rest()
        await r.say()
        await r.silence()
        assert len(r.answers) == 4


async def test_echo_does_not_answer_its_own_voice(room: MakeRoom) -> None:
    answer = "The capital of France is Paris."
    heard = ("What is the capital of France?", "the capital of france is paris")
    async with room(heard, model=ScriptedModel([answer]), follow_up=True) as r:
        await r.ask()
        await r.until(ReplyEnded)
        await follow_up(r)
        await r.silence(6000)
        await r.until_rest()
        assert r.answers == [answer]


def test_a_piece_of_what_was_said_is_an_echo() -> None:
    said = "The capital of France is Paris, and that of Italy is Rome."
    assert echoes("France is Paris and that", said)
    assert not echoes("And what is the capital of Spain?", said)
    assert not echoes("Paris?", said)  # too short to tell from a question
