"""A bounded evaluator of arithmetic: exact where it can be, and never long.

The expression is Python's syntax of numbers, + - * / ** %, brackets and a few functions; its tree
is walked, nothing is run.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from firmware_app.skills import SkillError

Number: TypeAlias = Fraction | float

LONGEST = 300  # characters of an expression
DEEPEST = 40  # brackets and signs within each other
MOST_DIGITS = 400  # of a number on the way
LARGEST_FACTORIAL = 170

_OPERATORS: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
}


def evaluate(expression: str) -> Number:
    """Exact as a fraction, or a float where a root is none.

    Raises SkillError "no-division", "too-large", "no-real" or "no-sum".
    """
    if len(expression) > LONGEST:
        raise _too_large()
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        return _bounded(_value(tree.body, 0))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise SkillError("no-sum", "That is no sum that I can work out.", "Say it again.") from None
    except ZeroDivisionError:
        raise SkillError("no-division", "That is a division by zero.", "Ask another.") from None
    except OverflowError:
        raise _too_large() from None


def _value(node: ast.expr, depth: int) -> Number:
    if depth > DEEPEST:
        raise _too_large()
    deeper = depth + 1
    match node:
        case ast.Constant(value=bool()):
            raise ValueError(node.value)
        case ast.Constant(value=int() | float()):
            return Fraction(str(node.value))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, deeper)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, deeper)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bounded(_power(_value(left, deeper), _value(right, deeper)))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _bounded(_value(left, deeper) / _value(right, deeper))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            work = _OPERATORS[type(op)]
            return _bounded(work(_value(left, deeper), _value(right, deeper)))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](_value(argument, deeper)))
        case _:
            raise ValueError(ast.dump(node))


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        whole = int(exponent)
        if isinstance(base, Fraction):
            size = max(abs(base.numerator), base.denominator)
            if abs(whole) * math.log10(max(size, 1)) > MOST_DIGITS:
                raise _too_large()
        return base**whole
    if base < 0:
        raise _no_real()
    return math.pow(float(base), float(exponent))


def _root(degree: int) -> Callable[[Number], Number]:
    def root(value: Number) -> Number:
        if value < 0 and degree % 2 == 0:
            raise _no_real()
        sign = -1 if value < 0 else 1
        if isinstance(value, Fraction):
            top = _whole_root(abs(value.numerator), degree)
            bottom = _whole_root(value.denominator, degree)
            if top is not None and bottom is not None:
                return sign * Fraction(top, bottom)
        return sign * math.pow(abs(float(value)), 1 / degree)

    return root


def _whole_root(number: int, degree: int) -> int | None:
    if number.bit_length() > 1000:
        return None
    root = math.isqrt(number) if degree == 2 else round(number ** (1 / degree))
    return root if root**degree == number else None


def _size(value: Number) -> Number:
    return -value if value < 0 else value


def _factorial(value: Number) -> Number:
    if not isinstance(value, Fraction) or value.denominator != 1 or value < 0:
        raise _no_real()
    if value > LARGEST_FACTORIAL:
        raise _too_large()
    return Fraction(math.factorial(int(value)))


_FUNCTIONS: Mapping[str, Callable[[Number], Number]] = {
    "sqrt": _root(2),
    "cbrt": _root(3),
    "abs": _size,
    "factorial": _factorial,
}


def _bounded(value: Number) -> Number:
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise _too_large()
    if isinstance(value, Fraction):
        size = max(value.numerator.bit_length(), value.denominator.bit_length())
        if size > MOST_DIGITS * 3.33:
            raise _too_large()
    return value


def _too_large() -> SkillError:
    return SkillError("too-large", "That number is too large.", "Ask for a smaller one.")


def _no_real() -> SkillError:
    return SkillError("no-real", "That has no real result.", "Ask another.")
