"""Faults of disks, rights and databases, each staged for real, and the line that doctor says."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from firmware_app.doctor import Area, Status, all_checks
from firmware_app.doctor.checks import logs, sqlite, write_speed
from firmware_app.doctor.runner import run
from firmware_app.history.commands import history_path
from firmware_app.sqlite import open_database
from tests.doctor.conftest import Box


def test_a_full_disk_is_a_failure_and_a_nearly_full_one_a_warning(
    box: Box, small_disk: Callable[..., Path]
) -> None:
    box.values["paths.data"] = str(small_disk("size=1m"))
    full = box.finds("disk-space")
    assert (full.status, "1 MB are left" in full.line) == (Status.FAIL, True)

    roomy = small_disk("size=1000m")
    box.values["paths.data"] = str(roomy)
    os.posix_fallocate(fd := os.open(roomy / "fill", os.O_RDWR | os.O_CREAT), 0, 920 << 20)
    os.close(fd)
    nearly = box.finds("disk-space")
    assert nearly.status is Status.WARN
    assert "92% used" in nearly.line
    assert "journalctl --vacuum-size" in nearly.mend

    (roomy / "fill").unlink()
    assert box.finds("disk-space").status in {Status.PASS, Status.WARN}  # of this machine's own


def test_a_disk_without_room_for_another_file_is_a_failure(
    box: Box, small_disk: Callable[..., Path]
) -> None:
    box.values["paths.data"] = str(small_disk("size=200m,nr_inodes=20"))
    assert "No more files" in box.finds("disk-space").line


def test_a_card_that_turned_read_only_is_found(box: Box, small_disk: Callable[..., Path]) -> None:
    place = small_disk("size=1m,ro")
    box.values["paths.state"] = str(place)
    finding = box.finds("read-only")
    assert (finding.status, finding.line) == (
        Status.FAIL,
        f"The disk with {place} is read-only.",
    )
    assert f"remount,rw {place}" in finding.mend
    box.values["paths.state"] = str(box.root)
    assert box.finds("read-only").status is Status.PASS


def test_a_slow_card_is_a_warning() -> None:
    assert write_speed.judge(0.8, 0.1).status is Status.WARN
    late = write_speed.judge(20.0, 2.5)
    assert (late.status, "within 2500 ms" in late.line) == (Status.WARN, True)


def test_the_speed_is_that_of_the_clock(box: Box, tmp_path: Path) -> None:
    """Every look at this clock is half a second after the last: so long takes each write."""
    times = iter(n / 2 for n in range(100))
    speed, slowest = write_speed.measure(tmp_path, lambda: next(times))
    assert speed == pytest.approx(write_speed.SIZE / 1e6 / 0.5)
    assert slowest == 0.5
    box.root.mkdir()
    assert "MB/s" in box.finds("write-speed").line


def test_a_full_disk_is_not_called_slow(box: Box, small_disk: Callable[..., Path]) -> None:
    box.values["paths.data"] = str(small_disk("size=1m"))
    assert box.finds("write-speed").line == "Not measured: no space left on device."


def test_logs_that_fill_the_card_are_found(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.file("/var/log/journal/a/system.journal", "x" * 300_000)
    assert box.finds("logs").status is Status.PASS
    monkeypatch.setattr(logs, "MUCH", 200_000)
    finding = box.finds("logs")
    assert (finding.status, "0 MB" in finding.line) == (Status.WARN, True)
    assert "--vacuum-size" in finding.mend
    monkeypatch.undo()
    box.values["log.level"] = "debug"
    assert box.finds("logs").mend == "hey-echo config set log.level info"


def test_a_damaged_database_is_found_and_left_as_it_is(box: Box) -> None:
    context = box.made()
    history = history_path(context.data, "home")
    history.parent.mkdir(parents=True)
    assert box.finds("databases").status is Status.PASS
    history.write_bytes(b"SQLite was here, and then the power went." * 100)
    before = history.read_bytes()
    finding = box.finds("databases")
    assert finding.status is Status.FAIL
    assert str(history) in finding.line
    assert history.read_bytes() == before
    assert finding.mend.endswith(f"mv {history} {history}.damaged")
    back_up = box.file("/data/home/backups/history-20261130-151218.db", "")
    assert box.finds("databases").mend.endswith(f"hey-echo backup restore {back_up}")


def test_a_database_with_a_damaged_page_is_found(box: Box) -> None:
    history = history_path(box.made().data, "home")
    database = open_database(history)
    database.execute("CREATE TABLE t (x)")
    database.executemany("INSERT INTO t VALUES (?)", [(bytes([n]) * 3000,) for n in range(40)])
    database.close()
    assert box.finds("databases").line == "history.db is sound."
    raw = bytearray(history.read_bytes())
    raw[8192 : 8192 + 4096] = bytes(4096)
    history.write_bytes(raw)
    finding = box.finds("databases")
    assert (finding.status, "is damaged" in finding.line) == (Status.FAIL, True)


def test_what_was_set_aside_is_remembered(box: Box) -> None:
    box.file("/state/state.db.broken", "x")
    finding = box.finds("databases")
    assert (finding.status, "state.db.broken" in finding.line) == (Status.WARN, True)


@contextmanager
def nobody() -> Iterator[None]:
    """Be a user who may do little, since root may do everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_user_who_may_not_look_gets_findings_and_no_fault_of_a_check() -> None:
    with TemporaryDirectory() as name:  # pytest's own folders are closed to others
        box = Box(Path(name))
        box.root.chmod(0o755)
        folders = [box.root / each for each in ("state", "data", "run")]
        for folder in folders:
            (folder / "home").mkdir(parents=True)
            folder.chmod(0)
        checks = [each for each in all_checks() if each.area in (Area.STORAGE, Area.SERVICE)]
        try:
            with nobody():
                results = list(run(checks, box.made()))
        finally:
            for folder in folders:
                folder.chmod(0o700)
    found = {result.check.name: result.finding for result in results}
    assert [name for name, finding in found.items() if "check itself" in finding.line] == []
    assert found["permissions"].status is Status.FAIL
    assert found["databases"].mend == "Run it as root: sudo hey-echo doctor"


def test_a_version_of_sqlite_with_a_known_fault_is_refused(box: Box) -> None:
    assert sqlite.judge("3.51.2").status is Status.FAIL
    assert sqlite.judge("3.51.3").status is Status.PASS
    assert box.finds("sqlite").status is Status.PASS


def test_folders_that_the_services_user_may_not_write_are_named(box: Box) -> None:
    state = box.root / "state"
    state.mkdir(parents=True, mode=0o700)
    (box.root / "data").mkdir(mode=0o700)
    box.context |= {"uid": state.stat().st_uid + 12_345, "groups": []}
    finding = box.finds("permissions")
    assert finding.status is Status.FAIL
    assert f"may not write to {state}" in finding.line
    assert "chown" in finding.mend

    box.service(process=4242)
    box.file("/proc/4242/status", f"Uid:\t{state.stat().st_uid}\t0\nGid:\t0\t0\nGroups:\t0 29 \n")
    assert box.finds("permissions").status is Status.PASS


def test_what_is_private_and_open_to_all_is_a_warning(box: Box) -> None:
    history = box.root / "data" / "home"
    history.mkdir(parents=True)
    history.chmod(0o755)
    finding = box.finds("permissions")
    assert (finding.status, finding.mend) == (Status.WARN, f"sudo chmod go= {history}")
    history.chmod(0o700)
    assert box.finds("permissions").status is Status.PASS
    box.file("/state/state.db", "").chmod(0o644)
    assert "state.db, which is private" in box.finds("permissions").line
