"""Reading a TOML file of settings, and changing one line of it without touching the rest.

What only writing needs is imported there: every command reads, and is waited for.
"""

import contextlib
import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firmware_app.errors import SettingsError, StorageError
from firmware_app.folders import GROUP
from firmware_app.settings_checks import Value

LONGEST_VALUE = 50  # lines
LARGEST = 256 * 1024  # bytes; all settings with their explanations take a tenth of that


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Text and tables of the file.

    Raises SettingsError naming file and line when it cannot be read, or is not TOML.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
        text = raw.decode("utf-8-sig")
    except FileNotFoundError as fault:
        raise SettingsError(
            "config-missing", f"{path} does not exist.", "Check the name, or make the file."
        ) from fault
    except PermissionError as fault:
        raise SettingsError(
            "config-unreadable",
            f"You may not read {path}.",
            "Run the command with sudo. If the service says so: "
            "sudo systemd-tmpfiles --create hey-echo.conf",
        ) from fault
    except OSError as fault:
        raise SettingsError(
            "config-unreadable",
            f"{path} cannot be read: {_reason(fault)}.",
            "Check that it is a file, and that the card is sound.",
        ) from fault
    except UnicodeDecodeError as fault:
        line = raw[: fault.start].count(b"\n") + 1
        raise SettingsError(
            "config-syntax", f"{path}:{line} is not UTF-8 text.", "Save the file as UTF-8."
        ) from fault
    if len(raw) > LARGEST:
        raise SettingsError(
            "config-unreadable",
            f"{path} is larger than {LARGEST // 1024} KB.",
            "Is this the right file?",
        )
    return text, _parsed(path, text)


def line_of(text: str, name: str) -> int | None:
    """The line of the text on which the value of the name, such as wake.sensitivity, ends.

    TOML's parser tells no places, so the text is cut after each line that could be the one.
    """
    parts = name.split(".")
    lines = text.splitlines(keepends=True)
    for start in (n for n, line in enumerate(lines) if parts[-1] in line):
        for end in range(start + 1, min(start + LONGEST_VALUE, len(lines)) + 1):
            with contextlib.suppress(tomllib.TOMLDecodeError):  # cut in the middle of a value
                if _has(tomllib.loads("".join(lines[:end])), parts):
                    return end
                break
    return None


def write_value(path: Path, name: str, value: Value, *, private: bool = False) -> None:
    """Set one value in the file, which is made where it is missing; its comments stay.

    The file is replaced in one step, so that a power cut leaves the old or the new one, and keeps
    its mode and owner. private: no one but owner and group may read it.

    Raises SettingsError when what is there is not TOML, StorageError when it cannot be written.
    """
    text, wanted = read_toml(path) if path.exists() else ("", {})
    *sections, key = name.split(".")
    for tables in (document := _editable(path, text), wanted):
        for section in sections:
            tables = tables.setdefault(section, {})
        tables[key] = value
    _replace(path, document, wanted, private=private)


def remove_value(path: Path, name: str) -> bool:
    """Take one value out of the file; False when it was not in it. Raises as write_value does."""
    if not path.exists():
        return False
    text, wanted = read_toml(path)
    *sections, key = name.split(".")
    if not _has(wanted, [*sections, key]):
        return False
    for tables in (document := _editable(path, text), wanted):
        for section in sections:
            tables = tables[section]
        del tables[key]
    _replace(path, document, wanted)
    return True


def set_aside(path: Path) -> Path:
    """Move a file that is of no use out of the way, and return where it is now."""
    aside = path.with_name(path.name + ".broken")
    with _writing(path):
        path.replace(aside)
    return aside


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        what, _, place = str(fault).partition(" (at ")
        words = place.rstrip(")").replace(",", "").split()  # line 3 column 5, or: end of document
        line = int(words[1]) if words[:1] == ["line"] else text.rstrip().count("\n") + 1
        what = _PLAINER.get(what, what[:1].lower() + what[1:])
        raise SettingsError(
            "config-syntax",
            f"{path}:{line} is not valid TOML: {what}.",
            'A line reads key = value, with text in "quotes", below a [section].',
        ) from fault


_PLAINER = {
    "Invalid statement": "this is not key = value",
    "Invalid value": "the value is missing, or is text without quotes",
    "Cannot overwrite a value": "this is set a second time",
}


def _editable(path: Path, text: str) -> Any:  # noqa: ANN401 - tomlkit's documents are untyped
    import tomlkit
    import tomlkit.exceptions

    try:
        return tomlkit.parse(text.lstrip("\ufeff"))
    except tomlkit.exceptions.TOMLKitError as fault:
        raise _by_hand(path) from fault


def _by_hand(path: Path) -> StorageError:
    return StorageError(
        "file-not-written",
        f"{path} is written in a way that no command can change.",
        "Change it with an editor.",
    )


def _has(tables: dict[str, Any], parts: list[str]) -> bool:
    inner: Any = tables
    for part in parts:
        if not isinstance(inner, dict) or part not in inner:
            return False
        inner = inner[part]
    return True


def _replace(path: Path, document: Any, wanted: object, *, private: bool = False) -> None:  # noqa: ANN401
    text = document.as_string()
    if _parsed(path, text) != wanted:  # the editor of comments lost something: keep the old file
        raise _by_hand(path)
    import tempfile

    path = path.resolve()  # where the file is a link, the link stays
    with _writing(path):
        path.parent.mkdir(mode=0o700 if private else 0o755, parents=True, exist_ok=True)
        before = path.stat() if path.exists() else None
        mode = stat.S_IMODE(before.st_mode) if before else 0o644
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        new = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                if before and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(descriptor, before.st_uid, before.st_gid)
                if private:
                    _give_to_group(name)
                os.fchmod(descriptor, mode & 0o770 if private else mode)
                os.fsync(descriptor)
            new.replace(path)
        except BaseException:
            new.unlink()
            raise
        _sync_folder(path.parent)


def _give_to_group(path: str) -> None:
    """Where Echo is installed, its service must still be able to read what others may not."""
    import shutil

    with contextlib.suppress(LookupError, PermissionError):
        shutil.chown(path, group=GROUP)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as fault:
        raise StorageError(
            "not-allowed", f"You may not write {path}.", "Run the command with sudo."
        ) from fault
    except OSError as fault:
        raise StorageError(
            "file-not-written",
            f"{path} cannot be written: {_reason(fault)}.",
            "Check that the card is not full and not write-protected.",
        ) from fault


def _reason(fault: OSError) -> str:
    return (fault.strerror or str(fault)).lower()
