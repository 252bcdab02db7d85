"""Rooms tell each other what happens, and wait for nobody."""

import asyncio

from firmware_app.events import Events, Listener, Notice, PartialTranscript, State, StateChanged
from tests.conftest import PATIENCE


async def take(listener: Listener, count: int) -> list[object]:
    taken: list[object] = []
    async with asyncio.timeout(PATIENCE):
        async for event in listener:
            taken.append(event)
            if len(taken) == count:
                break
    return taken


async def test_each_listener_hears_everything_in_order() -> None:
    events = Events()
    one, other = events.listen(), events.listen()
    events.publish(StateChanged(State.LISTENING))
    events.publish(PartialTranscript("what"))
    expected = [StateChanged(State.LISTENING), PartialTranscript("what")]
    assert await take(one, 2) == expected
    assert await take(other, 2) == expected


async def test_a_waiting_listener_is_woken() -> None:
    events = Events()
    listener = events.listen()
    waiting = asyncio.create_task(take(listener, 1))
    await asyncio.sleep(0)
    events.publish(StateChanged(State.IDLE))
    assert await waiting == [StateChanged(State.IDLE)]


async def test_a_slow_listener_loses_the_oldest_and_holds_up_nobody() -> None:
    events = Events()
    slow, quick = events.listen(size=2), events.listen()
    for number in range(5):
        events.publish(Notice("n", str(number)))
    assert await take(slow, 2) == [Notice("n", "3"), Notice("n", "4")]
    assert len(await take(quick, 5)) == 5


async def test_one_who_comes_later_hears_only_what_comes_later() -> None:
    events = Events()
    events.publish(Notice("n", "before"))
    late = events.listen()
    events.publish(Notice("n", "after"))
    assert await take(late, 1) == [Notice("n", "after")]


async def test_leaving_ends_the_iteration_after_what_was_heard() -> None:
    events = Events()
    listener = events.listen()
    events.publish(Notice("n", "heard"))
    events.unlisten(listener)
    events.publish(Notice("n", "missed"))
    async with asyncio.timeout(PATIENCE):
        assert [event async for event in listener] == [Notice("n", "heard")]


async def test_leaving_wakes_one_who_waits() -> None:
    events = Events()
    listener = events.listen()
    waiting = asyncio.create_task(take(listener, 1))
    await asyncio.sleep(0)
    events.unlisten(listener)
    assert await waiting == []
    events.unlisten(listener)  # twice does no harm


async def test_a_listener_that_stopped_iterating_can_go_on() -> None:
    events = Events()
    listener = events.listen()
    for number in range(3):
        events.publish(Notice("n", str(number)))
    assert await take(listener, 1) == [Notice("n", "0")]
    assert await take(listener, 2) == [Notice("n", "1"), Notice("n", "2")]
