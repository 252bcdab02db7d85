"""The command line's end of the control socket, for calls with one answer."""

import contextlib
import socket
from pathlib import Path
from typing import Any

from firmware_app.control.protocol import (
    LONGEST_ANSWER,
    Json,
    decode_answer,
    encode_request,
    remote_error,
    socket_path,
)
from firmware_app.errors import EchoError, ServiceError

SECONDS_TO_ANSWER = 15.0  # a sync on a card can take seconds


def call(runtime: Path, name: str, /, **args: Json) -> Any:  # noqa: ANN401 - JSON, as the handler says
    """The result of a call to the service whose runtime folder this is.

    Raises ServiceError "not-running" when there is no service, "not-allowed" when it may not be
    called, "no-answer" when it is silent; RemoteError with what the service refused.
    """
    path = socket_path(runtime)
    line = encode_request(name, args)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(SECONDS_TO_ANSWER)
        try:
            connection.connect(str(path))
            with contextlib.suppress(
                BrokenPipeError
            ):  # refused before it was read: an answer waits
                connection.sendall(line)
            with connection.makefile("rb") as lines:
                while "event" in (answer := decode_answer(lines.readline(LONGEST_ANSWER))):
                    pass
        except OSError as fault:
            raise unreachable(path, fault) from fault
    return result_of(answer)


def result_of(answer: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    if "error" in answer:
        raise remote_error(answer["error"])
    return answer["result"]


def unreachable(path: Path, fault: OSError) -> EchoError:
    if isinstance(fault, FileNotFoundError | ConnectionRefusedError | NotADirectoryError):
        return ServiceError(
            "not-running",
            "Echo is not running.",
            "Start it with: sudo systemctl start hey-echo (or, in a terminal: hey-echo run)",
        )
    if isinstance(fault, PermissionError):
        return ServiceError(
            "not-allowed",
            "You may not call the running Echo.",
            "Join its group, then log in again: sudo usermod -aG hey-echo $USER",
        )
    if isinstance(fault, TimeoutError):
        return ServiceError(
            "no-answer",
            f"Echo has not answered for {SECONDS_TO_ANSWER:g} seconds.",
            "Try again, or restart it: sudo systemctl restart hey-echo",
        )
    return ServiceError(
        "no-answer",
        f"Echo cannot be called at {path}: {(fault.strerror or str(fault)).lower()}.",
        "Restart it: sudo systemctl restart hey-echo",
    )
