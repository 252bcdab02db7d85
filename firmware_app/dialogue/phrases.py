"""What Echo itself says, as against what the model says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrases:
    waking_up: str
    failed: str
    fault: str
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
    delete_exchange: str  # without the word that agrees: Echo may hear itself
    delete_conversation: str
    delete_what: str
    out_of_reach: str
    deleted: str
    copies_remain: str
    deleted_later: str
    nothing_deleted: str


_PHRASES = {
    "en": Phrases(
        waking_up="One moment, I am still waking up.",
        failed="Sorry, something went wrong. Please ask me again.",
        fault="I cannot work at the moment. The command, hey echo status, says why.",
        nothing_to_repeat="I have not said anything yet.",
        new_conversation="All right, a new conversation.",
        not_for_echo="Sorry. I will note that.",
        is_saved="This conversation is saved, as text on this device.",
        is_not_saved="This conversation is not saved.",
        is_not_saving="It should be saved, but that fails. The command, hey echo status, says why.",
        next_unsaved="All right, this conversation is not saved.",
        rest_unsaved="All right, the rest is not saved. What was saved before stays.",
        saving_off="All right, I save nothing more. What was saved before stays.",
        saving_on="All right, I save again, beginning with the next conversation.",
        cannot_switch="I cannot change that setting.",
        delete_exchange="Shall I delete the last exchange?",
        delete_conversation="Shall I delete this whole conversation?",
        delete_what="No conversation is open. Which one do you mean?",
        out_of_reach="I may not delete that by voice. The command, hey echo chats, can.",
        deleted="It is deleted.",
        copies_remain="Copies on this device still hold it. "
        "The command, hey echo backup list, names them.",
        deleted_later="I cannot reach the history at the moment. I will delete it when I can.",
        nothing_deleted="All right, nothing is deleted.",
    ),
}


def phrases(language: str) -> Phrases:
    """Those of the language, or the English ones."""
    return _PHRASES.get(language, _PHRASES["en"])
