"""What a conversation consumed, engine by engine, and what that costs at the owner's rates."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from firmware_app.errors import SettingsError

UNAVAILABLE = "unavailable"
_AMOUNTS = (
    "audio_seconds",
    "prompt_tokens",
    "cached_tokens",
    "generated_tokens",
    "compute_seconds",
)


class Meter(Protocol):
    """What an engine has consumed since it was made, as every engine counts it."""

    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    compute_seconds: float
    audio_seconds: float
    incomplete: bool


class Totals:
    """Totals of one conversation: what it had before, and what engines have consumed since.

    An engine's meter counts from when the engine was made, so the first look at one only marks
    where it stood.
    """

    def __init__(self, kept: Mapping[str, Any] | None = None) -> None:
        kept = kept or {}
        self._engines: dict[str, dict[str, float]] = {
            name: dict(amounts) for name, amounts in kept.get("engines", {}).items()
        }
        self.incomplete = bool(kept.get("incomplete", False))
        self._seen: dict[str, dict[str, float]] = {}

    def note(self, engine: str, meter: Meter) -> None:
        """Take in an engine's meter; engine: its job and name, such as "model llama/smollm2"."""
        now = {name: getattr(meter, name) for name in _AMOUNTS}
        before = self._seen.get(engine, now)
        if any(now[name] < before[name] for name in _AMOUNTS):  # the engine was made anew
            self.incomplete = True
            before = dict.fromkeys(_AMOUNTS, 0)
        totals = self._engines.setdefault(engine, dict.fromkeys(_AMOUNTS, 0))
        for name in _AMOUNTS:
            totals[name] = totals.get(name, 0) + now[name] - before[name]
        self._seen[engine] = now
        self.incomplete = self.incomplete or meter.incomplete

    def as_json(self) -> dict[str, Any]:
        engines = {
            name: {amount: value for amount, value in amounts.items() if value}
            for name, amounts in self._engines.items()
        }
        kept: dict[str, Any] = {"engines": {name: used for name, used in engines.items() if used}}
        if self.incomplete:
            kept["incomplete"] = True
        return kept


@dataclass(frozen=True, slots=True)
class Rate:
    """Prices of one engine, in the currency of the rates; None where there is no price."""

    prompt_per_million: float | None = None
    cached_per_million: float | None = None
    generated_per_million: float | None = None
    audio_hour: float | None = None
    compute_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    version: str = ""
    currency: str = ""
    engines: Mapping[str, Rate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cost:
    """An estimate at today's rates. amount: None where an engine has no price."""

    amount: float | None
    currency: str
    version: str
    incomplete: bool

    def __str__(self) -> str:
        if self.amount is None:
            return UNAVAILABLE
        more = ", at least" if self.incomplete else ""
        return f"{self.amount:.4f} {self.currency}{more} (rates {self.version})"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def cost(usage: Mapping[str, Any], rates: Rates) -> Cost:
    """Estimate what a conversation's usage costs; nothing is ever free for want of a price."""
    prices = [
        _price(amounts, rates.engines.get(name))
        for name, amounts in usage.get("engines", {}).items()
    ]
    known = [price for price in prices if price is not None]
    whole = bool(prices) and len(known) == len(prices)
    return Cost(
        sum(known) if whole else None,
        rates.currency,
        rates.version,
        bool(usage.get("incomplete", False)),
    )


def load_rates(path: Path) -> Rates:
    """Raises SettingsError when the file is missing or is not what it should be.

    The file: version and currency, then a table an engine with prices by the names of Rate.
    """
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        engines = {
            name: Rate(**{price: float(table[price]) for price in table})
            for name, table in read.get("engines", {}).items()
        }
        return Rates(str(read["version"]), str(read["currency"]), engines)
    except OSError as fault:
        why = (fault.strerror or str(fault)).lower()
    except (ValueError, TypeError, AttributeError) as fault:
        why = str(fault)
    except KeyError as fault:
        why = f"it has no {fault}"
    raise SettingsError(
        "bad-rates", f"The rates in {path} cannot be used: {why}.", "Mend the file, or unset it."
    )


def _price(amounts: Mapping[str, float], rate: Rate | None) -> float | None:
    """None unless there is a price for all that is charged for: each kind of token, or none."""
    if rate is None:
        return None
    tokens = {
        "prompt_tokens": rate.prompt_per_million,
        "cached_tokens": rate.cached_per_million,
        "generated_tokens": rate.generated_per_million,
    }
    hours = {"audio_seconds": rate.audio_hour, "compute_seconds": rate.compute_hour}
    by_token = any(price is not None for price in tokens.values())
    charged = [(tokens, 1e6)] * by_token + [
        ({name: price for name, price in hours.items() if price is not None}, 3600.0)
    ]
    total, priced = 0.0, by_token
    for prices, unit in charged:
        for name, price in prices.items():
            if price is None and amounts.get(name):
                return None
            total += amounts.get(name, 0) / unit * (price or 0.0)
            priced = priced or price is not None
    return total if priced else None
