"""English numbers as words, and what signs, units and abbreviations are called."""

from functools import lru_cache

from num2words import num2words  # type: ignore[import-untyped]

LONGEST = 15  # digits; a longer number is said digit by digit


@lru_cache(4096)
def cardinal(digits: str) -> str:
    """Digits, perhaps with commas: 1,234 → one thousand two hundred and thirty-four."""
    digits = digits.replace(",", "")
    if len(digits) > LONGEST:
        return one_by_one(digits)
    return str(num2words(int(digits))).replace(",", "")


@lru_cache(1024)
def ordinal(number: int) -> str:
    return str(num2words(number, to="ordinal")).replace(",", "")


@lru_cache(1024)
def year(number: int) -> str:
    """1905 → nineteen oh five; 2007 → two thousand seven."""
    if 2000 <= number <= 2009:
        return "two thousand" + (f" {cardinal(str(number % 100))}" if number % 100 else "")
    return str(num2words(number, to="year")).replace("oh-", "oh ")


def one_by_one(digits: str) -> str:
    """Digits one after the other: 555 → five five five."""
    return " ".join(cardinal(d) for d in digits if d.isdigit())


def decimal(number: str) -> str:
    """A number as written: 3.50 → three point five zero; .5 → point five."""
    whole, _, rest = number.partition(".")
    said = [cardinal(whole)] if whole else []
    if rest:
        said.append(f"point {one_by_one(rest)}")
    return " ".join(said)


def is_one(said: str) -> bool:
    return said in {"one", "minus one"}


def counted(number: str, one: str, many: str) -> str:
    said = decimal(number)
    return f"{said} {one if is_one(said) else many}"


MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
MONTHS = {name[:3]: name for name in MONTH_NAMES}
DAYS = {  # without "Sat" and "Sun", which are words
    "Mon": "Monday",
    "Tue": "Tuesday",
    "Tues": "Tuesday",
    "Wed": "Wednesday",
    "Thu": "Thursday",
    "Thurs": "Thursday",
    "Fri": "Friday",
}

MONEY = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "US$": ("dollar", "dollars", "cent", "cents"),
    "€": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "¥": ("yen", "yen", "sen", "sen"),
    "₩": ("won", "won", "jeon", "jeon"),
    "₹": ("rupee", "rupees", "paisa", "paise"),
}
MONEY |= {code: MONEY[sign] for code, sign in {"USD": "$", "EUR": "€", "GBP": "£"}.items()}
MULTIPLES = {"k": "thousand", "m": "million", "mn": "million", "b": "billion", "bn": "billion"}

UNITS = {
    "%": ("percent", "percent"),
    "‰": ("per thousand", "per thousand"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"),
    "km/h": ("kilometer per hour", "kilometers per hour"),
    "kph": ("kilometer per hour", "kilometers per hour"),
    "kmh": ("kilometer per hour", "kilometers per hour"),
    "mph": ("mile per hour", "miles per hour"),
    "m/s": ("meter per second", "meters per second"),
    "kWh": ("kilowatt hour", "kilowatt hours"),
    "mAh": ("milliamp hour", "milliamp hours"),
    "kW": ("kilowatt", "kilowatts"),
    "MW": ("megawatt", "megawatts"),
    "W": ("watt", "watts"),
    "V": ("volt", "volts"),
    "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"),
    "Hz": ("hertz", "hertz"),
    "KB": ("kilobyte", "kilobytes"),
    "kB": ("kilobyte", "kilobytes"),
    "MB": ("megabyte", "megabytes"),
    "GB": ("gigabyte", "gigabytes"),
    "TB": ("terabyte", "terabytes"),
    "dB": ("decibel", "decibels"),
    "hPa": ("hectopascal", "hectopascals"),
    "kcal": ("kilocalorie", "kilocalories"),
    "kg": ("kilogram", "kilograms"),
    "mg": ("milligram", "milligrams"),
    "g": ("gram", "grams"),
    "lbs": ("pound", "pounds"),
    "lb": ("pound", "pounds"),
    "oz": ("ounce", "ounces"),
    "km": ("kilometer", "kilometers"),
    "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"),
    "nm": ("nanometer", "nanometers"),
    "m": ("meter", "meters"),
    "mi": ("mile", "miles"),
    "ft": ("foot", "feet"),
    "yd": ("yard", "yards"),
    "ml": ("milliliter", "milliliters"),
    "mL": ("milliliter", "milliliters"),
    "l": ("liter", "liters"),
    "L": ("liter", "liters"),
    "tsp": ("teaspoon", "teaspoons"),
    "tbsp": ("tablespoon", "tablespoons"),
    "hrs": ("hour", "hours"),
    "hr": ("hour", "hours"),
    "h": ("hour", "hours"),
    "mins": ("minute", "minutes"),
    "min": ("minute", "minutes"),
    "secs": ("second", "seconds"),
    "sec": ("second", "seconds"),
    "ms": ("millisecond", "milliseconds"),
    "s": ("second", "seconds"),
    "px": ("pixel", "pixels"),
}
POWERS = {"": "", "^2": "square ", "^3": "cubic "}

TITLES = {
    "Dr": "Doctor",
    "Mr": "Mister",
    "Mrs": "Missus",
    "Ms": "Miz",
    "Prof": "Professor",
    "St": "Saint",
    "Mt": "Mount",
    "Gen": "General",
    "Capt": "Captain",
    "Lt": "Lieutenant",
    "Sgt": "Sergeant",
    "Rev": "Reverend",
    "Sen": "Senator",
    "Gov": "Governor",
}
STREETS = {"St": "Street", "Ave": "Avenue", "Rd": "Road", "Blvd": "Boulevard", "Dr": "Drive"}
SHORT = {
    "approx": "approximately",
    "etc": "et cetera",
    "vs": "versus",
    "dept": "department",
    "Inc": "Incorporated",
    "Ltd": "Limited",
    "Corp": "Corporation",
    "Jr": "Junior",
    "Sr": "Senior",
}

REIGNS = (
    "Henry Louis Elizabeth Charles George Edward William Richard James John Paul Pius Benedict "
    "Francis Frederick Napoleon Catherine Ivan Philip Alexander Nicholas Wilhelm Ramses Ramesses "
    "Leo Gregory Innocent Mary Otto Gustav Christian Margrethe Carl Felipe Alfonso Ferdinand"
).replace(" ", "|")
COUNTED = "War|Chapter|Part|Act|Volume|Book|Type|Phase|Stage|Section|Grade|Level|Bowl"

FRACTIONS = {2: ("half", "halves"), 4: ("quarter", "quarters")}
