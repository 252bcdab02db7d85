"""Where the files of a language are, and how they are read."""

from pathlib import Path
from typing import Any

import yaml

from firmware_app.errors import SettingsError

FOLDER = Path(__file__).parent / "languages"


def languages() -> list[str]:
    """The languages that Echo hears and speaks."""
    return sorted(folder.parent.name for folder in FOLDER.glob("*/words.yaml"))


def folder(language: str) -> Path:
    """The language's folder. Raises SettingsError "no-such-language"."""
    if language not in languages():
        raise SettingsError(
            "no-such-language",
            f"Echo does not know the language {language} (setting language).",
            f"Choose one of: {', '.join(languages())}.",
        )
    return FOLDER / language


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(file.read_text("utf-8"), _Loader)  # noqa: S506 - a safe one
    return found


class _Loader(yaml.CSafeLoader):
    """By libyaml, ten times as fast; reads "on", "off", "yes" and "no" as the words they are."""


_Loader.yaml_implicit_resolvers = {
    first: resolvers
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    if first not in set("yYnNoO")
}
