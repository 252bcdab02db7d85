"""The lock files agree with pyproject.toml and can be installed wherever Echo runs."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parents[1]
LOCKS = PROJECT / "requirements"
PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")
PAIRS = [(python, machine) for python in PYTHONS for machine in MACHINES]
GLIBC = "2_36"  # of Debian 12, the oldest system Echo runs on

# lock: the extras and groups of pyproject.toml that it adds to the dependencies
CONTENTS = {
    "runtime": ((), ()),
    "server": (("server",), ()),
    "test": (("server",), ("test",)),
    "train": ((), ("train",)),
}


@dataclass(frozen=True)
class Pinned:
    name: str
    version: str
    marker: str
    hashes: int

    def is_for(self, python: str, machine: str) -> bool:
        return not self.marker or Marker(self.marker).evaluate(surroundings(python, machine))


def surroundings(python: str, machine: str) -> dict[str, str]:
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }


def entries(text: str) -> list[str]:
    """The entries of a lock, each with its hashes, without comments."""
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [entry for entry in re.split(r"\n(?=\S)", bare) if entry.strip()]


@cache
def lock(file: str) -> tuple[Pinned, ...]:
    pinned = []
    for entry in entries((LOCKS / f"{file}.lock").read_text(encoding="utf-8")):
        found = re.match(r"([a-z0-9.-]+)==([^ ;]+)(?: ; (.*?))? \\\n", entry)
        assert found, f"{file}.lock has an entry that is not pinned: {entry.splitlines()[0]}"
        name, version, marker = found.groups(default="")
        pinned.append(Pinned(name, version, marker, entry.count("--hash=sha256:")))
    return tuple(pinned)


@cache
def pyproject() -> dict[str, object]:
    with (PROJECT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def wanted(name: str) -> list[Requirement]:
    """What pyproject.toml asks of a lock."""
    project: dict[str, object] = pyproject()["project"]  # type: ignore[assignment]
    groups: dict[str, list[str]] = pyproject()["dependency-groups"]  # type: ignore[assignment]
    if name == "build":
        return [Requirement(line) for line in groups["build"]]
    extras: dict[str, list[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    lines: list[str] = list(project["dependencies"])  # type: ignore[call-overload]
    for extra in CONTENTS[name][0]:
        lines += extras[extra]
    for group in CONTENTS[name][1]:
        lines += groups[group]
    return [Requirement(line) for line in lines]


def source_only() -> frozenset[str]:
    """The packages that ./scripts/setup builds, because no wheel of them is published."""
    text = (PROJECT / "scripts" / "setup").read_text(encoding="utf-8")
    found = re.search(r"^built_here=\((.*?)\)", text, re.MULTILINE)
    assert found
    return frozenset(found[1].split())


def versions(name: str, python: str, machine: str) -> dict[str, str]:
    return {pin.name: pin.version for pin in lock(name) if pin.is_for(python, machine)}


@pytest.mark.parametrize("name", ["build", *CONTENTS])
def test_every_entry_is_pinned_with_hashes(name: str) -> None:
    assert len(lock(name)) > 5
    assert [pin.name for pin in lock(name) if pin.hashes == 0] == []


@pytest.mark.parametrize("name", ["build", *CONTENTS])
def test_a_lock_names_no_address(name: str) -> None:
    text = (LOCKS / f"{name}.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^--?[a-z]", text, re.MULTILINE)  # no option such as an index


@pytest.mark.parametrize(("python", "machine"), PAIRS)
@pytest.mark.parametrize("name", ["build", *CONTENTS])
def test_everything_asked_for_is_locked_at_a_fitting_version(
    name: str, python: str, machine: str
) -> None:
    locked = versions(name, python, machine)
    for requirement in wanted(name):
        version = locked.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} is not in {name}.lock: run ./scripts/lock"
        assert requirement.specifier.contains(version, prereleases=True), (
            f"{name}.lock has {requirement.name} {version}, pyproject.toml asks {requirement}"
        )


@pytest.mark.parametrize(("python", "machine"), PAIRS)
@pytest.mark.parametrize("name", ["server", "test", "train"])
def test_every_lock_has_what_the_runtime_has(name: str, python: str, machine: str) -> None:
    runtime = versions("runtime", python, machine)
    assert runtime.items() <= versions(name, python, machine).items()


def test_what_is_installed_here_has_all_that_it_needs_in_the_lock() -> None:
    """Each locked package's own requirements, as its metadata gives them, are locked too."""
    here = (f"{sys.version_info[0]}.{sys.version_info[1]}", os.uname().machine)
    locked = versions("test", *here)
    asked = {canonicalize_name(r.name): r.extras for r in wanted("test")}
    for name in locked:
        for line in metadata.requires(name) or []:
            requirement = Requirement(line)
            extras = ["", *asked.get(canonicalize_name(name), ())]
            if requirement.marker and not any(
                requirement.marker.evaluate({"extra": extra}) for extra in extras
            ):
                continue
            version = locked.get(canonicalize_name(requirement.name))
            assert version, f"{name} needs {requirement}, which test.lock lacks"
            assert requirement.specifier.contains(version, prereleases=True)


# --- with the package index


def resolve(pins: Iterable[str], python: str, machine: str, folder: Path) -> str:
    """What uv complains of when it looks for wheels of the entries, "" when all have one."""
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join(pins), encoding="utf-8")
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert uv, "uv is not installed: run ./scripts/setup --group test"
    options = ["--dry-run", "--no-deps", "--no-build", "--require-hashes", "--no-config"]
    platform = ["--python-platform", f"{machine}-manylinux_{GLIBC}", "--python-version", python]
    done = subprocess.run(
        [uv, "pip", "install", *options, *platform, "--target", folder, "-r", requirements],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if any(sign in done.stderr for sign in ("error sending request", "dns error", "Network")):
        no_index = "the package index cannot be reached, so no wheel was looked up"
        if os.environ.get("CI"):
            pytest.fail(no_index)
        pytest.skip(no_index)
    return "" if done.returncode == 0 else done.stderr


def all_entries(*, source: bool) -> list[str]:
    """Entries of the largest locks: those built from source, or the others."""
    chosen: dict[str, str] = {}
    for name in ("build", "test", "train"):
        for entry in entries((LOCKS / f"{name}.lock").read_text(encoding="utf-8")):
            if (entry.partition("==")[0] in source_only()) == source:
                chosen[entry.splitlines()[0]] = entry
    return list(chosen.values())


@pytest.mark.parametrize(("python", "machine"), PAIRS)
def test_every_package_has_a_wheel_for_every_python_and_machine(
    python: str, machine: str, tmp_path: Path
) -> None:
    """By hash, and without building; but for those that ./scripts/setup builds."""
    assert resolve(all_entries(source=False), python, machine, tmp_path) == ""


def test_a_package_without_a_wheel_would_be_noticed(tmp_path: Path) -> None:
    """The four that are built from source have none: the test above can fail."""
    for entry in all_entries(source=True):
        complaint = resolve([entry], "3.13", "aarch64", tmp_path)
        assert "no usable wheels" in complaint
