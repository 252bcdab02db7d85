"""How people want to talk with Echo: text mode and mute, which survive a restart."""

import asyncio
from dataclasses import dataclass, replace
from typing import Literal, get_args

from firmware_app.events import Mode
from firmware_app.sqlite import Connection
from firmware_app.state import StateStore

Muted = Literal["", "page", "button"]  # by whom; what the button did only the button undoes


@dataclass(frozen=True, slots=True)
class Switches:
    mode: Mode = Mode.VOICE
    muted: Muted = ""

    def in_mode(self, mode: Mode) -> "Switches":
        """Choosing voice opens the microphone, unless the button has closed it."""
        chosen = mode is Mode.VOICE and self.mode is Mode.TEXT
        return Switches(mode, "" if chosen and self.muted == "page" else self.muted)

    def mute(self, by: Muted) -> "Switches":
        return replace(self, muted=by)

    def unmute(self) -> "Switches":
        """The microphone opens, so text mode ends."""
        return Switches()

    @classmethod
    async def kept_in(cls, store: StateStore) -> "Switches":
        """As they were before the restart. Raises StorageError."""
        kept = await asyncio.wrap_future(store.work(_read))
        mode, muted = kept.get("mode", ""), kept.get("muted", "")
        return cls(
            Mode(mode) if mode in tuple(Mode) else Mode.VOICE,
            next((by for by in get_args(Muted) if by == muted), "button"),
        )

    async def keep_in(self, store: StateStore) -> None:
        """Raises StorageError."""
        values = [("mode", self.mode.value), ("muted", self.muted)]

        def write(database: Connection) -> None:
            database.executemany("INSERT OR REPLACE INTO switches VALUES (?, ?)", values)

        await asyncio.wrap_future(store.work(write))


def _read(database: Connection) -> dict[str, str]:
    return {str(name): str(value) for name, value in database.execute("SELECT * FROM switches")}
