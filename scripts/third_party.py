"""Writes the table of packages in THIRD_PARTY.md from the locks and the installed metadata.

Run it with .venv/bin/python scripts/third_party.py after ./scripts/lock. A package that is not
installed here keeps the licence that the table gives already.
"""

import re
import sys
from importlib import metadata
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "THIRD_PARTY.md"
BEGIN, END = "<!-- packages: begin -->", "<!-- packages: end -->"

# lock: what its packages are for, where a smaller lock has them not
PURPOSES = {
    "runtime": "Echo",
    "server": "extra `server`",
    "test": "tests",
    "train": "training",
    "build": "set-up",
}
# Read in the package's own licence text, where its metadata says less.
BY_HAND = {
    "apsw": "any licence that the OSI approves",
    "pyroomacoustics": "MIT",
    "vosk": "Apache-2.0",
}
SHORTEST_TEXT = 60  # a licence field longer than this is the licence itself


def locked() -> dict[str, tuple[list[str], str]]:
    """Name: its versions (some differ by Python) and its purpose. Linux's only."""
    packages: dict[str, tuple[list[str], str]] = {}
    for lock, purpose in PURPOSES.items():
        text = (PROJECT / "requirements" / f"{lock}.lock").read_text(encoding="utf-8")
        for name, version, marker in re.findall(
            r"^([a-z0-9.-]+)==([^ ;]+)(?: ; (.*?))? \\$", text, re.MULTILINE
        ):
            if "sys_platform == '" in marker:  # another system's: Windows, the browser
                continue
            versions, _ = packages.setdefault(name, ([], purpose))
            if version not in versions:
                versions.append(version)
    return packages


def licence(name: str) -> str:
    """As the installed package's metadata says, "" where it is not installed or says nothing."""
    if name in BY_HAND:
        return BY_HAND[name]
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    if "License-Expression" in about:
        return about["License-Expression"]
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or []
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    field = about["License"].strip() if "License" in about else ""
    if field and len(field) < SHORTEST_TEXT:
        return field
    return ", ".join(classifiers)


def table(page: str) -> str:
    """The rows, by name."""
    before = dict(re.findall(r"^\| ([a-z0-9.-]+) \| [^|]+ \| ([^|]+) \|", page, re.MULTILINE))
    rows = ["| package | version | licence | for |", "|---|---|---|---|"]
    for name, (versions, purpose) in sorted(locked().items()):
        found = licence(name) or before.get(name, "")
        if not found:
            sys.exit(f"No licence is known for {name}. Install its group, or add it to BY_HAND.")
        rows.append(f"| {name} | {', '.join(versions)} | {found} | {purpose} |")
    return "\n".join(rows)


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n{table(page)}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
