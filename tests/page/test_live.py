"""What is said in the room is on the phone as it is said."""

import asyncio

import pytest
from playwright.async_api import expect

from firmware_app.events import Mode
from tests.page.conftest import Phone, Phones
from tests.web.stand import LASTING, OWNER, Stand

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="package")]


async def test_a_spoken_exchange_is_followed_as_it_happens(phone: Phone, there: Stand) -> None:
    await expect(phone.state).to_have_text("Ready")
    await phone.watch(".state")
    await there.live.wake("What time is it")
    await expect(phone.entries("assistant")).to_have_count(1)
    await expect(phone.state).to_have_text("Ready")
    assert await phone.seen() == ["Ready", "Listening", "Thinking", "Speaking", "Ready"]
    await expect(phone.page.locator(".thread .user .who")).to_contain_text("You said")

    await phone.watch(".now-box")
    there.live.answers.append(("tool:Looked at the clock.", "It is four", "and a bit."))
    await there.live.wake("And now")
    await expect(phone.entries("assistant").last).to_have_text("It is four and a bit.")
    seen = " / ".join(await phone.seen())
    steps = ["You are sayingAnd", "And now", "Looked at the clock.It is four", "and a bit."]
    assert [seen.find(step) >= 0 for step in steps] == [True] * 4, seen
    assert sorted(steps, key=seen.index) == steps
    await expect(phone.page.locator(".now.assistant")).to_be_hidden()
    await expect(phone.entries("user")).to_have_text(["What time is it", "And now"])


async def test_stop_ends_the_reply_and_what_was_said_stays_marked(
    phone: Phone, there: Stand
) -> None:
    there.live.answers.append(["A long", "story that", "goes on"] * LASTING)
    talk = asyncio.create_task(there.live.wake())
    await expect(phone.page.locator(".now.assistant .text")).to_contain_text("story")
    await phone.button("Stop").click()
    await talk
    await expect(phone.page.locator(".thread .assistant .mark")).to_have_text("Stopped here")
    await expect(phone.button("Stop")).to_be_disabled()


async def test_opened_in_the_middle_it_shows_what_was_said_before(
    phones: Phones, there: Stand
) -> None:
    await there.live.begin(OWNER, chat=None, new=True, save=False, mode=None)
    await there.live.wake("How old is the moon")
    there.live.answers.append(["Still", "speaking"] * LASTING)
    talk = asyncio.create_task(there.live.wake("And the sun"))
    while not there.live.current(OWNER, None, 10).reply:
        await asyncio.sleep(0.01)
    phone = await phones()
    await phone.open()
    await expect(phone.entries("user")).to_have_text(["How old is the moon", "And the sun"])
    await expect(phone.page.locator(".now.assistant .text")).to_contain_text("Still speaking")
    await expect(phone.page.locator(".saved")).to_have_text("Not saved")
    there.live.stop()
    await talk


async def test_what_was_said_earlier_is_loaded_above_and_nothing_jumps(
    phone: Phone, there: Stand
) -> None:
    there.live.pace = 0.0
    for n in range(40):
        await there.live.wake(f"What is {n} plus {n}")
    await phone.page.reload()
    entries = phone.page.locator(".thread .entry")
    await expect(entries).to_have_count(50)
    await phone.page.locator(".scroll").evaluate("scroll => { scroll.scrollTop = 0; }")
    place = "() => document.querySelector('[data-number=\"31\"]').getBoundingClientRect().top"
    before = await phone.page.evaluate(place)
    await phone.button("Load older").evaluate("button => button.click()")
    await expect(entries).to_have_count(80)
    assert await phone.page.evaluate(place) == pytest.approx(before, abs=2)
    await expect(phone.button("Load older")).to_be_hidden()


async def test_the_microphone_is_said_to_be_off_only_when_it_is(phone: Phone, there: Stand) -> None:
    line = phone.page.locator(".microphone")
    await expect(line).to_have_text("Microphone on")
    mute = phone.button("Mute the microphone")
    await mute.click()
    await expect(line).to_have_text("Microphone off")
    await expect(phone.state).to_have_text("Muted")
    await expect(mute).to_have_attribute("aria-pressed", "true")
    there.live.muted_by_button = True
    phone.expects_refusals = True
    await mute.click()
    await expect(phone.page.get_by_role("alert")).to_contain_text("only the button")
    await expect(line).to_have_text("Microphone off")


async def test_a_timer_rings_on_the_page_until_it_is_stopped(phone: Phone, there: Stand) -> None:
    there.live.ring("pasta")
    await expect(phone.state).to_have_text("Ringing: pasta")
    await phone.button("Stop").click()
    await expect(phone.state).to_have_text("Ready")


async def test_the_volume_follows_whoever_turns_it(phone: Phone, there: Stand) -> None:
    await phone.button("Volume").click()
    slider = phone.page.get_by_role("slider", name="Volume")
    await expect(slider).to_have_value("80")
    await there.change("voice.volume", 35)
    await expect(slider).to_have_value("35")
    await slider.press("ArrowRight")
    await expect(slider).to_have_attribute("aria-valuetext", "40 %")
    while there.loaded.settings.voice.volume != 40:
        await asyncio.sleep(0.01)


async def test_the_save_switch_is_of_the_conversation_about_to_begin(
    phone: Phone, there: Stand
) -> None:
    await phone.page.get_by_role("switch", name="Save this conversation").click()
    await expect(phone.page.locator(".saved")).to_have_text("Saved")
    await phone.button("Start").click()
    await expect(phone.page.locator(".saved")).to_have_text("Not saved")
    await there.live.wake("Is this kept")
    await expect(phone.entries("user")).to_have_text("Is this kept")
    kept = await there.store.conversations(OWNER, limit=1)
    assert kept[0].title != "Is this kept"


async def test_a_false_wake_can_be_told(phone: Phone, there: Stand) -> None:
    await there.live.wake("Something on television")
    await phone.page.get_by_role("button", name="for Echo").click()
    while not there.live.false_wakes:
        await asyncio.sleep(0.01)


async def test_voice_to_text_in_the_middle_of_a_reply_and_back(phone: Phone, there: Stand) -> None:
    there.live.answers.append([f"Part {n}." for n in range(300)])
    there.live.pace = 0.2  # it lasts longer than the patience of the test
    talk = asyncio.create_task(there.live.wake("Tell me all"))
    await expect(phone.page.locator(".now.assistant .text")).to_contain_text("Part 2.")
    await phone.page.get_by_role("radio", name="Text").check(force=True)
    await expect(phone.page.locator(".microphone")).to_have_text("Microphone off in text mode")
    there.live.pace = 0.0
    await talk
    there.live.pace = 0.05
    assert there.live.situation.mode is Mode.TEXT
    await expect(phone.page.locator(".thread .assistant .text")).to_contain_text("Part 299.")
    await phone.type("And then?")
    await expect(phone.page.locator(".hint").last).to_have_text("Answered here, silently.")
    await expect(phone.entries("assistant")).to_have_count(2)
    assert there.live.situation.mode is Mode.TEXT  # to send does not unmute
    await phone.page.get_by_role("radio", name="Voice").check(force=True)
    await expect(phone.page.locator(".microphone")).to_have_text("Microphone on")
    await expect(phone.entries("user")).to_have_text(["Tell me all", "And then?"])


async def test_a_phone_that_slept_catches_up_without_a_gap_or_a_double(
    phone: Phone, there: Stand
) -> None:
    await there.live.wake("Before it slept")
    await expect(phone.entries("assistant")).to_have_count(1)
    await phone.context.set_offline(True)
    await expect(phone.state).to_have_text("Not connected")
    phone.expects_refusals = True
    await there.live.wake("While it slept")
    there.live.answers.append(["Still", "on", "the", "way."] * LASTING)
    talk = asyncio.create_task(there.live.wake("When it woke"))
    await asyncio.sleep(0.3)
    await phone.context.set_offline(False)
    await expect(phone.state).to_have_text("Speaking")
    there.live.stop()
    await talk
    await expect(phone.entries("user")).to_have_text(
        ["Before it slept", "While it slept", "When it woke"]
    )
    await expect(phone.entries("assistant")).to_have_count(3)
    said = there.live.current(OWNER, None, 50).entries[-1].text
    await expect(phone.entries("assistant").last).to_have_text(said)


async def test_two_phones_of_two_people_see_nothing_of_each_other(
    phones: Phones, there: Stand
) -> None:
    ours, bobs = await phones(), await phones("bob")
    await ours.open()
    await bobs.open()
    await there.live.wake("Our secret question")
    await expect(ours.entries("user")).to_have_text("Our secret question")
    await expect(bobs.page.locator("body")).not_to_contain_text("secret")
    await bobs.type("Bob asks in his own thread")
    await expect(bobs.entries("assistant")).to_have_count(1)
    await expect(ours.page.locator("body")).not_to_contain_text("Bob asks")
    kept = await there.store.conversations(OWNER, limit=1)
    bobs.expects_refusals = True
    await bobs.open(f"chat/{kept[0].uuid}")
    await expect(bobs.page.get_by_text("There is no such conversation")).to_be_visible()
    await bobs.open("history")
    await expect(bobs.page.locator(".chats")).to_contain_text("Where are my keys?")
    await expect(bobs.page.locator(".chats")).not_to_contain_text("secret")
