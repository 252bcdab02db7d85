"""Usage is what the meters say since an engine joined; nothing is free for want of a price."""

from pathlib import Path

import pytest

from firmware_app.engines import Usage
from firmware_app.errors import SettingsError
from firmware_app.history.usage import Rate, Rates, Totals, cost, load_rates

RATES = Rates(
    "2026-11",
    "EUR",
    {
        "model server/large": Rate(prompt_per_million=2.0, generated_per_million=10.0),
        "model llama/small": Rate(compute_hour=0.05),
    },
)


def test_totals_are_what_was_consumed_since_the_engine_was_first_looked_at() -> None:
    meter = Usage(prompt_tokens=100, compute_seconds=5.0)
    totals = Totals()
    totals.note("model llama/small", meter)
    meter.prompt_tokens, meter.generated_tokens, meter.compute_seconds = 130, 12, 6.5
    totals.note("model llama/small", meter)
    totals.note("model llama/small", meter)

    assert totals.as_json() == {
        "engines": {
            "model llama/small": {
                "prompt_tokens": 30,
                "generated_tokens": 12,
                "compute_seconds": 1.5,
            }
        }
    }


def test_totals_go_on_from_what_was_kept_with_a_key_for_each_model() -> None:
    meters = {"model a": Usage(), "model b": Usage()}
    totals = Totals({"engines": {"model a": {"generated_tokens": 7}}})
    for name, meter in meters.items():
        totals.note(name, meter)
        meter.generated_tokens += 5
        totals.note(name, meter)

    assert totals.as_json()["engines"] == {
        "model a": {"generated_tokens": 12},
        "model b": {"generated_tokens": 5},
    }


def test_a_meter_that_starts_again_makes_the_totals_incomplete() -> None:
    totals = Totals()
    totals.note("model a", Usage(generated_tokens=50))
    totals.note("model a", Usage(generated_tokens=20))

    assert totals.as_json() == {
        "engines": {"model a": {"generated_tokens": 20}},
        "incomplete": True,
    }
    assert Totals({"incomplete": True}).as_json()["incomplete"]


def test_a_server_that_reports_no_usage_makes_it_incomplete() -> None:
    totals = Totals()
    totals.note("model server/large", Usage(incomplete=True))

    assert totals.incomplete


@pytest.mark.parametrize(
    ("engines", "amount"),
    [
        ({"model server/large": {"prompt_tokens": 500_000, "generated_tokens": 100_000}}, 2.0),
        ({"model server/large": {"prompt_tokens": 1, "cached_tokens": 1_000_000}}, None),
        ({"model llama/small": {"generated_tokens": 100, "compute_seconds": 3600}}, 0.05),
        ({"voice piper/joe": {"audio_seconds": 4}}, None),
        ({"model llama/small": {"compute_seconds": 1}, "voice piper/joe": {"a": 1}}, None),
        ({}, None),
    ],
)
def test_an_estimate_needs_a_price_for_all_that_was_used(
    engines: dict[str, dict[str, float]], amount: float | None
) -> None:
    estimate = cost({"engines": engines}, RATES)

    assert estimate.amount == (None if amount is None else pytest.approx(amount))
    assert str(estimate).startswith("unavailable" if amount is None else f"{amount:.4f} EUR")


def test_an_estimate_names_its_rates_and_says_when_it_is_a_lower_bound() -> None:
    used = {"engines": {"model llama/small": {"compute_seconds": 7200}}, "incomplete": True}

    assert str(cost(used, RATES)) == "0.1000 EUR, at least (rates 2026-11)"


def test_rates_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rates.toml"
    file.write_text(
        'version = "2026-11"\ncurrency = "EUR"\n'
        '[engines."model llama/small"]\ncompute_hour = 0.05\n'
    )
    assert load_rates(file).engines == {"model llama/small": Rate(compute_hour=0.05)}


@pytest.mark.parametrize(
    "content",
    [
        None,
        "version",
        'currency = "EUR"',
        'version = "1"\ncurrency = "EUR"\n[engines.x]\nper_word = 1',
        'version = "1"\ncurrency = "EUR"\nengines = 3',
        'version = "1"\ncurrency = "EUR"\n[engines.x]\ncompute_hour = "much"',
    ],
)
def test_rates_that_cannot_be_used_are_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "rates.toml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SettingsError, match=r"rates\.toml cannot be used"):
        load_rates(file)
