"""What a language's file says of the dialogue itself: its commands, phrases and sentence flow."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from firmware_app.skills.language_files import folder, languages, read


@lru_cache(8)
def dialogue_words(language: str) -> Mapping[str, Any]:
    """The language's dialogue.yaml. Raises SettingsError "no-such-language"."""
    return read(folder(language) / "dialogue.yaml")


@lru_cache(8)
def words_if_known(language: str) -> Mapping[str, Any]:
    """The same, empty for a language without a file: text in it is handled by its signs alone."""
    code = language.lower().replace("_", "-").split("-")[0]
    return dialogue_words(code) if code in languages() else {}
