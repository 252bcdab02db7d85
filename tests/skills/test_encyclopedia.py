"""Questions that an encyclopedia answers; its files are made here with libzim."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from firmware_app.engines import Message
from firmware_app.errors import EngineError
from firmware_app.events import ReplyEnded, ToolUsed
from firmware_app.settings import EncyclopediaSettings, Settings
from firmware_app.skills import Call
from firmware_app.skills.building import World, build
from firmware_app.skills.encyclopedia import LEAD, Library, paragraphs, shortened
from firmware_app.skills.registry import Skills
from tests.dialogue.conftest import Keep, MakeRoom, keep, room
from tests.dialogue.scripted import ScriptedModel
from tests.skills.zim import make_zim

__all__ = ["keep", "room"]  # fixtures

CURIE = (
    "<html><head><style>p { color: red }</style><script>alert('<p>no</p>')</script></head><body>"
    "<table><tr><td><p>Born in Warsaw, on the seventh of November 1867</p></td></tr></table>"
    "<p></p><p><b>Marie Curie</b> (born <i>Sk\u0142odowska</i>; 1867) was a physicist &amp; chemist"
    "<sup>[1]</sup> who studied radioactivity. She won two Nobel Prizes.</p><h2>Life</h2>"
    "<p>She went to Paris in 1891 to study physics, chemistry and mathematics.</p></body></html>"
)
GOLD = "<p>Gold is a chemical element, a soft and yellow metal that does not rust.</p>"


@pytest.fixture
def zim(tmp_path: Path) -> Path:
    pages = {"Marie Curie": CURIE, "Gold": GOLD, "Mercury (planet)": GOLD.replace("Gold", "It")}
    return make_zim(tmp_path / "small.zim", pages, {"Madame Curie": "Marie Curie"})


def having(files: str) -> Skills:
    settings = replace(Settings(), encyclopedia=EncyclopediaSettings(files))
    return build(World(settings=lambda: settings))


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Who was Marie Curie?", "Marie Curie"),
        ("who is mary curie", "Marie Curie"),
        ("Tell me about Madame Curie", "Marie Curie"),
        ("what is gold", "Gold"),
        ("please tell me something about the gold", "Gold"),
        ("What do you know about Mercury?", "Mercury (planet)"),
        ("What is the capital of France?", None),
        ("who was Albert Einstein", None),
        ("What is my name?", None),
        ("Who is she?", None),
        ("Is gold heavy?", None),
    ],
)
async def test_a_question_reaches_the_article_of_that_title_or_the_model(
    zim: Path, question: str, title: str | None
) -> None:
    encyclopedia = having(str(zim)).encyclopedia
    assert encyclopedia
    article = await encyclopedia.answers(question)
    assert (article.title if article else None) == title


async def test_a_small_model_is_not_asked_but_the_article_read_out_and_kept(
    zim: Path, room: MakeRoom, keep: Keep
) -> None:
    model = ScriptedModel()
    async with (
        keep() as kept,
        room(
            ("Who was Marie Curie?",), model=model, keeper=kept.keeper, skills=having(str(zim))
        ) as r,
    ):
        await r.ask()
        ended = await r.until(ReplyEnded)
        assert ended.text == (
            "According to Test Encyclopedia: Marie Curie was a physicist and chemist who "
            "studied radioactivity. She won two Nobel Prizes. She went to Paris in 1891 to study "
            "physics, chemistry and mathematics."
        )
        assert model.asked == []
        [used] = r.all(ToolUsed)
        assert used.name == "look_up"
        assert used.text.startswith("Test Encyclopedia, Marie Curie: Marie Curie (born")
        kinds = [(entry.kind, entry.text) for entry in await kept.entries()]
        assert kinds == [
            ("user", "Who was Marie Curie?"),
            ("tool", used.text),
            ("assistant", ended.text),
        ]


async def test_a_large_model_reads_the_article_after_what_its_cache_keeps(
    zim: Path, room: MakeRoom
) -> None:
    model = ScriptedModel(["According to Test Encyclopedia, a soft metal."])
    model.small = False
    async with room(model=model, skills=having(str(zim))) as r:
        await r.typed("Hello.")
        await r.typed("What is gold?")
        before, now = model.asked
        assert now[: len(before)] == before
        assert now[-1].content.startswith("Test Encyclopedia says in the article Gold: Gold is a")
        assert now[-1].content.endswith("What is gold?")
        await r.typed("Thank you very much.")
        assert model.asked[-1][3] == Message("user", "What is gold?")  # not the article again


async def test_without_a_file_nothing_is_promised() -> None:
    skills = build(World())
    assert skills.encyclopedia is None
    assert "look_up" not in skills.tools
    abilities = await skills.use(Call("what_can_you_do"))
    assert "encyclopedia" not in abilities.text


async def test_with_one_it_is_among_what_echo_can_do(zim: Path) -> None:
    abilities = await having(str(zim)).use(Call("what_can_you_do"))
    assert "encyclopedia" in abilities.text
    assert "timers" in abilities.text


async def test_the_tool_finds_by_words_too_and_says_where_it_does_not(zim: Path) -> None:
    skills = having(str(zim))
    found = await skills.use(skills.checked("look_up", '{"about": "radioactivity"}'))
    assert found.recalls
    assert found.text.startswith("Test Encyclopedia, Marie Curie: ")
    nothing = await skills.use(skills.checked("look_up", '{"about": "xyzzy"}'))
    assert (nothing.text, nothing.recalls) == ("There is no article about xyzzy.", False)


def missing(path: Path) -> Path:
    return path / "missing.zim"


def damaged(path: Path) -> Path:
    (path / "damaged.zim").write_bytes(b"no ZIM file" * 100)
    return path / "damaged.zim"


@pytest.mark.parametrize("make", [missing, damaged])
async def test_a_file_that_cannot_be_used_is_named_once_and_the_model_answers(
    tmp_path: Path,
    room: MakeRoom,
    caplog: pytest.LogCaptureFixture,
    make: Callable[[Path], Path],
) -> None:
    bad = make(tmp_path)
    skills = having(str(bad))
    caplog.set_level(logging.ERROR)
    async with room(skills=skills) as r:
        assert await r.typed("Who was Marie Curie?") == "Yes."
        assert await r.typed("What is gold?") == "Yes."
    logged = [record.getMessage() for record in caplog.records]
    assert len(logged) == 1
    assert str(bad) in logged[0]
    told = await skills.use(skills.checked("look_up", '{"about": "gold"}'))
    assert told.text == "The encyclopedia cannot be read at the moment."
    with pytest.raises(EngineError, match=r"setting encyclopedia\.files"):
        Library(str(bad)).check()


async def test_a_broken_file_does_not_hide_a_whole_one(tmp_path: Path, zim: Path) -> None:
    encyclopedia = having(f"{damaged(tmp_path)}, {zim}").encyclopedia
    assert encyclopedia
    assert await encyclopedia.answers("What is gold?")


def test_only_so_much_of_a_page_is_taken_in_and_less_read_out() -> None:
    text = paragraphs("<p>" + "This sentence is one of very many. " * 500 + "</p>")
    assert len(text) <= LEAD
    assert text.endswith("many.")
    assert len(shortened(text)) <= 320
    assert paragraphs("<p>A page that never ends <b>its tags, and goes on and on") == (
        "A page that never ends its tags, and goes on and on"
    )
    assert paragraphs("<script><p>" + "x" * 60) == ""
