"""What fits a box is computed from what was measured on it, and the arithmetic is plain."""

from pathlib import Path

import pytest

from firmware_app.engines.speed import Speed, measure
from firmware_app.model_store.advice import Box, Measured, best, estimate, room, this_box
from firmware_app.models import Model, ModelFile, catalogue
from firmware_app.settings import ModelSettings

MB = 1_000_000


def model(name: str, mb: int, parameters: int, kv: int = 10_000, language: str = "en") -> Model:
    return Model(
        name,
        "language-model",
        "llama",
        language,
        "MIT",
        "extra",
        parameters=parameters,
        kv_bytes=kv,
        files=(ModelFile("m.gguf", mb * MB, "0" * 64),),
    )


SMALL = model("small", 100, 100 * MB)
MEASURED = Measured(SMALL, prompt=400.0, generated=50.0, memory=200.0)


def test_memory_is_the_file_the_cache_and_what_the_measured_one_took_beyond() -> None:
    other = estimate(model("large", 500, 500 * MB, kv=20_000), MEASURED, context=2000, room=1000)
    beyond = 200 - 100 - 20
    assert other.memory == pytest.approx(500 + 40 + beyond)


def test_reading_costs_by_parameter_and_writing_by_byte() -> None:
    other = estimate(model("large", 400, 800 * MB), MEASURED, context=2000, room=1000)
    assert other.prompt == pytest.approx(50)
    assert other.generated == pytest.approx(12.5)
    assert other.first_sound == pytest.approx(20 / 50 + 8 / 12.5)
    assert other.answer == pytest.approx(20 / 50 + 40 / 12.5)
    assert other.quick


def test_the_measured_model_is_estimated_as_it_was_measured() -> None:
    same = estimate(SMALL, MEASURED, context=2000, room=1000)
    assert (same.memory, same.prompt, same.generated) == pytest.approx((200, 400, 50))


def test_the_largest_that_fits_is_quick_and_speaks_the_language_is_named() -> None:
    models = [
        SMALL,
        model("german", 150, 150 * MB, language="de"),
        model("best", 200, 200 * MB, language="multilingual"),
        model("slow", 5_000, 5_000 * MB),
        model("huge", 300, 300 * MB, kv=10 * MB),
    ]
    estimates = [estimate(each, MEASURED, context=2000, room=600) for each in models]
    assert [each.fits for each in estimates] == [True, True, True, False, False]
    chosen = best(estimates, "en")
    assert chosen
    assert chosen.model.name == "best"
    german = best(estimates[1:2], "de")
    assert german
    assert german.model.name == "german"
    assert best(estimates[3:], "en") is None


def test_room_is_what_is_free_less_what_comes_besides() -> None:
    box = Box(memory=2000, available=1500, cores=4, load=0.1)
    assert room(box, beside=300, freed=0) == 1500 - 300 - 300
    assert room(box, beside=0, freed=200) == 1500 + 200 - 300
    assert not box.busy
    assert Box(2000, 1500, 4, 2.5).busy


def test_the_box_is_read_as_linux_says(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  2000000 kB\nMemFree: 1 kB\nMemAvailable:  1000000 kB\n")
    box = this_box(meminfo)
    assert (box.memory, box.available) == (2048, 1024)
    assert this_box().cores >= 1


def test_boards_of_two_four_and_eight_gigabytes_find_something() -> None:
    """With the speed that a Pi 5 is said to have: a 1B model at about 11 tokens a second."""
    packaged = catalogue()["smollm2-135m-instruct"]
    one = catalogue()["llama-3.2-1b-instruct"]
    read = 65 * one.parameters / packaged.parameters
    written = 11 * one.bytes / packaged.bytes
    measured = Measured(packaged, read, written, 210)
    found = {}
    for gigabytes in (2, 4, 8):
        space = gigabytes * 1000 * 0.75 - 600
        estimates = [
            estimate(each, measured, 2048, space)
            for each in catalogue().values()
            if each.engine == "llama"
        ]
        chosen = best(estimates, "en")
        assert chosen
        found[gigabytes] = chosen.model.parameters
    assert found[2] > packaged.parameters
    assert found[2] < found[4] <= found[8]


@pytest.mark.journey
async def test_the_packaged_model_is_measured_in_its_own_process(models: Path) -> None:
    said: list[str] = []
    path = models / "smollm2-135m-instruct" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    speed = await measure(path, ModelSettings(), said.append, seconds=1.0)
    assert isinstance(speed, Speed)
    assert speed.prompt > 1
    assert speed.generated > 1
    assert 100 < speed.memory < 1000
    assert speed.prompt_runs >= 2
    assert len(said) == 2
