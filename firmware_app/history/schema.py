"""The tables of a history, how an older one becomes the present one, and who may open it."""

import contextlib
import os
from pathlib import Path

from firmware_app import __version__
from firmware_app.errors import StorageError
from firmware_app.sqlite import Connection, SQLError, open_database

BUSY_MS = 1_000  # what another program may hold the file for before it counts as a failure

# A word and its beginnings of two and three letters are found without a scan; the sizes of entries
# serve ranking alone, and hits are shown newest first.
_SCHEMA_1 = """
CREATE TABLE conversations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'ended', 'interrupted')),
    created REAL,
    updated REAL,
    ended REAL,
    next_entry INTEGER NOT NULL DEFAULT 1,
    incomplete INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT '',
    summary_through INTEGER NOT NULL DEFAULT 0,
    usage TEXT NOT NULL DEFAULT '{}',
    metadata TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX conversations_of_owner ON conversations (owner, seq);
CREATE INDEX conversations_active ON conversations (seq) WHERE state = 'active';
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    conversation_uuid TEXT NOT NULL REFERENCES conversations (uuid) ON DELETE CASCADE,
    entry_number INTEGER NOT NULL CHECK (entry_number >= 1),
    kind TEXT NOT NULL CHECK (kind IN ('user', 'assistant', 'tool', 'action', 'notice')),
    created REAL,
    boot_id TEXT NOT NULL,
    monotonic REAL NOT NULL,
    content TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}',
    UNIQUE (conversation_uuid, entry_number)
);
CREATE INDEX entries_without_time ON entries (boot_id) WHERE created IS NULL;
CREATE VIRTUAL TABLE search USING fts5 (
    text, content = 'entries', content_rowid = 'id',
    prefix = '2 3', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
"""
_SCHEMA_2 = """
ALTER TABLE conversations ADD COLUMN kind TEXT NOT NULL DEFAULT 'chat'
    CHECK (kind IN ('voice', 'chat', 'pane'));
CREATE INDEX conversations_of_kind ON conversations (owner, kind, seq);
ALTER TABLE entries ADD COLUMN origin_conversation TEXT;
ALTER TABLE entries ADD COLUMN origin_entry INTEGER;
CREATE TABLE images (
    entry_id INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
    part INTEGER NOT NULL,
    mime TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (entry_id, part)
);
"""
# The id of its last entry, which grows with every one that is written whatever the clock says.
LAST_ENTRY = """
UPDATE conversations SET latest = coalesce((
    SELECT id FROM entries WHERE conversation_uuid = conversations.uuid
    ORDER BY entry_number DESC LIMIT 1
), 0)
"""
_SCHEMA_3 = f"""
ALTER TABLE conversations ADD COLUMN latest INTEGER NOT NULL DEFAULT 0;
{LAST_ENTRY};
CREATE INDEX conversations_latest ON conversations (owner, latest) WHERE kind <> 'pane';
"""
_STEPS = (_SCHEMA_1, _SCHEMA_2, _SCHEMA_3)  # step n makes schema n + 1 out of schema n
VERSION = len(_STEPS)


def open_history(path: Path, workspace: str, created: float | None) -> Connection:
    """The write connection, with the present schema; a new file where there is none.

    Raises StorageError "history-newer", with the file untouched, when a newer Echo wrote it; other
    StorageErrors, or the driver's, when it cannot be opened or brought up to date.
    """
    if path.exists() and path.stat().st_size:
        refuse_newer(path)
    connection = open_database(path)
    try:
        connection.set_busy_timeout(BUSY_MS)
        _bring_up_to_date(connection, workspace, created)
    except BaseException:
        connection.close(True)
        raise
    return connection


def refuse_newer(path: Path) -> int:
    """The schema of a history that this program can read, looked at without writing to it."""
    with contextlib.closing(open_database(path, readonly=True)) as connection:
        version = schema_version(connection)
        if version > VERSION:
            program = meta(connection, "program")
            wrote = f"Hey Echo {program}" if program else "a newer Hey Echo"
            raise StorageError(
                "history-newer",
                f"{path} was written by {wrote} (schema {version});"
                f" this is {__version__} (schema {VERSION}).",
                "Install that version again; nothing was changed.",
            )
        return version


def schema_version(connection: Connection) -> int:
    """0 for an empty database."""
    return int(meta(connection, "schema_version") or 0)


def meta(connection: Connection, key: str) -> str | None:
    try:
        found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    except SQLError:  # no such table
        return None
    return None if found is None else str(found)


def set_meta(connection: Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _bring_up_to_date(connection: Connection, workspace: str, created: float | None) -> None:
    if schema_version(connection) == VERSION and meta(connection, "program") == __version__:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = schema_version(connection)
        if version == 0:
            connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
            set_meta(connection, "workspace", workspace)
            set_meta(connection, "created", "" if created is None else str(created))
        for step in _STEPS[version:]:
            connection.execute(step)
        set_meta(connection, "schema_version", str(VERSION))
        set_meta(connection, "program", __version__)
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    if version == 0:
        sync_folder(Path(connection.filename).parent)


def sync_folder(folder: Path) -> None:
    """A new name is on the card only once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
