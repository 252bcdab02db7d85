"""Every language is whole, and no skill says anything that is not in a language's file."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from firmware_app.settings_checks import find
from firmware_app.skills.language_files import FOLDER, languages, read

SKILLS = FOLDER.parent
FOR_PEOPLE_WHO_MEND = frozenset(
    # An error's own sentences are for logs and documents; what is said goes by its code.
    {"SkillError", "EngineError", "SettingsError", "ValueError"}
)
FOR_MODELS = frozenset({"SkillTool", "parameters"})
FOR_LOGS = frozenset({"debug", "info", "warning", "error"})
STATEMENT = re.compile(r"\b(?:INSERT|FROM|DELETE|SELECT|ORDER BY)\b")
A_SENTENCE = re.compile(r"[^\W\d_]{2,} [^\W\d_]+ [^\W\d_]+|[^\W\d_]{2,} [^\W\d_]+[.?!]")


def modules() -> list[Path]:
    return sorted(SKILLS.rglob("*.py"))


def sentences_in(module: Path) -> Iterator[str]:
    """Strings that read like a sentence and may be said."""
    tree = ast.parse(module.read_text("utf-8"))
    makes_errors = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and getattr(node.returns, "id", "").endswith("Error")
    }
    not_said = FOR_PEOPLE_WHO_MEND | FOR_MODELS | FOR_LOGS | makes_errors

    def look(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in not_said:
                return
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if not (isinstance(key, ast.Constant) and key.value == "description"):
                    yield from look(value)
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if A_SENTENCE.search(node.value) and not STATEMENT.search(node.value):
                yield node.value
            return
        for child in ast.iter_child_nodes(node):
            yield from look(child)

    yield from look(tree)


def test_what_looks_like_a_sentence_is_found(tmp_path: Path) -> None:
    module = tmp_path / "skill.py"
    module.write_text('def f(x):\n    """It says."""\n    return f"It is {x} now, my friend."\n')
    assert list(sentences_in(module)) == [" now, my friend."]


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.stem)
def test_no_skill_says_a_sentence_of_its_own(module: Path) -> None:
    assert list(sentences_in(module)) == []


def error_codes() -> set[str]:
    """Of all SkillErrors that skills raise."""
    return {
        str(node.args[0].value)
        for module in modules()
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "SkillError"
        and isinstance(node.args[0], ast.Constant)
    }


def whole(language: str) -> Mapping[str, dict[str, Any]]:
    return {file.stem: read(file) for file in (FOLDER / language).glob("*.yaml")}


def fields(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


@pytest.mark.parametrize("language", languages())
def test_a_language_says_why_something_cannot_be_done(language: str) -> None:
    assert error_codes() <= whole(language)["words"]["errors"].keys()


@pytest.mark.parametrize("language", languages())
def test_a_language_has_all_that_english_has(language: str) -> None:
    english, own = whole("en"), whole(language)
    assert own.keys() == english.keys()
    assert own["words"].keys() == english["words"].keys()
    for part in ("say", "phrases", "grammars"):
        assert own["words"][part].keys() >= english["words"][part].keys()
    for skill in english.keys() - {"words", "dialogue"}:
        assert own[skill].keys() == english[skill].keys() | (own[skill].keys() & {"rules"})
        for part in ("sentences", "answers"):
            assert own[skill].get(part, {}).keys() == english[skill].get(part, {}).keys()
        here, there = own[skill]["responses"], english[skill]["responses"]
        assert {name.removesuffix("_at_one") for name in here} == there.keys()
        for name, sentence in here.items():
            if isinstance(sentence, str):
                assert fields(sentence) <= fields(there[name.removesuffix("_at_one")])


def test_the_setting_offers_the_languages_that_there_are() -> None:
    assert list(find("language").choices) == languages()
