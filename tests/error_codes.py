"""Every error code that the source raises, found by reading it."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "firmware_app"
ROOT = "EchoError"
PASSED_ON = {"error.code", "fault.code", "str(error.get('code', 'internal'))"}  # of other errors


def codes() -> dict[str, set[str]]:
    """Each code, and the files that raise it."""
    trees = {
        path.relative_to(PACKAGE.parent): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    errors = _error_classes(trees.values())
    found: dict[str, set[str]] = {}
    for path, tree in trees.items():
        for call in _calls(tree, errors):
            for code in _resolve(call.args[0], tree):
                found.setdefault(code, set()).add(str(path))
    return found


def _error_classes(trees: Iterable[ast.Module]) -> set[str]:
    """Names of EchoError and of all that derive from it and take a code."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found = {ROOT}
    while more := {
        node.name
        for node in classes
        if node.name not in found and found & {ast.unparse(base) for base in node.bases}
    }:
        found |= more
    return found


def _calls(tree: ast.Module, errors: set[str]) -> Iterator[ast.Call]:
    """Where an error is made with a code: Error("code", …), or super().__init__("code", …)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            is_error = node.func.id in errors and len(node.args) >= 3
            if is_error or node.func.id == "Notice":  # an event with a code of the same list
                yield node
        elif isinstance(node, ast.ClassDef) and node.name in errors and node.name != ROOT:
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
                    yield call


def _resolve(code: ast.expr, tree: ast.Module) -> set[str]:
    """The values that an expression may have. Raises AssertionError where that cannot be seen."""
    match code:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp(body=one, orelse=other):
            return _resolve(one, tree) | _resolve(other, tree)
        case ast.Name(id=name):
            if values := _values_of(name, code, tree):
                return values
    if ast.unparse(code) in PASSED_ON or _is_init_parameter(code, tree):
        return set()
    raise AssertionError(f"line {code.lineno}: a code must be plain text: {ast.unparse(code)}")


def _values_of(name: str, use: ast.expr, tree: ast.Module) -> set[str]:
    """Of a constant of the file, of a helper's parameter, or of a loop's variable."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Constant(value=str(text))):
                found |= {text} if target == name else set()
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _holds(node, use):
                names = [argument.arg for argument in node.args.args]
                if name in names:
                    found |= _given(node.name, names.index(name), tree)
            case ast.For(target=ast.Tuple(elts=names), iter=ast.Tuple(elts=rows)):
                places = [n.id for n in names if isinstance(n, ast.Name)]
                if name in places:
                    for row in rows:
                        assert isinstance(row, ast.Tuple)
                        found |= _resolve(row.elts[places.index(name)], tree)
    return found


def _given(function: str, place: int, tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
            found |= _resolve(node.args[place], tree)
    return found


def _holds(function: ast.AST, use: ast.expr) -> bool:
    return any(node is use for node in ast.walk(function))


def _is_init_parameter(code: ast.expr, tree: ast.Module) -> bool:
    """A class that hands on the code it is given, as RemoteError does."""
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "__init__" and _holds(node, code)
        for node in ast.walk(tree)
    )
