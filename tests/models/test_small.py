"""Which language models are so small that an article is read out instead of told to them."""

from pathlib import Path

import pytest

from firmware_app.models import Model, catalogue, is_small


@pytest.mark.parametrize(
    ("name", "small"),
    [
        ("smollm2-135m-instruct", True),
        ("qwen2.5-0.5b-instruct", True),
        ("llama-3.2-1b-instruct", False),
        ("smollm2-1.7b-instruct", False),
    ],
)
def test_of_the_catalogue_its_parameters_tell(name: str, small: bool) -> None:
    assert is_small(catalogue()[name]) is small


@pytest.mark.parametrize(("megabytes", "small"), [(90, True), (1500, False)])
def test_of_the_owners_own_the_size_tells(tmp_path: Path, megabytes: int, small: bool) -> None:
    own = tmp_path / "own.gguf"
    with own.open("wb") as file:
        file.truncate(megabytes * 1_000_000)
    assert is_small(own) is small
    without = Model("own", "language-model", "llama", "en", "own", "own")
    assert is_small(without)  # nothing is known of it: the careful choice
