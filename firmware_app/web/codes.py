"""Pairing codes: one at a time, for two minutes, once, in memory alone."""

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from firmware_app.dialogue.phrases import phrases
from firmware_app.errors import UsageError
from firmware_app.web.pairings import LONGEST_OWNER
from firmware_app.web.problems import WebError

SECONDS = 120.0
WRONG_TRIES = 5
SHOWN_DIGITS = 8  # printed by the command line
SPOKEN_DIGITS = 6


@dataclass(slots=True)
class _Code:
    digits: str
    owner: str
    until: float
    wrong: int = 0


class Codes:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._code: _Code | None = None

    def new(self, owner: str, digits: int) -> str:
        """A fresh code, in the place of the one there was."""
        code = f"{secrets.randbelow(10**digits):0{digits}d}"
        self._code = _Code(code, owner, self._now() + SECONDS)
        return code

    def take(self, tried: str) -> str:
        """The owner of the code, which is spent. Raises WebError: wrong, late and none alike."""
        code = self._code
        if code is None or self._now() > code.until:
            self._code = None
            raise _wrong()
        if not hmac.compare_digest(tried.encode(), code.digits.encode()):
            code.wrong += 1
            if code.wrong >= WRONG_TRIES:
                self._code = None
            raise _wrong()
        self._code = None
        return code.owner

    async def speak(
        self, owner: str, language: str, announce: Callable[[str], Awaitable[None]]
    ) -> None:
        """Say a fresh code aloud, digit by digit, twice. Raises as announce does."""
        digits = ", ".join(self.new(owner, SPOKEN_DIGITS))
        await announce(phrases(language).pairing_code.format(code=digits))


def check_owner(owner: str) -> str:
    """Raises UsageError for what cannot be the name of an owner."""
    if not 1 <= len(owner) <= LONGEST_OWNER or not owner.isprintable() or owner != owner.strip():
        raise UsageError(
            "bad-owner",
            "That cannot be the name of an owner.",
            f"Give one of 1 to {LONGEST_OWNER} letters.",
        )
    return owner


def _wrong() -> WebError:
    return WebError(
        "wrong-code",
        "That code is not the right one, or its time is over.",
        "For a new one hold the button for six seconds, or run: hey-echo pair",
        status=403,
    )
