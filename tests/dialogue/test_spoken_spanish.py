"""How numbers, times, dates, money and units are said in Spanish."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_app.dialogue.clauses import ClauseSplitter
from firmware_app.dialogue.speakable import speakable
from firmware_app.dialogue.spoken import spoken

SAID = [
    ("Son las 5:00 de la tarde.", "Son las cinco de la tarde."),
    ("Es la 1:05 de la madrugada.", "Es la una y cinco de la madrugada."),
    ("a las 7:30 de la mañana", "a las siete y media de la mañana"),
    ("a las 8:15", "a las ocho y cuarto"),
    ("a las 9:45", "a las nueve cuarenta y cinco"),
    ("a las 21:30", "a las veintiuna treinta"),
    ("lunes, 30 de noviembre de 2026", "lunes, treinta de noviembre de dos mil veintiséis"),
    ("el 1 de enero", "el uno de enero"),
    ("el 2026-11-30", "el treinta de noviembre de dos mil veintiséis"),
    ("el 25/12/2026", "el veinticinco de diciembre de dos mil veintiséis"),
    ("1 hora y 21 minutos", "una hora y veintiún minutos"),
    ("21 horas", "veintiuna horas"),
    ("31 días", "treinta y un días"),
    ("1 milla", "una milla"),
    ("200 millas", "doscientas millas"),
    ("201 canciones", "doscientas una canciones"),
    ("21 programas", "veintiún programas"),
    ("500 personas", "quinientas personas"),
    ("201 kilómetros", "doscientos un kilómetros"),
    ("Es 21.", "Es veintiuno."),
    ("1.024", "mil veinticuatro"),
    ("125.000 habitantes", "ciento veinticinco mil habitantes"),
    ("21.000 libros", "veintiún mil libros"),
    ("3.628.800", "tres millones seiscientos veintiocho mil ochocientos"),
    ("0,3333", "cero coma tres tres tres tres"),
    ("2,54 centímetros", "dos coma cincuenta y cuatro centímetros"),
    ("3.5", "tres coma cinco"),
    ("-2", "menos dos"),
    ("25 %", "veinticinco por ciento"),
    ("21%", "veintiuno por ciento"),
    ("20 °C", "veinte grados Celsius"),
    ("1 km", "un kilómetro"),
    ("120 km/h", "ciento veinte kilómetros por hora"),
    ("5 €", "cinco euros"),
    ("$21", "veintiún dólares"),
    ("21 £", "veintiuna libras"),
    ("el 3er piso", "el tercer piso"),
    ("la 2ª vez", "la segunda vez"),
    ("1/2 litro", "medio litro"),
    ("2 1/2", "dos y medio"),
    ("3/4", "tres cuartos"),
    ("10-20 minutos", "diez a veinte minutos"),
    ("2 + 2 = 4", "dos más dos es igual a cuatro"),
    ("el siglo XXI", "el siglo veintiuno"),
    ("El Sr. García y la Dra. Ruiz", "El señor García y la doctora Ruiz"),
    ("etc.", "etcétera."),
    ("EE. UU.", "Estados Unidos"),
]


@pytest.mark.parametrize(("written", "said"), SAID)
def test_it_is_said_as_people_say_it(written: str, said: str) -> None:
    assert spoken(written, "es") == said


@given(st.text(alphabet="0123456789.,:/-\u2013+$€%°CkmhspKx²½ aAdeºªrM#'()", max_size=40))
@settings(max_examples=500, deadline=None)
def test_no_jumble_of_numbers_and_signs_breaks_it(text: str) -> None:
    assert not [c for c in spoken(text, "es") if c.isdigit()]


def test_what_cannot_be_said_is_said_in_spanish_or_left_out() -> None:
    assert speakable("**Hola** 🙂, ¿qué tal? Mira https://example.org.\n", "es") == (
        "Hola, ¿qué tal? Mira un enlace a example.org."
    )
    assert speakable("¡Sí! x ≥ 3", "es") == "¡Sí! x es como mínimo 3"


def test_clauses_are_cut_where_spanish_divides() -> None:
    splitter = ClauseSplitter("es")
    text = (
        "¡Hola! ¿Cómo estás? El Sr. Ruiz vive en Madrid desde hace veinte años pero "
        "trabaja todos los días en una ciudad pequeña de la costa, cerca del mar."
    )
    clauses = splitter.feed(text) + splitter.finish()
    assert "".join(clauses) == text
    assert clauses[:2] == ["¡Hola!", " ¿Cómo estás?"]
    assert clauses[2].startswith(" El Sr. Ruiz vive")
    assert clauses[3].lstrip().startswith("pero")
