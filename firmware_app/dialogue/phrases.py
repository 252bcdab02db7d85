"""What Echo itself says, as against what the model says."""

from dataclasses import dataclass
from functools import lru_cache

from firmware_app.dialogue.language import dialogue_words


@dataclass(frozen=True, slots=True)
class Phrases:
    waking_up: str
    failed: str
    fault: str
    talks_are_kept: str
    nothing_to_repeat: str
    new_conversation: str
    not_for_echo: str
    is_saved: str
    is_not_saved: str
    is_not_saving: str
    next_unsaved: str
    rest_unsaved: str
    saving_off: str
    saving_on: str
    cannot_switch: str
    delete_exchange: str
    delete_conversation: str
    delete_what: str
    out_of_reach: str
    deleted: str
    copies_remain: str
    deleted_later: str
    nothing_deleted: str
    pairing_code: str
    trial: str


@lru_cache(8)
def phrases(language: str) -> Phrases:
    """Those of the language's file. Raises SettingsError "no-such-language"."""
    return Phrases(**dialogue_words(language)["phrases"])
