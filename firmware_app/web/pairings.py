"""Who may see the page: phones that were paired, each with an owner. Tokens are kept as hashes."""

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from firmware_app.errors import StorageError
from firmware_app.sqlite import Connection
from firmware_app.state import StateStore

KEPT_SECONDS = 90 * 24 * 3600  # a phone that is not used for so long must be paired again
NOTED_SECONDS = 3600  # how exactly the last use is known
CLOCK_IS_RIGHT = 1_700_000_000  # before this a box without a clock is telling no time at all
LONGEST_NAME = 60
LONGEST_OWNER = 64


@dataclass(frozen=True, slots=True)
class Pairing:
    """A paired phone. Times: wall clock, seconds."""

    id: int
    owner: str
    name: str
    created: float
    last_used: float


class Pairings:
    """All of them, in memory and in the state database. For the loop's thread alone.

    on_end: told the id of a pairing that is no more.
    """

    def __init__(
        self,
        state: StateStore | None,
        on_end: Callable[[int], None] = lambda pairing: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._state = state
        self._on_end = on_end
        self._now = now
        self._by_hash: dict[bytes, Pairing] = {}

    async def load(self) -> None:
        """Raises StorageError."""
        if self._state:
            rows = await asyncio.wrap_future(self._state.work(_rows))
            self._by_hash = {row[0]: Pairing(*row[1:]) for row in rows}

    def of_token(self, token: str) -> Pairing | None:
        """The phone that has this token, unless it was away for too long."""
        pairing = self._by_hash.get(_hash(token))
        if pairing is None:
            return None
        if pairing.last_used > CLOCK_IS_RIGHT and self._now() - pairing.last_used > KEPT_SECONDS:
            return None
        return pairing

    def of_owner(self, owner: str | None) -> list[Pairing]:
        """Newest use first; all of them where owner is None."""
        mine = [p for p in self._by_hash.values() if owner in (None, p.owner)]
        return sorted(mine, key=lambda pairing: -pairing.last_used)

    async def add(self, owner: str, name: str) -> str:
        """Pair a phone; returns its token, which is told nobody else. Raises StorageError."""
        if self._state is None:
            raise StorageError(
                "state-not-written",
                "Echo cannot remember phones: its state database cannot be written.",
                "Look at the space on the card and its state: hey-echo doctor",
            )
        token = secrets.token_urlsafe(32)
        token_hash, now = _hash(token), self._now()

        def insert(database: Connection) -> int:
            database.execute(
                "INSERT INTO pairings (token_hash, owner, name, created, last_used)"
                " VALUES (?, ?, ?, ?, ?)",
                (token_hash, owner, name, now, now),
            )
            return database.last_insert_rowid()

        number = await asyncio.wrap_future(self._state.work(insert))
        self._by_hash[token_hash] = Pairing(number, owner, name, now, now)
        return token

    async def revoke(self, number: int, owner: str | None = None) -> bool:
        """False where there is no such phone of this owner; None owns them all.

        It counts at once, also where the card does not take it; then raises StorageError.
        """
        found = [h for h, p in self._by_hash.items() if p.id == number and owner in (None, p.owner)]
        if not found:
            return False
        del self._by_hash[found[0]]
        self._on_end(number)
        if self._state:
            await asyncio.wrap_future(
                self._state.work(
                    lambda d: d.execute("DELETE FROM pairings WHERE id = ?", (number,))
                )
            )
        return True

    def use(self, token: str) -> bool:
        """Note that a phone was here; True after an hour, so that its cookie is renewed."""
        token_hash, now = _hash(token), self._now()
        pairing = self._by_hash[token_hash]
        if 0 <= now - pairing.last_used < NOTED_SECONDS:
            return False
        self._by_hash[token_hash] = replace(pairing, last_used=now)
        if self._state:  # it does not matter where it is lost
            self._state.work(
                lambda d: d.execute(
                    "UPDATE pairings SET last_used = ? WHERE id = ?", (now, pairing.id)
                )
            )
        return True


def _rows(database: Connection) -> list[tuple[Any, ...]]:
    return database.execute(
        "SELECT token_hash, id, owner, name, created, last_used FROM pairings"
    ).fetchall()


def _hash(token: str) -> bytes:
    """A token is random enough to need no salt."""
    return hashlib.sha256(token.encode(errors="replace")).digest()
