"""Every error can be explained, and the page says the same as the command."""

import re
from pathlib import Path

import pytest

from firmware_app import explanations
from firmware_app.cli import main
from firmware_app.doctor import all_checks
from firmware_app.explanations import EXPLANATIONS, page
from tests.error_codes import codes

PAGE = Path(__file__).resolve().parents[1] / "docs" / "troubleshooting.md"


def test_every_code_that_is_raised_is_explained_and_no_other() -> None:
    raised = codes()
    assert len(raised) > 80  # the source was really read
    unexplained = {code: files for code, files in raised.items() if code not in EXPLANATIONS}
    assert unexplained == {}
    assert EXPLANATIONS.keys() - raised.keys() == set()


def test_codes_are_lower_case_words_with_hyphens() -> None:
    assert [code for code in codes() if not re.fullmatch(r"[a-z]+(-[a-z]+)*", code)] == []


@pytest.mark.parametrize("code", EXPLANATIONS)
def test_an_explanation_says_what_why_and_what_to_do(code: str) -> None:
    explanation = EXPLANATIONS[code]
    for sentence in (explanation.happened, explanation.why):
        assert re.fullmatch(r"[A-Za-z].*\.", sentence), sentence
    assert len(explanation.do) > 5


def test_the_checks_that_explanations_and_checks_name_exist() -> None:
    checks = {check.name for check in all_checks()}
    package = Path(explanations.__file__).parent
    text = page() + "".join(file.read_text(encoding="utf-8") for file in package.rglob("*.py"))
    named = [
        name
        for line in re.findall(r"hey-echo doctor((?: [a-z][a-z-]*)+)[`\".;,]", text)
        for name in line.split()
    ]
    assert len(named) > 20
    assert set(named) - checks == set()


def test_the_page_is_the_one_that_the_explanations_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "write it anew: python -m firmware_app.explanations > docs/troubleshooting.md"
    )


def test_explain_tells_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    for written in ("device-busy", "[device-busy]", "DEVICE-BUSY"):
        assert main(["explain", written]) == 0
        said = capsys.readouterr().out
        explanation = EXPLANATIONS["device-busy"]
        assert all(part in said for part in (explanation.happened, explanation.why, explanation.do))


@pytest.mark.parametrize("wrong", ["device-busi", "device_busy", "devicebusy"])
def test_a_wrong_code_gets_the_nearest(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", wrong]) == 2
    assert "Did you mean device-busy?" in capsys.readouterr().err


def test_a_code_like_no_other_leads_to_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "xyzzy"]) == 2
    assert "hey-echo explain" in capsys.readouterr().err


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines[1:]} == set(EXPLANATIONS)


def test_an_error_ends_with_the_code_that_explains_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "get", "voice.volum"]) == 78
    error = capsys.readouterr().err
    code = re.search(r"\[([a-z-]+)\]$", error.strip())
    assert code
    assert main(["explain", code[1]]) == 0
    capsys.readouterr()
