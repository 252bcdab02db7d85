"""Running commands of hey-echo in the test's own process."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from firmware_app.cli import main

Run: TypeAlias = Callable[..., tuple[int, str, str]]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command: exit status, standard output, standard error."""

    def run(*argv: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(argv)
        out, err = capsys.readouterr()
        return status, out, err

    return run
