"""Keeps timers, alarms and reminders in the state database."""

import asyncio
import json
import logging
from concurrent.futures import Future
from typing import Any

from firmware_app.errors import StorageError
from firmware_app.skills.timers.schedule import Alert, Keep
from firmware_app.sqlite import Connection
from firmware_app.state import StateStore

log = logging.getLogger(__name__)

_COLUMNS = "id, kind, name, seconds, boot_id, due_boot, due, time, twelve_hour, days, anchor"
_NAMES = _COLUMNS.split(", ")
_PUT = f"INSERT OR REPLACE INTO alerts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our own


class Alerts(Keep):
    """Writes each change at once; `written` tells whether the last one is on the card."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._last: Future[None] | None = None

    async def load(self) -> list[Alert]:
        """Raises StorageError where the card gives nothing."""
        return await asyncio.wrap_future(self._store.work(_read))

    def put(self, alert: Alert) -> None:
        values = (
            alert.id,
            alert.kind,
            alert.name,
            alert.seconds,
            alert.boot_id,
            alert.due_boot,
            alert.due,
            alert.time,
            alert.twelve_hour,
            json.dumps(alert.days),
            alert.anchor,
        )
        self._write(_PUT, values)

    def remove(self, number: int) -> None:
        self._write("DELETE FROM alerts WHERE id = ?", (number,))

    async def written(self) -> bool:
        """Whether the last change has come to the card."""
        if self._last is None:
            return True
        try:
            await asyncio.wrap_future(self._last)
        except StorageError as error:
            log.error("a timer or alarm is not kept: %s", error.what)
            return False
        return True

    def _write(self, sql: str, values: tuple[object, ...]) -> None:
        def work(database: Connection) -> None:
            database.execute(sql, values)

        self._last = self._store.work(work)


def _read(database: Connection) -> list[Alert]:
    rows = database.execute(f"SELECT {_COLUMNS} FROM alerts ORDER BY id")  # noqa: S608 - our own
    return [_alert(dict(zip(_NAMES, row, strict=True))) for row in rows]


def _alert(values: dict[str, Any]) -> Alert:
    values["days"] = tuple(json.loads(values["days"]))
    values["twelve_hour"] = bool(values["twelve_hour"])
    return Alert(**values)
