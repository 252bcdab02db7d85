"""Encyclopedias that are missing or damaged, and the line that doctor says."""

from pathlib import Path

import pytest

from firmware_app.doctor import Status
from firmware_app.doctor.checks import encyclopedia
from firmware_app.errors import EngineError
from tests.skills.zim import make_zim

GOLD = {"Gold": "<p>Gold is a chemical element, a soft and yellow metal.</p>"}


def test_those_that_can_be_read_are_named(tmp_path: Path) -> None:
    assert encyclopedia.judge("").line == "No encyclopedia is set up."
    one = make_zim(tmp_path / "one.zim", GOLD, title="One")
    other = make_zim(tmp_path / "other.zim", GOLD, title="Other")
    found = encyclopedia.judge(f"{one}, {other}")
    assert (found.status, found.line) == (Status.PASS, "2 encyclopedias: One, Other.")


@pytest.mark.parametrize(
    ("content", "what"), [(None, "is not there"), (b"cut off" * 9, "cannot be read")]
)
def test_one_that_is_missing_or_damaged_is_an_error_with_its_mend(
    tmp_path: Path, content: bytes | None, what: str
) -> None:
    whole = make_zim(tmp_path / "whole.zim", GOLD)
    bad = tmp_path / "bad.zim"
    if content:
        bad.write_bytes(content)
    with pytest.raises(EngineError, match=what) as caught:
        encyclopedia.judge(f"{whole}, {bad}")
    assert caught.value.code == "encyclopedia-file"
    assert str(bad) in caught.value.what
    assert "encyclopedia.files" in caught.value.mend
