"""The version of SQLite that comes with the driver."""

from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.context import Context
from firmware_app.sqlite import library_version

FIXED = (
    3,
    51,
    3,
)  # until then two connections could corrupt a database in WAL (sqlite.org/wal.html)


def run(context: Context) -> Finding:
    return judge(library_version())


def judge(version: str) -> Finding:
    if tuple(map(int, version.split(".")[:3])) < FIXED:
        return failed(
            f"SQLite {version} can damage a database that two programs use at once.",
            "Run ./scripts/setup, which brings a newer one.",
        )
    return passed(f"SQLite {version}, without a known fault.")


CHECK = Check("sqlite", Area.STORAGE, "the version of SQLite", run)
