"""Making deleted words unreadable in the file itself.

SQLite overwrites a deleted row (secure_delete), and FTS5 a deleted word, but two kinds of leavings
stay: FTS5 keeps the first word of a page as a signpost after the word has gone, and a row that
moves to another page leaves its bytes in the gap between that page's index and its rows. Both are
cleared here, on the writer's thread, in steps between its writes.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from firmware_app.history.rows import fetch
from firmware_app.history.schema import meta, set_meta
from firmware_app.history.writer import Work
from firmware_app.sqlite import Connection, checkpoint

_PENDING = "erase"  # in meta, from the deletion until its words are gone
_RETRY = 0.1  # seconds, while a reader stands in the way of the checkpoint
_TRIES = 300
_SIGNPOSTS = 64  # looked at in a step
_PAGES = 256  # looked at in a step
_TREE_PAGES = {2: 12, 5: 12, 10: 8, 13: 8}  # b-tree page types and the length of their headers,
_FILE_HEADER = 100  # and what precedes it on page 1: sqlite.org/fileformat2.html, 1.3 and 1.6
_LOG_HEADER, _FRAME_HEADER = 32, 24  # the same, 4.1
_SEGMENT_SHIFT = 37  # where a segment's number begins in an FTS5 page id: fts5_index.c


class Gaps:
    """The room in database pages that holds no rows.

    Writing zeros there changes nothing that SQLite reads, so a reader beside it or a power cut in
    the middle does no harm. Keeps the file open until close(), which must come after every
    connection has closed: closing any descriptor of a file drops SQLite's locks on it.
    """

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(path.name + "-wal")
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.inode = os.fstat(self._file).st_ino

    def close(self) -> None:
        os.close(self._file)

    def count_pages(self, size: int) -> int:
        return os.fstat(self._file).st_size // size

    def zero(self, numbers: Iterable[int], size: int) -> None:
        """Pages are numbered from 1; size: of a page, bytes."""
        zeros = bytes(size)
        for number in numbers:
            page = os.pread(self._file, size, (number - 1) * size)
            start, end = _gap(page, _FILE_HEADER if number == 1 else 0)
            if page[start:end] != zeros[: end - start]:
                os.pwrite(self._file, zeros[: end - start], (number - 1) * size + start)

    def pages_in_log(self, size: int) -> set[int]:
        log = self._log.read_bytes() if self._log.exists() else b""
        frames = range(_LOG_HEADER, len(log), _FRAME_HEADER + size)
        return {int.from_bytes(log[at : at + 4], "big") for at in frames} - {0}

    def sync(self) -> None:
        os.fsync(self._file)


def note_deletion(connection: Connection) -> None:
    """Within the transaction that deletes: words are to be erased, now or after a restart."""
    set_meta(connection, _PENDING, os.urandom(8).hex())


def is_pending(connection: Connection) -> bool:
    return meta(connection, _PENDING) is not None


def erase(connection: Connection, gaps: Gaps) -> Work[bool]:
    """Erase what was deleted before now. False when a reader stood in the way for too long."""
    deletion = meta(connection, _PENDING)
    if deletion is None:
        return True
    yield from _move_signposts(connection)
    if not (yield from _empty_log(connection)):
        return False
    size = int(connection.pragma("page_size"))
    for first in range(1, gaps.count_pages(size) + 1, _PAGES):
        gaps.zero(range(first, min(first + _PAGES, gaps.count_pages(size) + 1)), size)
        yield 0.0
    for _ in range(_TRIES):
        connection.release_memory()  # pages kept in memory still have their gaps as they were
        written_since = gaps.pages_in_log(size)
        if checkpoint(connection, truncate=True):
            gaps.zero(written_since, size)
            connection.release_memory()
            gaps.sync()
            connection.execute("DELETE FROM meta WHERE key = ? AND value = ?", (_PENDING, deletion))
            return True
        yield _RETRY
    return False


def _empty_log(connection: Connection) -> Work[bool]:
    for _ in range(_TRIES):
        if checkpoint(connection, truncate=True):
            return True
        yield _RETRY
    return False


def _gap(page: bytes, header: int) -> tuple[int, int]:
    """Where the gap of a page begins and ends; nothing for a page without rows of its own."""
    length = _TREE_PAGES.get(page[header]) if len(page) > header else None
    if length is None:
        return 0, 0
    cells = int.from_bytes(page[header + 3 : header + 5], "big")
    end = int.from_bytes(page[header + 5 : header + 7], "big") or 65_536
    start = header + length + 2 * cells
    return (start, end) if start <= end <= len(page) else (0, 0)


def _move_signposts(connection: Connection) -> Work[None]:
    """Let each signpost of the search index name a word that its page still begins with."""
    after: tuple[int, bytes] = (-1, b"")
    while posts := fetch(
        connection,
        "SELECT segid, term, pgno FROM search_idx WHERE (segid, term) > (?, ?)"
        " ORDER BY segid, term LIMIT ?",
        (*after, _SIGNPOSTS),
    ):
        moves = [move for post in posts if (move := _move(connection, *post))]
        if moves:
            with connection:
                connection.executemany(
                    "UPDATE search_idx SET term = ? WHERE segid = ? AND term = ?", moves
                )
        after = (posts[-1][0], posts[-1][1])
        yield 0.0


def _move(
    connection: Connection, segment: int, term: bytes, page: int
) -> tuple[bytes, int, bytes] | None:
    """The page's first word for a signpost that is not the beginning of it."""
    identity = (segment << _SEGMENT_SHIFT) + (page >> 1)
    rows = fetch(connection, "SELECT block FROM search_data WHERE id = ?", (identity,))
    first = _first_term(rows[0][0]) if rows else None
    return None if first is None or first.startswith(term) else (first, segment, term)


def _first_term(leaf: bytes) -> bytes | None:
    """The layout is told in fts5_index.c: the page's own index follows its first szLeaf bytes."""
    index = int.from_bytes(leaf[2:4], "big")
    if index >= len(leaf):
        return None
    at, _ = _varint(leaf, index)
    length, at = _varint(leaf, at)
    return leaf[at : at + length]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number in SQLite's variable length, below 2^56, and where the next begins."""
    value = 0
    while data[at] & 0x80:
        value, at = (value << 7) | (data[at] & 0x7F), at + 1
    return (value << 7) | data[at], at + 1
