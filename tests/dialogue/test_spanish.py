"""What is said to Echo about the dialogue itself, in Spanish, and when a sentence is over."""

import pytest

from firmware_app.dialogue.commands import Command, command, without_wake_phrase
from firmware_app.dialogue.endpoint import hangs
from firmware_app.dialogue.language import dialogue_words
from firmware_app.dialogue.phrases import phrases
from firmware_app.errors import SettingsError
from firmware_app.skills.language_files import languages


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("¡Para!", Command.STOP),
        ("Para, por favor.", Command.STOP),
        ("Cállate.", Command.STOP),
        ("callate", Command.STOP),
        ("Repítelo, por favor.", Command.REPLAY),
        ("¿Qué has dicho?", Command.REPLAY),
        ("Repítelo más despacio.", Command.REPLAY_SLOWLY),
        ("Nueva conversación.", Command.NEW_CONVERSATION),
        ("No era para ti.", Command.NOT_FOR_ECHO),
        ("No guardes esto.", Command.DONT_SAVE),
        ("Deja de guardar.", Command.STOP_SAVING),
        ("Vuelve a guardar.", Command.START_SAVING),
        ("¿Estás guardando esto?", Command.ARE_YOU_SAVING),
        ("Borra eso.", Command.DELETE_THAT),
        ("Borra toda esta conversación.", Command.DELETE_CONVERSATION),
        ("Sí.", Command.YES),
        ("Sí, bórralo.", Command.YES),
        ("No.", Command.NO),
        ("¿Para qué sirve una brújula?", None),
        ("Guarda esto en la nevera.", None),
        ("Para el temporizador.", None),
        ("Stop.", None),
    ],
)
def test_commands(said: str, meant: Command | None) -> None:
    assert command(said, "es") is meant


@pytest.mark.parametrize(
    ("heard", "question"),
    [
        ("Hey Echo, ¿qué hora es?", "¿Qué hora es?"),
        ("Ey, eco. ¿Qué hora es?", "¿Qué hora es?"),
        ("Oye, hecho, pon un temporizador.", "Pon un temporizador."),
        ("Hecho.", "Hecho."),
        ("¿Qué hora es?", "¿Qué hora es?"),
    ],
)
def test_the_wake_phrase_is_no_part_of_the_question(heard: str, question: str) -> None:
    assert without_wake_phrase(heard) == question


def test_a_sentence_that_goes_on_is_waited_for() -> None:
    assert hangs("Pon un temporizador de", "es")
    assert hangs("Compra leche y", "es")
    assert hangs("¿Cuál es la", "es")
    assert not hangs("¿Qué hora es?", "es")
    assert not hangs("Para.", "es")
    assert not hangs("Pon la alarma a las siete.", "es")


def test_the_words_of_one_language_do_not_count_in_another() -> None:
    assert hangs("Turn on the", "en")
    assert not hangs("Turn on the", "es")
    assert not hangs("Quiero un té con", "en")


def test_every_language_has_all_commands_and_phrases() -> None:
    english = dialogue_words("en")
    for language in languages():
        words = dialogue_words(language)
        assert words.keys() == english.keys()
        assert words["commands"].keys() == {name.name.lower() for name in Command}
        assert words["speakable"].keys() == english["speakable"].keys()
        assert phrases(language)  # it takes no fewer and no more than there are
        assert "{code}" in phrases(language).pairing_code


def test_a_language_that_there_is_not_is_named_with_those_that_there_are() -> None:
    with pytest.raises(SettingsError, match=r"language tlh .*en, es"):
        phrases("tlh")
