"""The model is told what fits, oldest first to go, and each request begins like the one before."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from firmware_app import models as catalogue
from firmware_app.dialogue.prompt import Exchange, Prompt, Summary, system_prompt
from firmware_app.dialogue.speakable import speakable
from firmware_app.engines import Message
from firmware_app.engines.llama import LlamaModel
from firmware_app.errors import SettingsError
from firmware_app.events import Status
from firmware_app.settings import ModelSettings, Settings


class FakeCounter:
    """A token a word; remembers which texts it was asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, texts: Sequence[str]) -> list[int]:
        self.asked += texts
        return [len(text.split()) for text in texts]


def exchanges(count: int, words: int = 10) -> list[Exchange]:
    return [Exchange(f"question {n} " + "w " * (words - 2), "a " * words) for n in range(count)]


async def test_a_conversation_becomes_messages_in_order() -> None:
    prompt = Prompt("Be Echo.", 1000, FakeCounter())
    assert await prompt.messages([Exchange("Who?", "Me.")], "Why?") == [
        Message("system", "Be Echo."),
        Message("user", "Who?"),
        Message("assistant", "Me."),
        Message("user", "Why?"),
    ]


async def test_without_a_question_the_messages_are_the_beginning_of_those_with_one() -> None:
    prompt = Prompt("Be Echo.", 1000, FakeCounter())
    said = [Exchange("Who?", "Me.")]
    warm, asked = await prompt.messages(said), await prompt.messages(said, "Why?")
    assert asked[: len(warm)] == warm
    assert len(asked) == len(warm) + 1


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        ("It is Paris.", Status.COMPLETE, "It is Paris."),
        ("It is Par ", Status.INTERRUPTED, "It is Par \u2026"),
        ("It is", Status.FAILED, "It is \u2026"),
        ("", Status.INTERRUPTED, "\u2026"),
    ],
)
async def test_an_answer_that_broke_off_shows_it(answer: str, status: Status, told: str) -> None:
    prompt = Prompt("Be Echo.", 1000, FakeCounter())
    messages = await prompt.messages([Exchange("Where?", answer, status)])
    assert messages[-1] == Message("assistant", told)


async def test_the_oldest_go_and_what_stays_fits() -> None:
    counter = FakeCounter()
    said = exchanges(50)
    messages = await Prompt("Be Echo.", 400, counter).messages(said, "And now?")
    assert sum(len(m.content.split()) for m in messages) <= 400
    assert messages[0] == Message("system", "Be Echo.")
    assert messages[-2].content == said[-1].answer
    assert len(messages) > 10


async def test_the_beginning_seldom_changes_as_the_conversation_grows() -> None:
    prompt = Prompt("Be Echo.", 400, FakeCounter())
    said = exchanges(60)
    cuts = 0
    before = await prompt.messages([])
    for length in range(1, len(said)):
        for question in (None, said[length].question):  # read beforehand, then asked
            messages = await prompt.messages(said[:length], question)
            cuts += messages[: len(before)] != before
            before = messages
    assert 1 <= cuts <= 60 / 5


async def test_a_question_larger_than_all_is_still_asked_alone() -> None:
    messages = await Prompt("Be Echo.", 100, FakeCounter()).messages(exchanges(3), "w " * 500)
    assert [m.role for m in messages] == ["system", "user"]


async def test_a_text_is_counted_once_and_then_forgotten() -> None:
    counter = FakeCounter()
    prompt = Prompt("Be Echo.", 1000, counter)
    await prompt.messages([Exchange("Who?", "Me.")], "Why?")
    await prompt.messages([Exchange("Who?", "Me.")], "Why?")
    assert sorted(counter.asked) == sorted(["Be Echo.", "Who?", "Me.", "Why?"])
    await prompt.messages([])
    await prompt.messages([], "Why?")
    assert counter.asked.count("Why?") == 2


@pytest.mark.journey
async def test_the_packaged_model_answers_shortly_and_mostly_right(models: Path) -> None:
    path = catalogue.find("llama", "", Settings())
    model = LlamaModel("smollm2", path, ModelSettings(temperature=0.0))
    prompt = Prompt(system_prompt("", "en"), 1800, model.count)
    capitals = {
        "France": "Paris",
        "Italy": "Rome",
        "Japan": "Tokyo",
        "Germany": "Berlin",
        "Spain": "Madrid",
        "Egypt": "Cairo",
    }
    right = 0
    for country, capital in capitals.items():
        messages = await prompt.messages([], f"What is the capital of {country}?")
        answer = "".join([str(part) async for part in model.reply(messages)])
        right += capital in answer
        assert len(answer.split()) <= 60
        assert speakable(answer)
    await model.close()
    assert right >= 4


def test_the_model_is_asked_to_answer_in_the_language_that_is_set() -> None:
    assert "español" in system_prompt("", "es")
    assert "español" not in system_prompt("", "en")


async def test_what_was_said_before_is_told_in_the_language_that_is_set() -> None:
    summary = Summary("Hay tomates.", 2)
    told = await Prompt("Eres Echo.", 1000, FakeCounter(), "es").messages([], "¿Y ahora?", summary)
    assert told[0].content == "Eres Echo.\n\nAntes, en esta conversación: Hay tomates."


def test_the_owner_may_write_the_system_prompt(tmp_path: Path) -> None:
    persona = tmp_path / "persona.txt"
    persona.write_text("You are a pirate.\n")
    assert system_prompt(str(persona), "en") == "You are a pirate."
    assert "Echo" in system_prompt("", "en")


def test_a_missing_or_binary_persona_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"persona\.txt \(setting dialogue\.persona\)"):
        system_prompt(str(tmp_path / "persona.txt"), "en")
    (tmp_path / "persona.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="cannot be read"):
        system_prompt(str(tmp_path / "persona.txt"), "en")
