"""Echo in Spanish: what is asked of it, and what it says."""

import pytest

from firmware_app.settings import Settings
from firmware_app.skills.building import World, build
from firmware_app.skills.registry import Skills
from firmware_app.skills.timers.store import Alerts
from firmware_app.state import StateStore
from tests.skills.conftest import DrivenClock, Speaker
from tests.skills.requested import Request, assert_reached, requests

SPANISH = Settings(language="es")


REQUESTS = requests("requests_es.csv")
FOR_SKILLS = [request for request in REQUESTS if request.tool]
FOR_THE_MODEL = [request for request in REQUESTS if not request.tool]


@pytest.fixture(scope="module")
def listener() -> Skills:
    """Without an effect: it is only asked what it understands."""
    return build(World(time=DrivenClock().local(), settings=lambda: SPANISH))


@pytest.fixture
def skills(clock: DrivenClock, state: StateStore) -> Skills:
    return build(World(time=clock.local(), settings=lambda: SPANISH, alerts=Alerts(state)))


@pytest.mark.parametrize("request_", FOR_SKILLS, ids=lambda request: request.text)
def test_a_skill_is_reached_with_the_right_arguments(listener: Skills, request_: Request) -> None:
    assert_reached(listener, request_)


@pytest.mark.parametrize("request_", FOR_THE_MODEL, ids=lambda request: request.text)
def test_a_question_is_left_to_the_model(listener: Skills, request_: Request) -> None:
    assert listener.understand(request_.text) is None


def test_there_are_enough_of_both() -> None:
    assert len(FOR_SKILLS) >= 80
    assert len(FOR_THE_MODEL) >= 20


ANSWERS = {  # on Monday, 30 November 2026, at five in the afternoon
    "¿Cuánto es siete por ocho?": "56.",
    "¿Cuánto es 7 x 8?": "56.",
    "¿Cuánto es 0,1 más 0,2?": "0,3.",
    "¿Cuánto es 1 entre 3?": "Aproximadamente 0,3333.",
    "¿Cuánto es 144 dividido entre 12?": "12.",
    "¿Cuánto es el 15 por ciento de 80?": "12.",
    "¿Cuánto es el 12,5% de 64?": "8.",
    "¿Cuánto es 50 menos el 20 por ciento?": "40.",
    "¿Cuánto es 100 más un 15 por ciento?": "115.",
    "¿Qué porcentaje de 80 es 20?": "25 por ciento.",
    "¿Cuál es la raíz cuadrada de 2?": "Aproximadamente 1,41.",
    "¿Cuánto es la raíz cúbica de 27?": "3.",
    "¿Cuánto es 2 elevado a 10?": "1.024.",
    "¿Cuánto es 5 al cuadrado?": "25.",
    "¿Cuánto es 3 al cubo?": "27.",
    "¿Cuánto es la mitad de 90?": "45.",
    "¿Cuánto es el doble de 21?": "42.",
    "¿Cuánto son tres cuartos de 200?": "150.",
    "¿Cuánto son dos tercios de 90?": "60.",
    "¿Cuánto es 1.250 más 750?": "2.000.",
    "¿Cuánto es trescientos sesenta y cinco por veinticuatro?": "8.760.",
    "¿Cuánto es ciento veintiuno más treinta y uno?": "152.",
    "¿Cuánto es un millón entre ocho?": "125.000.",
    "¿Cuánto es menos cinco más tres?": "-2.",
    "Suma 5 y 7.": "12.",
    "Suma 40 y 5.": "45.",
    "Resta 5 de 12.": "7.",
    "¿Cuánto es 10 factorial?": "3.628.800.",
    "¿Cuánto es 10 entre cero?": "No se puede dividir entre cero.",
    "¿Cuál es la raíz cuadrada de menos 4?": "Eso no tiene un resultado real.",
    "¿Cuántos pies son 3 millas?": "3 millas son 15.840 pies.",
    "Convierte 10 kilómetros a millas.": "10 kilómetros son aproximadamente 6,21 millas.",
    "¿Cuántos centímetros hay en una pulgada?": "1 pulgada son 2,54 centímetros.",
    "¿Cuánto son 30 grados Celsius en Fahrenheit?": "30 grados Celsius son 86 grados Fahrenheit.",
    "¿Cuántos minutos tiene un día?": "1 día son 1.440 minutos.",
    "¿Cuántos metros hay en media milla?": "0,5 millas son 804,672 metros.",
    "¿Cuántos gramos son una milla?": "Millas no se puede convertir en gramos.",
    "¿Qué hora es?": "Son las 5:00 de la tarde.",
    "¿Qué hora es en Tokio?": "En Tokio es la 1:00 de la madrugada, mañana.",
    "¿Qué hora es en Nueva York?": "En Nueva York son las 11:00 de la mañana.",
    "¿Qué hora es en Atlantis?": "No sé qué hora es en Atlantis.",
    "¿Qué día es hoy?": "Hoy es lunes, 30 de noviembre de 2026.",
    "¿Qué día cae Navidad?": "Es el viernes, 25 de diciembre.",
    "¿Qué día fue hace tres días?": "Fue el viernes, 27 de noviembre.",
    "¿Cuántos días faltan para Navidad?": "25 días hasta el viernes, 25 de diciembre.",
    "¿Cuántas semanas faltan para año nuevo?": "4 semanas y 4 días hasta el viernes, 1 de enero "
    "de 2027.",
    "¿Cuánto falta para las seis?": "1 hora hasta hoy a las 6:00 de la tarde.",
}


@pytest.mark.parametrize(("question", "answer"), ANSWERS.items())
async def test_the_answer_is_exact(say: Speaker, question: str, answer: str) -> None:
    assert await say(question) == answer


async def test_numbers_that_sound_alike_are_asked_about(skills: Skills, say: Speaker) -> None:
    asked = await say("Pon un temporizador de quince minutos.", 0.4)
    assert asked == "¿Has dicho un temporizador de 15 minutos o un temporizador de 50 minutos?"
    assert await say("Cincuenta.") == "Temporizador de 50 minutos en marcha."
    assert [alert.seconds for alert in skills.timers.schedule.alerts("timer")] == [3000]


async def test_a_near_miss_is_done_after_a_yes(say: Speaker) -> None:
    asked = await say("Bon un temporada de diez minutos.")
    assert asked == "¿Has dicho un temporizador de 10 minutos?"
    assert await say("Sí.") == "Temporizador de 10 minutos en marcha."


async def test_no_leaves_it_undone(skills: Skills, say: Speaker) -> None:
    await say("Pon un temporizador de quince minutos.", 0.4)
    assert await say("No.") == "De acuerdo."
    assert skills.timers.schedule.alerts("timer") == []


async def test_what_is_missing_is_asked_for(say: Speaker) -> None:
    assert await say("Pon un temporizador.") == "¿De cuánto tiempo?"
    assert await say("De veinte minutos.") == "Temporizador de 20 minutos en marcha."
    assert await say("Pon una alarma.") == "¿Para qué hora?"
    assert await say("Mañana a las siete y media.") == (
        "La alarma sonará mañana a las 7:30 de la mañana."
    )
    assert await say("Recuérdame comprar jamón.") == "¿Cuándo te lo recuerdo?"
    assert await say("A las seis.") == "Te lo recordaré hoy a las 6:00 de la tarde: comprar jamón."


async def test_timers_are_told_chosen_and_cancelled(skills: Skills, say: Speaker) -> None:
    assert await say("¿Cuánto queda?") == "No hay ningún temporizador en marcha."
    await say("Pon un temporizador para el jamón de ocho minutos.")
    await say("Pon un temporizador de seis minutos para los huevos.")
    assert await say("¿Qué temporizadores tengo?") == (
        "2 temporizadores: el temporizador huevos, que acaba dentro de 6 minutos y "
        "el temporizador jamón, que acaba dentro de 8 minutos."
    )
    assert await say("Cancela el temporizador.") == (
        "¿Cuál? el temporizador huevos y el temporizador jamón."
    )
    assert await say("El del jamón.") == "He cancelado el temporizador jamón."
    assert [alert.name for alert in skills.timers.schedule.alerts("timer")] == ["huevos"]


async def test_an_alarm_repeats(say: Speaker) -> None:
    assert await say("Pon una alarma cada lunes y jueves a la una de la tarde.") == (
        "La alarma sonará cada lunes y jueves a la 1:00 de la tarde. "
        "La primera vez, el jueves a la 1:00 de la tarde."
    )


async def test_what_cannot_be_done_is_said_in_spanish(say: Speaker, clock: DrivenClock) -> None:
    clock.trusted = False
    assert await say("¿Cuántos días faltan para Navidad?") == (
        "Todavía no sé qué día es hoy. Espera a que este aparato llegue a un servidor de hora."
    )
