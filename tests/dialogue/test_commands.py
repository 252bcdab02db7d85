"""What is about the dialogue itself."""

import pytest

from firmware_app.dialogue.commands import Command, command, without_wake_phrase


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("Stop.", Command.STOP),
        ("Never mind!", Command.STOP),
        ("Say that again.", Command.REPLAY),
        ("Sat that again.", Command.REPLAY),
        ("New conversation", Command.NEW_CONVERSATION),
        ("That wasn't for you.", Command.NOT_FOR_ECHO),
        ("When does the shop open?", None),
        ("What is a stop codon?", None),
        ("Top.", None),  # one letter of four: too far
        ("", None),
    ],
)
def test_a_command_is_one_beyond_doubt(heard: str, meant: Command | None) -> None:
    assert command(heard, "en") is meant


def test_a_language_without_sentences_has_no_commands() -> None:
    assert command("Stop.", "xx") is None


@pytest.mark.parametrize(
    ("heard", "question"),
    [
        ("Hey Echo, what time is it?", "What time is it?"),
        ("The Echo, what is the largest ocean?", "What is the largest ocean?"),
        ("Hayako. Who painted the Mona Lisa?", "Who painted the Mona Lisa?"),
        ("echo what time is it", "What time is it"),
        ("Hey, Eco.", ""),
        ("Echolocation is what?", "Echolocation is what?"),
        ("What is an echo?", "What is an echo?"),
    ],
)
def test_the_wake_phrase_is_no_part_of_the_question(heard: str, question: str) -> None:
    assert without_wake_phrase(heard) == question


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("Don't save this.", Command.DONT_SAVE),
        ("Do not save this conversation.", Command.DONT_SAVE),
        ("Stop saving.", Command.STOP_SAVING),
        ("Start saving.", Command.START_SAVING),
        ("Start saving again, please.", Command.START_SAVING),
        ("Are you saving?", Command.ARE_YOU_SAVING),
        ("Delete that.", Command.DELETE_THAT),
        ("Delete this conversation.", Command.DELETE_CONVERSATION),
        ("Yes, delete it.", Command.YES),
        ("Yes, please.", Command.YES),
        ("Please.", None),
        ("No, don't.", Command.NO),
        ("How do I save money?", None),
        ("Delete the timer.", None),
        ("Repeat that.", Command.REPLAY),
        ("Sorry, what did you say?", Command.REPLAY),
        ("Could you say that again, please?", Command.REPLAY),
        ("Can you repeat that more slowly please?", Command.REPLAY_SLOWLY),
        ("Say it again but slower.", Command.REPLAY_SLOWLY),
        ("Please stop talking now.", Command.STOP),
        ("Cancel that.", Command.STOP),
        ("Are you recording this?", Command.ARE_YOU_SAVING),
        ("Please don't keep this.", Command.DONT_SAVE),
        ("Delete what I just said.", Command.DELETE_THAT),
        ("Cancel that timer.", None),
        ("Delete my account.", None),
        ("Say that in French.", None),
        ("Can you stop a train?", None),
        ("Quieter.", None),
    ],
)
def test_the_nearest_sentence_counts_where_several_are_near(
    heard: str, meant: Command | None
) -> None:
    assert command(heard, "en") is meant
