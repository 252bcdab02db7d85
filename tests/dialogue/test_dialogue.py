"""Turn-taking: what is answered, what interrupts what, and what vanishes."""

import asyncio
from dataclasses import replace

import pytest

from firmware_app.errors import UsageError
from firmware_app.events import (
    Notice,
    QuestionAsked,
    ReplyClause,
    ReplyEnded,
    State,
    StateChanged,
    Status,
    TurnDropped,
    TurnTraced,
    WakeWordHeard,
)
from firmware_app.traces import Outcome, Stage
from tests.dialogue.conftest import MakeRoom
from tests.dialogue.scripted import ScriptedModel, ScriptedVerifier

LONG = "One two three four five, six seven eight nine ten, eleven twelve thirteen fourteen fifteen."


async def test_a_question_in_one_breath_is_answered_aloud(room: MakeRoom) -> None:
    async with room(model=ScriptedModel(["It is noon."])) as r:
        await r.ask()
        ended = await r.until(ReplyEnded)
        assert ended == ReplyEnded(Status.COMPLETE, "It is noon.")
        assert r.sink.samples.any()
        await r.until(StateChanged, 5)
        assert [event.state for event in r.all(StateChanged)] == [
            State.IDLE,
            State.LISTENING,
            State.THINKING,
            State.SPEAKING,
            State.IDLE,
        ]


async def test_the_trace_of_a_turn_has_every_stage_in_order(room: MakeRoom) -> None:
    async with room() as r:
        await r.ask()
        trace = (await r.until(TurnTraced)).trace
        assert trace.outcome is Outcome.ANSWERED
        assert set(trace.times) == set(Stage)
        assert trace.times[Stage.FIRST_TOKEN] <= trace.times[Stage.FIRST_AUDIO]


async def test_whoever_goes_on_after_a_pause_is_answered_once_and_whole(room: MakeRoom) -> None:
    async with room(("Set a timer.", "Set a timer for ten minutes.")) as r:
        await r.call()
        await r.say()
        await r.silence(320)  # past the provisional endpoint, before the final one
        await r.say()
        await r.silence()
        await r.until(ReplyEnded)
        assert r.model.questions == ["Set a timer.", "Set a timer for ten minutes."]
        assert [event.text for event in r.all(QuestionAsked)] == ["Set a timer for ten minutes."]
        assert len(r.answers) == 1


async def test_the_model_never_hears_of_a_question_that_was_taken_back(room: MakeRoom) -> None:
    async with room(("Set a timer.", "Set a timer for ten minutes.", "Thanks.")) as r:
        await r.call()
        await r.say()
        await r.silence(320)
        await r.say()
        await r.silence()
        await r.until(ReplyEnded)
        await r.ask()
        await r.until(ReplyEnded, 2)
        contents = [message.content for message in r.model.asked[-1]]
        assert contents[1:] == ["Set a timer for ten minutes.", "Yes.", "Thanks."]


async def test_the_wake_word_stops_a_reply_and_the_part_that_sounded_counts(room: MakeRoom) -> None:
    async with room(("Count.", "Stop counting.")) as r:
        r.model.answers.extendleft([LONG])
        await r.ask()
        await r.until(ReplyClause)
        await r.until_heard(2)
        await r.call()
        first = await r.until(ReplyEnded)
        assert first.status is Status.INTERRUPTED
        assert LONG.startswith(first.text)
        assert 1 <= len(first.text.split()) <= r.words_heard + 1
        await r.say()
        await r.silence()
        assert (await r.until(ReplyEnded, 2)).status is Status.COMPLETE
        context = r.model.asked[-1][2].content
        assert context.startswith(first.text)
        assert context.endswith("…")


async def test_a_wake_word_alone_comes_to_nothing(room: MakeRoom) -> None:
    async with room() as r:
        await r.call()
        await r.silence(5500)
        assert await r.until(TurnDropped) == TurnDropped(Outcome.NOTHING_SAID)
        await r.until_rest()
        assert not r.model.asked
        assert not r.sink.samples.any()


async def test_a_noise_after_the_wake_word_is_waited_out(room: MakeRoom) -> None:
    async with room(("", "What time is it?")) as r:
        await r.call()
        await r.silence(300)
        await r.say(200)  # a cough, of which the recogniser makes nothing
        await r.silence(1000)
        await r.say()
        await r.silence()
        await r.until(ReplyEnded)
        assert r.model.questions == ["What time is it?"]


async def test_a_doubtful_wake_up_that_fails_the_second_look_makes_no_sound(room: MakeRoom) -> None:
    async with room(certain=False, verifier=ScriptedVerifier(accepts=False)) as r:
        await r.ask()
        assert await r.until(TurnDropped) == TurnDropped(Outcome.REJECTED)
        trace = (await r.until(TurnTraced)).trace
        assert trace.second_stage_score == -9.0
        assert trace.second_stage_ms
        await r.until_rest()
        assert not r.sink.samples.any()
        assert not r.all(QuestionAsked)


async def test_a_doubtful_wake_up_that_passes_is_answered(room: MakeRoom) -> None:
    async with room(certain=False, verifier=ScriptedVerifier(accepts=True)) as r:
        await r.ask()
        assert (await r.until(ReplyEnded)).status is Status.COMPLETE


async def test_a_doubtful_call_over_a_reply_stops_it_only_when_it_passes(room: MakeRoom) -> None:
    for accepts, status in ((False, Status.COMPLETE), (True, Status.INTERRUPTED)):
        verifier = ScriptedVerifier(accepts=accepts)
        model = ScriptedModel([LONG])
        async with room(model=model, certain=False, verifier=verifier) as r:
            r.dialogue.press()
            await r.say()
            await r.silence()
            await r.until(ReplyClause)
            await r.ask()
            assert (await r.until(ReplyEnded)).status is status
            assert len(r.all(WakeWordHeard)) == accepts
            await r.until(TurnTraced, 1 + accepts)
            traces = [event.trace for event in r.all(TurnTraced)]
            assert any(trace.outcome is Outcome.REJECTED for trace in traces) is not accepts
            (called,) = (trace for trace in traces if trace.wake_score)
            assert called.second_stage_accepted is accepts
            assert verifier.asked == 1


async def test_a_doubtful_call_while_echo_listens_takes_nothing_away_unless_it_passes(
    room: MakeRoom,
) -> None:
    heard = ("What time is it?", "And in Tokyo?")
    verifier = ScriptedVerifier(accepts=False)
    async with room(heard, follow_up=True, certain=False, verifier=verifier) as r:
        r.dialogue.press()
        await r.say()
        await r.silence()
        await r.until(ReplyEnded)
        await r.until_it_listens()
        await r.ask()
        await r.until(ReplyEnded, 2)
        assert r.model.questions == list(heard)
        assert verifier.asked == 1
        assert not r.all(WakeWordHeard)


async def test_a_press_listens_without_the_wake_word_and_stops_a_reply(room: MakeRoom) -> None:
    async with room(model=ScriptedModel([LONG])) as r:
        r.dialogue.press()
        await r.say()
        await r.silence()
        await r.until(ReplyClause)
        r.dialogue.press()
        assert (await r.until(ReplyEnded)).status is Status.INTERRUPTED
        await r.until_rest()
        assert r.rests_in(State.IDLE)


async def test_forty_presses_end_in_a_sane_state(room: MakeRoom) -> None:
    async with room() as r:
        for _ in range(40):
            r.dialogue.press()
            await r.hear(r.sink.samples[:0])
            await asyncio.sleep(0.01)
        await r.silence(5500)
        await r.until_rest()
        await r.ask()
        assert (await r.until(ReplyEnded)).status is Status.COMPLETE


async def test_a_model_that_dies_without_a_word_is_asked_once_more(room: MakeRoom) -> None:
    async with room(model=ScriptedModel(["Still here."])) as r:
        r.model.deaths.append(0)
        await r.ask()
        assert await r.until(ReplyEnded) == ReplyEnded(Status.COMPLETE, "Still here.")
        assert State.RECONNECTING in [event.state for event in r.all(StateChanged)]
        assert len(r.model.asked) == 2


async def test_a_model_that_dies_partway_leaves_what_was_said_and_an_apology(
    room: MakeRoom,
) -> None:
    async with room(model=ScriptedModel([LONG])) as r:
        r.model.deaths.append(7)
        await r.ask()
        ended = await r.until(ReplyEnded)
        assert ended.status is Status.FAILED
        assert ended.text.startswith("One two three four five,")
        assert any("went wrong" in clause.text for clause in r.all(ReplyClause))
        assert [notice.code for notice in r.all(Notice)] == ["model-died"]


async def test_a_fault_of_the_program_costs_one_turn(
    room: MakeRoom, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with room() as r:
        with monkeypatch.context() as broken:
            broken.setattr(r.model, "reply", None)  # calling it raises a TypeError
            await r.ask()
            assert (await r.until(Notice)).code == "turn-failed"
        assert r.all(ReplyEnded) == [ReplyEnded(Status.FAILED, "")]
        await r.until_rest()
        await r.ask()
        assert await r.until(ReplyEnded, 2) == ReplyEnded(Status.COMPLETE, "Yes.")
    assert "a turn failed" in caplog.text


async def test_a_typed_message_waits_for_the_reply_and_is_answered(room: MakeRoom) -> None:
    async with room(model=ScriptedModel([LONG, "Typed answer."])) as r:
        await r.ask()
        await r.until(ReplyClause)
        clauses = [clause async for clause in r.dialogue.ask("And this?")]
        assert clauses == ["Typed answer."]
        assert [event.status for event in r.all(ReplyEnded)] == [Status.COMPLETE] * 2
        assert [event.spoken for event in r.all(QuestionAsked)] == [True, False]


async def test_a_fifth_waiting_message_is_refused(room: MakeRoom) -> None:
    async with room(model=ScriptedModel([LONG])) as r:
        await r.ask()
        await r.until(ReplyClause)
        waiting = [asyncio.create_task(anext(r.dialogue.ask(str(n)))) for n in range(4)]
        await asyncio.sleep(0.01)
        with pytest.raises(UsageError, match="waiting for their answer"):
            await anext(r.dialogue.ask("one too many"))
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)


async def test_a_spoken_stop_is_no_question(room: MakeRoom) -> None:
    async with room(("Stop.",)) as r:
        await r.ask()
        await r.until(TurnTraced)
        assert not r.model.asked
        assert not r.all(QuestionAsked)


async def test_say_that_again_says_it_again_and_keeps_nothing(room: MakeRoom) -> None:
    async with room(("What time is it?", "Say that again.", "And now?")) as r:
        r.model.answers.extendleft(["It is noon."])
        await r.ask()
        await r.until(TurnTraced)
        await r.ask()
        await r.until(TurnTraced, 2)
        assert [event.text for event in r.all(ReplyClause)] == ["It is noon.", "It is noon."]
        await r.ask()
        await r.until(TurnTraced, 3)
        assert len(r.model.asked[-1]) == 4  # the prompt, one exchange, and the question


async def test_a_false_wake_up_is_noted_when_somebody_says_so(room: MakeRoom) -> None:
    async with room(("And now the news.", "That wasn't for you.")) as r:
        await r.ask()
        await r.until(TurnTraced)
        await r.ask()
        await r.until(TurnTraced, 2)
        first, second = r.traces.recent()
        assert (first.false_wake, second.false_wake) == (True, False)
        assert len(r.model.asked) == 1


async def test_a_new_conversation_forgets_the_old_one(room: MakeRoom) -> None:
    async with room(("What time is it?", "New conversation.", "And now?")) as r:
        for turn in (1, 2, 3):
            await r.ask()
            await r.until(TurnTraced, turn)
        assert [m.content for m in r.model.asked[-1]][1:] == ["And now?"]


async def test_a_lost_microphone_is_no_idling(room: MakeRoom) -> None:
    async with room() as r:
        r.dialogue.hears(False, "The microphone was unplugged.")
        assert r.rests_in(State.ERROR)
        r.dialogue.hears(True)
        assert r.rests_in(State.IDLE)


async def test_another_model_goes_on_with_the_same_conversation(room: MakeRoom) -> None:
    async with room() as r:
        await r.ask()
        await r.until(TurnTraced)
        other = ScriptedModel(["From the other one."])
        await r.dialogue.use(replace(r.engines, model=other))
        await r.ask()
        assert (await r.until(ReplyEnded, 2)).text == "From the other one."
        assert [m.content for m in other.asked[0]][1:] == [
            "What time is it?",
            "Yes.",
            "What time is it?",
        ]
