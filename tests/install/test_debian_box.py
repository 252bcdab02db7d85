"""Echo on a real Debian with a real systemd: installed, killed, hung, updated, taken back, removed.

`./scripts/test --full tests/install/test_debian_box.py`, as root; takes 10 to 40 minutes each.
"""

import os
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.install.debian_box import INSIDE, TOOLS, DebianBox

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(5400),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may boot a box"),
    pytest.mark.skipif(
        not all(map(shutil.which, TOOLS)),
        reason="apt-get install debootstrap systemd-container",
    ),
]

QUESTION = INSIDE / "recordings" / "demo" / "question.wav"
TITLE = "What is the capital of Japan?"
BREAKS_THE_HISTORY = textwrap.dedent("""
    def run(arguments: argparse.Namespace) -> int:
        import apsw

        history = apsw.Connection("/var/lib/hey-echo/data/home/history.db")
        history.execute("UPDATE meta SET value = 99 WHERE key = 'schema_version'")
        return 70
""")


@pytest.fixture(params=["bookworm", "trixie"])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DebianBox]:
    with DebianBox(request.param, tmp_path) as box:
        yield box
    shutil.rmtree(box.root)


def test_a_whole_life(box: DebianBox) -> None:
    is_installed(box)
    answers_what_is_asked(box)
    comes_back_when_killed_or_hung(box)
    stops_within_seconds(box)
    is_shut_in(box)
    stays_as_it_is_when_installed_again(box)
    goes_back_from_a_version_that_does_not_start(box)
    goes_on_in_a_new_version(box)
    leaves_what_was_said_when_it_is_taken_away(box)


def is_installed(box: DebianBox) -> None:
    done = box.script("install")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The code is" in done.stdout
    box.told("systemctl", "enable", "--now", "fake-card")
    box.told("systemctl", "restart", "hey-echo")
    assert (box.property("ActiveState"), box.property("Type")) == ("active", "notify")
    box.until(lambda: box.property("StatusText") == "Listening.")


def answers_what_is_asked(box: DebianBox) -> None:
    box.told("cp", str(QUESTION), "/run/fake-sound/coming")
    box.told("mv", "/run/fake-sound/coming", "/run/fake-sound/say.wav")
    box.until(lambda: TITLE in box.told("hey-echo", "chats", "list"))


def comes_back_when_killed_or_hung(box: DebianBox) -> None:
    for signal, why in (("KILL", "code=killed, status=9/KILL"), ("STOP", "Watchdog timeout")):
        before = box.property("MainPID")
        box.told("kill", f"-{signal}", before)
        box.until(lambda: box.property("MainPID") not in {before, "0"})  # noqa: B023
        box.until(lambda: box.property("ActiveState") == "active")
        assert why in box.told("journalctl", "--unit=hey-echo", "--lines=50")
    assert box.property("NRestarts") == "2"
    model = box.told("pgrep", "-f", "llama_child").strip()
    box.told("kill", "-KILL", model)
    box.until(lambda: box.run("pgrep", "-f", "llama_child").stdout.strip() not in {model, ""})
    assert box.property("NRestarts") == "2"


def starts(box: DebianBox) -> int:
    """How often its engines began to load."""
    return box.told("journalctl", "--unit=hey-echo").count("recogniser.engine is auto")


def stops_within_seconds(box: DebianBox) -> None:
    for moment in ("while it listens", "while its engines load"):
        box.told("systemctl", "stop", "hey-echo", seconds=15)
        assert box.property("Result") == "success", moment
        assert box.run("pgrep", "-u", "hey-echo").stdout == "", moment
        before = starts(box)
        box.told("systemctl", "start", "--no-block", "hey-echo")
        box.until(lambda: starts(box) > before)  # noqa: B023
    box.told("systemctl", "restart", "hey-echo")


def is_shut_in(box: DebianBox) -> None:
    box.told("systemd-analyze", "security", "--threshold=20", "hey-echo")
    status = box.told("cat", f"/proc/{box.property('MainPID')}/status")
    assert "CapEff:\t0000000000000000" in status
    os.mknod(box.root / "srv/tunnel", 0o20666, os.makedev(10, 200))  # any device but its own
    group = "/sys/fs/cgroup/system.slice/hey-echo.service/cgroup.procs"
    reads = "head -c 0 /srv/tunnel"
    assert box.run("bash", "-c", reads).returncode == 0
    inside = box.run("bash", "-c", f"echo $BASHPID >{group}; {reads}")
    assert "Operation not permitted" in inside.stderr


def stays_as_it_is_when_installed_again(box: DebianBox) -> None:
    before = box.told("readlink", "/opt/hey-echo/current")
    done = box.script("install")
    assert done.returncode == 0, done.stdout + done.stderr
    assert box.told("readlink", "/opt/hey-echo/current") == before
    assert TITLE in box.told("hey-echo", "chats", "list")


def version(box: DebianBox, number: str, run: str = "") -> str:
    """A copy of the project with this number; run: what its `hey-echo run` does instead."""
    copy = f"/srv/{number}"
    box.told("cp", "-a", str(INSIDE), copy)
    package = box.root / copy.lstrip("/") / "firmware_app"
    (package / "__init__.py").write_text(f'__version__ = "{number}"\n', encoding="utf-8")
    if run:
        with (package / "cli/run.py").open("a", encoding="utf-8") as file:
            file.write(run)
    return copy


def goes_back_from_a_version_that_does_not_start(box: DebianBox) -> None:
    before = box.told("hey-echo", "--version")
    done = box.script("update", version(box, "98.0", BREAKS_THE_HISTORY))
    assert done.returncode == 1
    assert "the new version did not become ready" in done.stderr
    assert box.told("hey-echo", "--version") == before
    assert box.property("ActiveState") == "active"
    assert TITLE in box.told("hey-echo", "chats", "list")
    assert "98.0" not in box.told("ls", "/opt/hey-echo/releases")


def goes_on_in_a_new_version(box: DebianBox) -> None:
    done = box.script("update", version(box, "99.0"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert box.told("hey-echo", "--version") == "hey-echo 99.0\n"
    assert TITLE in box.told("hey-echo", "chats", "list")


def leaves_what_was_said_when_it_is_taken_away(box: DebianBox) -> None:
    assert box.script("install", "--uninstall").returncode == 0
    assert box.run("systemctl", "cat", "hey-echo").returncode != 0
    assert not (box.root / "opt/hey-echo").exists()
    assert (box.root / "var/lib/hey-echo/data/home/history.db").exists()
    done = box.script("install")
    assert done.returncode == 0, done.stdout + done.stderr
    assert TITLE in box.told("hey-echo", "chats", "list")
