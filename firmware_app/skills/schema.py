"""Checks arguments that a language model wrote against a tool's schema."""

import json
from collections.abc import Mapping
from typing import Any

from firmware_app.skills import SkillError

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
LONGEST = 400  # characters of one argument


def parse(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in a model's JSON. Raises SkillError "bad-arguments"."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        raise _bad("they are no JSON") from None
    check(found, schema, "the arguments")
    arguments: dict[str, Any] = found
    return arguments


def check(value: Any, schema: Mapping[str, Any], name: str) -> None:  # noqa: ANN401 - of JSON
    """Raises SkillError "bad-arguments" where the value is not as the schema says."""
    kind = schema.get("type")
    if kind and (
        not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")
    ):
        raise _bad(f"{name} is not of the type {kind}")
    if "enum" in schema and value not in schema["enum"]:
        raise _bad(f"{name} is none of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, str) and len(value) > schema.get("maxLength", LONGEST):
        raise _bad(f"{name} is too long")
    if kind in ("integer", "number") and not (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
    ):
        raise _bad(f"{name} is out of its bounds")
    if isinstance(value, list):
        for item in value:
            check(item, schema.get("items", {}), name)
        if len(value) > schema.get("maxItems", LONGEST):
            raise _bad(f"{name} has too many items")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for required in schema.get("required", ()):
            if required not in value:
                raise _bad(f"{required} is missing")
        for key, item in value.items():
            if key not in properties:
                raise _bad(f"there is no {key}")
            check(item, properties[key], key)


def _bad(why: str) -> SkillError:
    return SkillError(
        "bad-arguments",
        f"A tool was called with arguments that do not fit: {why}.",
        "Ask again in other words.",
    )
