"""What reaches the log, and how often."""

import io
import logging
from collections.abc import Iterator

import pytest

from firmware_app import logs
from firmware_app.errors import DeviceError


@pytest.fixture(autouse=True)
def _root_logger_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(level: str = "info", **environ: str) -> tuple[logging.Logger, io.StringIO]:
    stream = io.StringIO()
    logs.set_up(level, stream, environ)
    return logging.getLogger("firmware_app.audio"), stream


def record(
    message: str, *args: object, at: float = 0.0, level: int = logging.WARNING
) -> logging.LogRecord:
    made = logging.LogRecord("audio", level, "", 0, message, args, None)
    made.created = at
    return made


def told(once: logs.Once, made: logging.LogRecord) -> str | None:
    return made.getMessage() if once.filter(made) else None


def test_a_line_names_its_level_and_room() -> None:
    log, stream = lines()
    log.info("microphone %s is open", "hw:1")
    assert stream.getvalue().endswith("INFO    firmware_app.audio: microphone hw:1 is open\n")


def test_lines_below_the_level_are_left_out() -> None:
    log, stream = lines("warning")
    log.info("no")
    log.warning("yes")
    assert "no" not in stream.getvalue()
    assert "yes" in stream.getvalue()


def test_setting_up_twice_does_not_double_the_lines() -> None:
    lines()
    log, stream = lines()
    log.info("once")
    assert stream.getvalue().count("once") == 1


def test_the_journal_gets_levels_instead_of_times() -> None:
    log, stream = lines(JOURNAL_STREAM="8:1234")
    log.error("gone\nfor good")
    assert stream.getvalue() == "<3>firmware_app.audio: gone\n<3>for good\n"


@pytest.mark.parametrize(("level", "places"), [("info", False), ("debug", True)])
def test_what_an_exception_quotes_is_never_logged(level: str, places: bool) -> None:
    log, stream = lines(level)
    try:
        raise ValueError("the words of someone")
    except ValueError:
        log.exception("the turn failed")
    assert "the turn failed" in stream.getvalue()
    assert "ValueError" in stream.getvalue()
    assert ("test_logs.py" in stream.getvalue()) is places
    assert "the words of" not in stream.getvalue().replace('raise ValueError("the words', "")


def test_faults_of_echo_and_of_the_system_are_told_in_full() -> None:
    log, stream = lines()
    for fault in (DeviceError("lost", "The microphone went.", "Plug it in."), OSError(5, "I/O")):
        try:
            raise fault
        except (DeviceError, OSError):
            log.exception("failed")
    assert "DeviceError: The microphone went. Plug it in." in stream.getvalue()
    assert "OSError: [Errno 5] I/O" in stream.getvalue()


def test_a_fault_that_goes_on_is_told_once_and_then_with_its_count() -> None:
    once = logs.Once()
    assert told(once, record("lost %s", "hw:1", at=0)) == "lost hw:1"
    assert [told(once, record("lost %s", "hw:1", at=n)) for n in range(1, 600)] == [None] * 599
    assert told(once, record("lost %s", "hw:1", at=600)) == (
        "lost hw:1 (and 599 times since the last line)"
    )
    assert told(once, record("lost %s", "hw:1", at=1300)) == "lost hw:1"


def test_other_faults_and_ordinary_lines_are_not_held_back() -> None:
    once = logs.Once()
    assert told(once, record("lost"))
    assert told(once, record("found"))
    assert told(once, record("lost", level=logging.ERROR))
    assert all(told(once, record("turn done", level=logging.INFO)) for _ in range(3))


def test_it_remembers_a_bounded_number_of_faults() -> None:
    once = logs.Once()
    for number in range(10_000):
        told(once, record(f"fault {number}"))
    assert len(once._told) <= logs.TEMPLATES
