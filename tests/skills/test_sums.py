"""Sums, units and dates: every answer is exact."""

import pytest

from firmware_app.skills import SkillError
from firmware_app.skills.sums.arithmetic import evaluate
from tests.skills.conftest import Speaker

SUMS = {
    "What is 7 times 8?": "56.",
    "What's seven times eight?": "56.",
    "What is 15 percent of 80?": "12.",
    "What is 12.5 percent of 64?": "8.",
    "What is 0.1 plus 0.2?": "0.3.",
    "What is 1 divided by 3?": "About 0.3333.",
    "What is 144 divided by 12?": "12.",
    "What is 22 divided by 7?": "About 3.14.",
    "What is the square root of 81?": "9.",
    "What is the square root of 2?": "About 1.41.",
    "What is the cube root of 27?": "3.",
    "What is 2 to the power of 10?": "1,024.",
    "What is two to the tenth?": "1,024.",
    "What is 5 squared?": "25.",
    "What is 3 cubed?": "27.",
    "What is 20 percent off 50?": "40.",
    "What is half of 90?": "45.",
    "What is three quarters of 200?": "150.",
    "What is two thirds of 90?": "60.",
    "What percent of 80 is 20?": "25 percent.",
    "What is 100 plus 15 percent?": "115.",
    "What is 17 multiplied by 23?": "391.",
    "What is 1,250 plus 750?": "2,000.",
    "Add 5 and 7.": "12.",
    "Subtract 5 from 12.": "7.",
    "What is 10 factorial?": "3,628,800.",
    "What is 9 plus 10 minus 4 times 2?": "11.",
    "What is minus 5 plus 3?": "-2.",
    "What is three hundred and sixty five times twenty four?": "8,760.",
    "What is a million divided by 8?": "125,000.",
    "What's a 15 percent tip on 48?": "7.2.",
    "What is 10 divided by zero?": "That cannot be divided by zero.",
    "What is the square root of minus 4?": "That has no real result.",
    "What is 9 to the power of 9 to the power of 9?": "That number is too large for me.",
    "What is 200 factorial?": "That number is too large for me.",
}
UNITS = {
    "How many feet are in 3 miles?": "3 miles are 15,840 feet.",
    "How many cups are in a gallon?": "1 gallon is 16 cups.",
    "Convert 10 kilometers to miles.": "10 kilometers are about 6.21 miles.",
    "Convert 100 degrees fahrenheit to celsius.": "100 degrees Fahrenheit are about "
    "37.78 degrees Celsius.",
    "What is 30 degrees celsius in fahrenheit?": "30 degrees Celsius are 86 degrees Fahrenheit.",
    "What is minus 40 celsius in fahrenheit?": "-40 degrees Celsius are -40 degrees Fahrenheit.",
    "How many centimeters are in an inch?": "1 inch is 2.54 centimeters.",
    "How many grams are in a pound?": "1 pound is 453.59237 grams.",
    "How many ounces in a pound?": "1 pound is 16 ounces.",
    "How many ounces in a cup?": "1 cup is 8 fluid ounces.",
    "What's 5 feet 10 inches in centimeters?": "70 inches are 177.8 centimeters.",
    "How many minutes are in a day?": "1 day is 1,440 minutes.",
    "How many seconds are in a week?": "1 week is 604,800 seconds.",
    "How many liters are in 5 gallons?": "5 gallons are about 18.93 liters.",
    "How many meters are there in half a mile?": "0.5 miles are 804.672 meters.",
    "How many megabytes are in a gigabyte?": "1 gigabyte is 1,000 megabytes.",
    "How many grams are in a mile?": "Miles cannot be converted to grams.",
}
DATES = {  # on Monday, 30 November 2026, at five in the afternoon
    "What time is it?": "It is 5:00 PM.",
    "What time is it in Tokyo?": "It is 1:00 AM in Tokyo, tomorrow.",
    "What time is it in New York?": "It is 11:00 AM in New York.",
    "What time is it in London?": "It is 4:00 PM in London.",
    "What time is it in Kathmandu?": "It is 9:45 PM in Kathmandu.",
    "What time is it in Atlantis?": "I do not know what time it is in Atlantis.",
    "What's the date?": "It is Monday, November 30, 2026.",
    "What day is Christmas?": "It is Friday, December 25.",
    "When is Easter?": "It is Sunday, March 28, 2027.",
    "What day is February 29th?": "It is Tuesday, February 29, 2028.",
    "How many days until Christmas?": "25 days until Friday, December 25.",
    "How many weeks until New Year's Day?": "4 weeks and 4 days until Friday, January 1, 2027.",
    "How many days between March 1st and April 15th?": "45 days.",
    "How many days between January 1 and December 31?": "364 days.",
    "How many months until July 4th?": "7 months and 4 days until Sunday, July 4, 2027.",
    "How many days since January 1st?": "333 days since Thursday, January 1.",
    "How many days until today?": "That is today.",
    "How long until 6 o'clock?": "1 hour until today at 6:00 PM.",
    "How long until midnight?": "7 hours until tomorrow at midnight.",
    "What day will it be in 10 days?": "It is Thursday, December 10.",
}


@pytest.mark.parametrize(("question", "answer"), (SUMS | UNITS | DATES).items())
async def test_the_answer_is_exact(say: Speaker, question: str, answer: str) -> None:
    assert await say(question) == answer


def test_there_are_sixty() -> None:
    assert len(SUMS | UNITS | DATES) >= 60


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "(1).__class__",
        "open('x')",
        "[x for x in (1,)]",
        "lambda: 1",
        "'a' * 9",
        "True + 1",
        "1 if 1 else 2",
        "sqrt(1, 2)",
        "f(1)",
        "1; 2",
        "",
        "9**9**9**9",
        "(" * 200 + "1" + ")" * 200,
        "-" * 250 + "1",
        "10**100000000",
        "(10**300)**300",
        "9" * 301,
        "1e999999999",
        "factorial(10**9)",
    ],
)
def test_the_evaluator_takes_no_more_than_sums_of_a_sane_size(expression: str) -> None:
    with pytest.raises(SkillError):
        evaluate(expression)
