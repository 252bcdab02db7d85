"""Echo is installed as a service, updated, and taken away, in a folder that stands for /.

setup, hey-echo and systemctl are stand-ins; the history and its back-ups are real.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from firmware_app.history.commands import history_path
from firmware_app.sqlite import open_database

PROJECT = Path(__file__).resolve().parents[2]
FAKES = Path(__file__).parent

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may make users and give files away"),
    pytest.mark.skipif(not shutil.which("systemd-sysusers"), reason="there is no systemd here"),
]


@dataclass
class FakeBox:
    """A folder that stands for /, and the project that is installed into it."""

    root: Path
    project: Path

    def run(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.project / "scripts" / script, "--root", self.root, *words],
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith("HEY_ECHO_")},
                "SYSTEMCTL": str(FAKES / "fake_systemctl"),
                "FAKE_ROOT": str(self.root),
                "FAKE_PYTHON": sys.executable,
                "FAKE_PROJECT": str(PROJECT),
            },
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def version(self, number: str, *marks: str) -> None:
        """Make the project one of this version; marks: files that its stand-ins look for."""
        (self.project / "firmware_app" / "__init__.py").write_text(f'__version__ = "{number}"\n')
        for mark in marks:
            (self.project / mark).touch()

    @property
    def state(self) -> Path:
        return self.root / "var/lib/hey-echo"

    @property
    def history(self) -> Path:
        return history_path(self.state / "data", "home")

    @property
    def installed(self) -> str:
        return (self.root / "opt/hey-echo/current").readlink().name.partition("-")[0]

    @property
    def running(self) -> bool:
        return (self.root / "pid").exists()


@pytest.fixture
def box(tmp_path: Path) -> Iterator[FakeBox]:
    project, root = tmp_path / "project", tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    for folder in ("scripts", "firmware_app", "tests/install"):
        (project / folder).mkdir(parents=True)
    shutil.copytree(PROJECT / "systemd", project / "systemd")
    for name in ("install", "update", "box.sh"):
        shutil.copy(PROJECT / "scripts" / name, project / "scripts")
    shutil.copy(FAKES / "fake_setup", project / "scripts" / "setup")
    shutil.copy(FAKES / "fake_hey_echo", project / "tests" / "install")
    box = FakeBox(root, project)
    box.version("1.0")
    yield box
    subprocess.run(
        [FAKES / "fake_systemctl", "stop"],
        env={**os.environ, "FAKE_ROOT": str(root)},
        check=True,
    )


def installed(box: FakeBox) -> None:
    """With a history in it, as its first talk would have made it."""
    done = box.run("install")
    assert done.returncode == 0, done.stderr
    subprocess.run(
        [sys.executable, "-m", "firmware_app", "backup", "create", box.root / "first.db"],
        env={
            **os.environ,
            "HEY_ECHO_PATHS_STATE": str(box.state),
            "HEY_ECHO_PATHS_RUNTIME": str(box.root / "run/hey-echo"),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert box.history.exists()


def schema(box: FakeBox) -> int:
    database = open_database(box.history, readonly=True)
    try:
        rows = database.execute("SELECT value FROM meta WHERE key = 'schema_version'")
        return int(next(iter(rows))[0])
    finally:
        database.close()


def test_it_is_put_in_place_started_and_checked(box: FakeBox) -> None:
    done = box.run("install")
    assert done.returncode == 0, done.stderr
    assert box.installed == "1.0"
    assert box.running
    assert f"set up with {box.state}/models" in done.stdout
    assert "doctor sound-cards microphone loudspeaker" in done.stdout
    assert done.stdout.index("doctor") < done.stdout.index("\npair\n")
    assert (box.state / "first-talk").stat().st_uid == box.state.stat().st_uid != 0
    for file in (
        "etc/systemd/system/hey-echo.service",
        "etc/udev/rules.d/60-hey-echo.rules",
        "etc/tmpfiles.d/hey-echo.conf",
        "etc/sysusers.d/hey-echo.conf",
    ):
        assert (box.root / file).read_text()
    command = box.root / "usr/local/bin/hey-echo"
    assert str(command.readlink()) == "/opt/hey-echo/current/.venv/bin/hey-echo"


def test_a_second_run_changes_nothing(box: FakeBox) -> None:
    installed(box)
    (box.state / "first-talk").unlink()
    before = (box.root / "opt/hey-echo/current").readlink()
    assert box.run("install").returncode == 0
    assert (box.root / "opt/hey-echo/current").readlink() == before
    assert not (box.state / "first-talk").exists()
    assert len(list((box.root / "opt/hey-echo/releases").iterdir())) == 1


def test_a_new_version_takes_over_with_the_history_copied(box: FakeBox) -> None:
    installed(box)
    box.version("1.1")
    done = box.run("update")
    assert done.returncode == 0, done.stderr
    assert "From 1.0 to 1.1" in done.stdout
    assert (box.installed, box.running) == ("1.1", True)
    assert (box.state / "before-update/history.db").exists()
    again = box.run("update")
    assert "installed already" in again.stdout
    box.version("1.2")
    assert box.run("update").returncode == 0
    kept = sorted(place.name[:3] for place in (box.root / "opt/hey-echo/releases").iterdir())
    assert kept == ["1.1", "1.2"]


@pytest.mark.parametrize("marks", [["does-not-start"], ["does-not-start", "changes-the-history"]])
def test_a_version_that_does_not_become_ready_is_taken_back(box: FakeBox, marks: list[str]) -> None:
    installed(box)
    (box.state / "state.db").write_text("as it was")
    before = schema(box)
    box.version("1.1", *marks)
    done = box.run("update")
    assert done.returncode == 1
    assert "the new version did not become ready" in done.stderr
    assert (box.installed, box.running) == ("1.0", True)
    assert schema(box) == before
    assert (box.state / "state.db").read_text() == "as it was"
    assert [place.name[:3] for place in (box.root / "opt/hey-echo/releases").iterdir()] == ["1.0"]


def test_a_version_that_cannot_listen_is_taken_back_unless_the_old_one_could_not_either(
    box: FakeBox,
) -> None:
    installed(box)
    box.version("1.1")
    (box.project / "fault").write_text("The model is missing.")
    assert "The model is missing." in box.run("update").stderr
    assert box.installed == "1.0"
    (box.root / "opt/hey-echo/current/fault").write_text("The model is missing.")
    assert box.run("update").returncode == 0
    assert box.installed == "1.1"


def test_an_update_comes_from_an_archive_or_a_git_tag_too(box: FakeBox, tmp_path: Path) -> None:
    installed(box)
    box.version("1.1")
    archive = tmp_path / "hey-echo-1.1.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(box.project, "project")
    git = ["git", "-C", str(box.project), "-c", "user.name=x", "-c", "user.email=x@y"]
    box.version("1.2")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"], ["tag", "v1.2"]):
        subprocess.run([*git, *words], check=True)
    box.version("1.0")
    for source, version in ((str(archive), "1.1"), ("v1.2", "1.2")):
        done = box.run("update", source)
        assert done.returncode == 0, done.stderr
        assert box.installed == version
    assert "no folder, file or git tag" in box.run("update", "v9").stderr


def test_it_is_taken_away_and_what_was_said_stays_unless_that_is_asked_too(box: FakeBox) -> None:
    installed(box)
    done = box.run("install", "--uninstall")
    assert done.returncode == 0, done.stderr
    assert not box.running
    assert not (box.root / "opt/hey-echo").exists()
    assert not (box.root / "etc/systemd/system/hey-echo.service").exists()
    assert box.history.exists()
    assert box.run("install", "--uninstall", "--purge").returncode == 0
    assert not box.state.exists()
    assert not (box.root / "etc/hey-echo").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--fast"], "unknown argument --fast"),
        (["--purge"], "--purge goes with --uninstall"),
    ],
)
def test_a_wrong_argument_is_refused(box: FakeBox, words: list[str], says: str) -> None:
    done = box.run("install", *words)
    assert (done.returncode, says in done.stderr) == (1, True)


def test_without_an_installed_echo_there_is_no_update(box: FakeBox) -> None:
    done = box.run("update")
    assert (done.returncode, "Echo is not installed here" in done.stderr) == (1, True)
