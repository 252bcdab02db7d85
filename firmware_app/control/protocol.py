"""The lines of a call, and what they may be."""

import json
from pathlib import Path
from typing import Any, TypeAlias

from firmware_app.errors import EchoError, ServiceError, UsageError

Json: TypeAlias = bool | int | float | str | list[Any] | dict[str, Any] | None

LONGEST_LINE = 64 * 1024  # bytes of a request; a typed question is far shorter
LONGEST_ANSWER = 8 * 1024 * 1024  # bytes of a line that a client takes


def socket_path(runtime: Path) -> Path:
    return runtime / "control.sock"


def encode(message: dict[str, Json]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def encode_request(name: str, args: dict[str, Json]) -> bytes:
    """Raises UsageError when it is longer than the service takes."""
    line = encode({"call": name, **args})
    if len(line) > LONGEST_LINE:
        raise UsageError(
            "too-long",
            f"That is more than the {LONGEST_LINE // 1024} KB that Echo takes at once.",
            "Say it in fewer words.",
        )
    return line


def decode_request(line: bytes) -> tuple[str, dict[str, Any]]:
    """Name and arguments of a call. Raises UsageError for anything else."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise _malformed("is not JSON") from fault
    if not isinstance(message, dict):
        raise _malformed("is not a JSON object")
    name = message.pop("call", None)
    if not isinstance(name, str):
        raise _malformed('has no "call"')
    return name, message


def decode_answer(line: bytes) -> dict[str, Any]:
    """A line from the service. Raises ServiceError when it broke off or makes no sense."""
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict) or not message.keys() & {"event", "result", "error"}:
        raise ServiceError(
            "no-answer",
            "Echo hung up without an answer.",
            "See what it logged: journalctl -u hey-echo",
        )
    return message


def describe(error: EchoError) -> dict[str, Json]:
    return {
        "code": error.code,
        "what": error.what,
        "mend": error.mend,
        "exit_status": error.exit_status,
    }


class RemoteError(EchoError):
    """An error that the service answered with; it exits as the original would have."""

    def __init__(self, code: str, what: str, mend: str, exit_status: int = 1) -> None:
        super().__init__(code, what, mend)
        self.exit_status = exit_status


def remote_error(error: dict[str, Any]) -> RemoteError:
    return RemoteError(
        str(error.get("code", "internal")),
        str(error.get("what", "Echo could not do that.")),
        str(error.get("mend", "")),
        int(error.get("exit_status", 1)),
    )


def _malformed(how: str) -> UsageError:
    return UsageError(
        "malformed-call",
        f"The request {how}.",
        'Send one line such as {"call": "status"}.',
    )
