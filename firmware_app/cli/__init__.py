"""hey-echo: the command line. Each group of commands is a module with `add(commands)`."""

import argparse
import contextlib
import os
import re
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from firmware_app import __version__
from firmware_app.errors import EchoError, UsageError

# In the order of --help, which imports them all: what is heavy they import late.
GROUPS = (
    "run",
    "ask",
    "say",
    "stop",
    "mute",
    "reload",
    "status",
    "doctor",
    "explain",
    "listen",
    "demo",
    "skills",
    "stats",
    "config",
    "models",
    "chats",
    "pair",
    "tls",
    "wake",
    "backup",
)

EX_SOFTWARE = 70  # sysexits.h
PACKAGE = Path(__file__).parent.parent


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError("usage", _plainer(message), f"See: {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status. Prints no traceback, except when debugging."""
    try:
        return _run(argv)
    except EchoError as error:
        # The code is for `hey-echo explain`, which has nothing to add to a wrongly typed command.
        code = "" if error.code == "usage" else f"[{error.code}]"
        _complain(" ".join(filter(None, (error.what, error.mend, code))))
        return error.exit_status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:  # such as: hey-echo config show | head -1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Exception as error:
        if os.environ.get("HEY_ECHO_LOG_LEVEL", "").strip() == "debug":
            import traceback

            traceback.print_exc()
        _complain(
            f"Echo itself failed: {type(error).__name__}{_place(error)}. "
            "For the details run it again with HEY_ECHO_LOG_LEVEL=debug before it. [internal]"
        )
        return EX_SOFTWARE


def _run(argv: Sequence[str] | None) -> int:
    parser = Parser(prog="hey-echo", description="Hey Echo: an offline voice assistant.")
    parser.add_argument("--version", action="version", version=f"hey-echo {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    argv = sys.argv[1:] if argv is None else argv
    # Only what is asked for is imported, so that a small command answers at once.
    for group in argv[:1] if argv and argv[0] in GROUPS else GROUPS:
        import_module(f"{__name__}.{group}").add(commands)
    arguments = parser.parse_args(argv)
    status: int = arguments.run(arguments)
    sys.stdout.flush()
    return status


def _complain(sentence: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(f"hey-echo: {sentence.strip()}", file=sys.stderr)


def _place(error: Exception) -> str:
    """File and line of the package's own code in which it happened."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    if not own:
        return ""
    return f" at {Path(own[-1].filename).relative_to(PACKAGE.parent)}:{own[-1].lineno}"


def _plainer(message: str) -> str:
    """argparse's message as a sentence, with the nearest command to a wrong one."""
    wrong = re.fullmatch(
        r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)", message, re.DOTALL
    )
    if not wrong:
        return f"{message[:1].upper()}{message[1:]}."
    from difflib import get_close_matches

    choices = [choice.strip(" '") for choice in wrong[3].split(",")]
    near = get_close_matches(wrong[2], choices, n=1)
    ask = f"did you mean {near[0]}?" if near else f"there are {', '.join(choices)}."
    return f"There is no {wrong[1].lower()} {wrong[2]}: {ask}"
