"""Converts units, through pint."""

from functools import lru_cache
from typing import Any

from firmware_app.errors import EngineError
from firmware_app.skills import SkillError

_FLUID = {"ounce": "fluid_ounce"}  # of a liquid, "ounce" alone means another unit


@lru_cache(1)
def registry() -> Any:  # noqa: ANN401 - pint's types are made while it runs
    """Loading takes a moment: call it once beside other things. Raises EngineError."""
    try:
        import pint
    except ImportError as error:
        raise EngineError(
            "engine-missing", "The package pint is not installed.", "Run ./scripts/setup."
        ) from error
    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def convert(amount: float, source: str, target: str) -> tuple[float, str, str]:
    """The amount in the other unit, and the units taken: "ounce" of a liquid is another one.

    source, target: pint's names. Raises SkillError "not-alike".
    """
    units = registry()
    for one, other in (
        (source, target),
        (_FLUID.get(source, source), _FLUID.get(target, target)),
    ):
        quantity = units.Quantity(float(amount), units.parse_units(one))
        if quantity.is_compatible_with(units.parse_units(other)):
            return float(quantity.to(units.parse_units(other)).magnitude), one, other
    raise SkillError("not-alike", "These units do not measure the same.", "Ask for another unit.")
