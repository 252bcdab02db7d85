"""Taking what can be read out of a damaged database."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from firmware_app.history import schema
from firmware_app.history.faults import is_damage
from firmware_app.history.rows import fetch
from firmware_app.history.statements import make_index_anew
from firmware_app.sqlite import Connection, ConstraintError, Error, SQLError, open_database

_Row: TypeAlias = Mapping[str, Any]
_GIVEN_ANEW = ("seq", "id")  # creation numbers, and what is never shown


def add_readable(sources: Sequence[Path], target: Path) -> None:
    """A new history with every row that can be read; of the same entry the first is taken.

    Conversations of the first source are marked as incomplete. The search index is made anew.
    """
    with contextlib.closing(schema.open_history(target, target.parent.name, None)) as fresh:
        fresh.pragma("foreign_keys", False)  # an entry may come before a conversation that is lost
        with fresh:
            for source in sources:
                _take_over(source, fresh)
                if source is sources[0]:
                    fresh.execute("UPDATE conversations SET incomplete = 1")
            fresh.execute(
                "DELETE FROM entries"
                " WHERE conversation_uuid NOT IN (SELECT uuid FROM conversations)"
            )
            fresh.execute("DELETE FROM images WHERE entry_id NOT IN (SELECT id FROM entries)")
            fresh.execute(
                "UPDATE conversations SET next_entry = max(next_entry,"
                " (SELECT coalesce(max(entry_number), 0) + 1 FROM entries"
                "  WHERE conversation_uuid = uuid))"
            )
            fresh.execute(schema.LAST_ENTRY)
            make_index_anew(fresh)
        fresh.pragma("journal_mode", "DELETE")  # one file, with no log beside it


def _take_over(path: Path, fresh: Connection) -> None:
    with contextlib.closing(open_database(path, readonly=True)) as source:
        for row in sorted(_readable(source, "conversations"), key=lambda row: int(row["rowid"])):
            _insert(fresh, "conversations", row)
        moved: dict[int, int] = {}  # entries with images, by what their ids were
        for row in _readable(source, "entries"):
            if _insert(fresh, "entries", row) and '"type":"image"' in str(row["content"]):
                moved[row["rowid"]] = fresh.last_insert_rowid()
        for row in _readable(source, "images"):
            if row["entry_id"] in moved:
                _insert(fresh, "images", {**row, "entry_id": moved[row["entry_id"]]})


def _insert(fresh: Connection, table: str, row: _Row) -> bool:
    """Whether the row was added: it may be there, or be no longer what the schema asks for."""
    known = (name for _, name, *_ in fetch(fresh, f"PRAGMA table_info({table})"))
    columns = [name for name in known if name in row and name not in _GIVEN_ANEW]
    names, places = ", ".join(columns), ", ".join("?" * len(columns))
    try:
        fresh.execute(
            f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({places})",  # noqa: S608
            tuple(row[name] for name in columns),
        )
    except ConstraintError:
        return False
    return bool(fresh.changes())


def _readable(source: Connection, table: str) -> Iterator[_Row]:
    """Rows from the front up to the damage, then from the back down to it."""
    reached = -(2**62)
    for direction in ("ASC", "DESC"):
        try:
            rows = source.execute(
                f"SELECT rowid AS rowid, * FROM {table} NOT INDEXED"  # noqa: S608
                f" WHERE rowid > ? ORDER BY rowid {direction}",
                (reached,),
            )
            for row in rows:
                if direction == "ASC":
                    reached = row[0]
                yield dict(zip((column[0] for column in rows.description), row, strict=True))
            return
        except SQLError:  # an older schema, without that table
            return
        except Error as fault:
            if not is_damage(fault):
                raise
