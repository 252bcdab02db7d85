"""Spanish numbers as words, and what signs, units and abbreviations are called."""

import re
from functools import lru_cache
from typing import Literal

from num2words import num2words  # type: ignore[import-untyped]

LONGEST = 15  # digits; a longer number is said digit by digit

# Before a noun: "veintiún minutos", "veintiuna horas"; alone: "veintiuno".
Form = Literal["alone", "masculine", "feminine"]

ORDINALS = (
    "primero",
    "segundo",
    "tercero",
    "cuarto",
    "quinto",
    "sexto",
    "séptimo",
    "octavo",
    "noveno",
    "décimo",
)
FRACTIONS = {2: "medio", 3: "tercio", 10: "décimo"} | {n: ORDINALS[n - 1] for n in range(4, 10)}
MONTHS = (
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
)
# Sign: one, many. What is not feminine by its end is masculine.
UNITS = {
    "km/h": ("kilómetro por hora", "kilómetros por hora"),
    "m/s": ("metro por segundo", "metros por segundo"),
    "km²": ("kilómetro cuadrado", "kilómetros cuadrados"),
    "m²": ("metro cuadrado", "metros cuadrados"),
    "m³": ("metro cúbico", "metros cúbicos"),
    "km": ("kilómetro", "kilómetros"),
    "cm": ("centímetro", "centímetros"),
    "mm": ("milímetro", "milímetros"),
    "kg": ("kilo", "kilos"),
    "mg": ("miligramo", "miligramos"),
    "ml": ("mililitro", "mililitros"),
    "GB": ("gigabyte", "gigabytes"),
    "MB": ("megabyte", "megabytes"),
    "kWh": ("kilovatio hora", "kilovatios hora"),
    "kW": ("kilovatio", "kilovatios"),
    "Hz": ("hercio", "hercios"),
    "min": ("minuto", "minutos"),
    "°C": ("grado Celsius", "grados Celsius"),
    "ºC": ("grado Celsius", "grados Celsius"),
    "°F": ("grado Fahrenheit", "grados Fahrenheit"),
    "ºF": ("grado Fahrenheit", "grados Fahrenheit"),
    "°": ("grado", "grados"),
    "%": ("por ciento", "por ciento"),
    "€": ("euro", "euros"),
    "EUR": ("euro", "euros"),
    "$": ("dólar", "dólares"),
    "USD": ("dólar", "dólares"),
    "£": ("libra", "libras"),
    "m": ("metro", "metros"),
    "g": ("gramo", "gramos"),
    "l": ("litro", "litros"),
    "L": ("litro", "litros"),
    "h": ("hora", "horas"),
    "s": ("segundo", "segundos"),
    "W": ("vatio", "vatios"),
}
MONEY_BEFORE = "€$£"
SHORT = {
    "Sra": "señora",
    "Srta": "señorita",
    "Sr": "señor",
    "Dra": "doctora",
    "Dr": "doctor",
    "Ud": "usted",
    "Uds": "ustedes",
    "etc": "etcétera",
    "pág": "página",
    "págs": "páginas",
    "núm": "número",
    "tel": "teléfono",
    "avda": "avenida",
    "aprox": "aproximadamente",
}
COUNTED = "[Ss]iglo|[Cc]apítulo|[Tt]omo|[Vv]olumen|[Aa]cto|[Pp]arte"  # before Roman numerals

_MASCULINE_IN_A = re.compile(
    "día|mapa|planeta|problema|programa|sistema|tema|clima|idioma|poema|\\w*grama|cometa|guía"
)
_FEMININE_OTHERWISE = re.compile("ve[zc]e?|noche|tarde|mano|flore?|mujere?|parte|clase|calle|mitad")
_NOT_NOUNS = re.compile(
    "a|al|antes|cada|como|con|contra|da|de|del|desde|después|e|el|ella|en|entre|era|es|ha|hace|hacia|"
    "hasta|la|las|le|les|lo|los|me|menos|más|mas|mil|nada|ni|no|o|para|pero|por|que|se|sea|sin|"
    "sobre|son|su|sus|te|tras|u|una|unas|y|ya|además|coma|punto"
)


@lru_cache(4096)
def cardinal(digits: str, form: Form = "alone") -> str:
    if len(digits) > LONGEST:
        return one_by_one(digits)
    said = str(num2words(int(digits), lang="es"))
    said = re.sub(r"veintiuno(?= m)", "veintiún", said)
    said = re.sub(r"\buno(?= m)", "un", said)  # treinta y un mil
    if form == "feminine":
        said = re.sub(r"uno$", "una", said)
        said = re.sub(r"cientos(?! mill)|quinientos", _in_a, said)
    elif form == "masculine":
        said = re.sub(r"veintiuno$", "veintiún", said)
        said = re.sub(r"\buno$", "un", said)
    return said


def _in_a(match: re.Match[str]) -> str:
    return match.group()[:-2] + "as"


def ordinal(number: int, feminine: bool, short: bool = False) -> str:
    """Tercero, tercera; short: tercer. From the eleventh on people say the number itself."""
    if not 1 <= number <= len(ORDINALS):
        return cardinal(str(number), "feminine" if feminine else "masculine")
    said = ORDINALS[number - 1]
    if feminine:
        return said[:-1] + "a"
    return said[:-1] if short and number in (1, 3) else said


def one_by_one(digits: str) -> str:
    return " ".join(cardinal(d) for d in digits if d.isdigit())


def decimal(number: str, form: Form = "alone") -> str:
    """A number as written: 1.250 → mil doscientos cincuenta; 3,5 → tres coma cinco."""
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", number):
        number = number.replace(".", "")
    whole, point, rest = number.replace(".", ",").partition(",")
    if not point:
        return cardinal(whole, form)
    as_number = len(rest) <= 2 and not rest.startswith("0")
    said = cardinal(rest) if as_number else one_by_one(rest)
    return f"{cardinal(whole or '0')} coma {said}"


def form_before(word: str) -> Form:
    """How a number is said before this word."""
    plain = word.lower()
    if not plain or _NOT_NOUNS.fullmatch(plain):
        return "alone"
    one = plain.removesuffix("s")
    if _FEMININE_OTHERWISE.fullmatch(one):
        return "feminine"
    if _MASCULINE_IN_A.fullmatch(one):
        return "masculine"
    ends = ("a", "ión", "ione", "dad", "dade", "tud", "tude")
    return "feminine" if one.endswith(ends) else "masculine"
