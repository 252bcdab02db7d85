"""A whole Debian in a folder, with systemd as its process 1, in which Echo can be installed.

It shares this machine's network, and what setup keeps in the cache. Needs root, the network, and
the packages debootstrap and systemd-container.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

PROJECT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "hey-echo"
TOOLS = ("debootstrap", "systemd-nspawn", "nsenter")
HOME = Path("/srv")  # of whoever runs commands in the box
INSIDE = HOME / "project"  # the clone
LEFT_OUT = (".git", ".venv", "__pycache__", ".hypothesis", "*.egg-info", ".*_cache")

# Without systemd outside there is nobody who would make a control group for the box.
BOOT = """
mkdir -p /run/systemd && mount -t tmpfs tmpfs /run/systemd
umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
mkdir -p "/sys/fs/cgroup/$BOX" && echo $$ >"/sys/fs/cgroup/$BOX/cgroup.procs"
exec systemd-nspawn --quiet --boot --register=no --keep-unit --console=pipe --resolv-conf=off \
  --machine="$BOX" --directory="$ROOT" \
  --capability=CAP_BPF,CAP_NET_ADMIN,CAP_PERFMON --system-call-filter=bpf "$@"
"""

SOUND = """
pcm.room {
  type file; slave.pcm null; file /dev/null; format raw
  infile /run/fake-sound/microphone
}
pcm.nowhere { type file; slave.pcm null; file /dev/null; format raw }
"""
SETTINGS = '[audio]\nmicrophone = "room"\nloudspeaker = "nowhere"\n[web]\nport = 0\n'
FAKE_CARD = """
[Unit]
Before=hey-echo.service
[Service]
ExecStart=/opt/hey-echo/current/.venv/bin/python -B /srv/project/tests/install/fake_microphone.py
ExecStartPost=/bin/sleep 2
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
"""


def program(name: str) -> str:
    """The path of a program of this machine, which must be there."""
    path = shutil.which(name)
    assert path, f"{name} is missing"
    return path


class DebianBox:
    """Boots when entered, and is switched off when left.

    suite: bookworm or trixie. folder: where the box's own root is made.
    """

    def __init__(self, suite: str, folder: Path) -> None:
        self.root = folder / "root"
        self._name = f"echo-test-{suite}"
        base = CACHE / "debian" / suite
        if not (base / "etc/debian_version").exists():
            packages = "--include=ca-certificates,dbus,systemd-sysv,libpam-systemd"
            shutil.rmtree(base, ignore_errors=True)
            base.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                [program("debootstrap"), packages, suite, base], check=True, timeout=1800
            )
        subprocess.run([program("cp"), "-a", base, self.root], check=True)
        project = self.root / INSIDE.relative_to("/")
        shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", self.root / "etc" / name)
        self._certificates = os.environ.get("PIP_CERT", "")
        if self._certificates:
            shutil.copy(self._certificates, self.root / "srv/certificates")
        self.file("/etc/asound.conf", SOUND)
        self.file("/etc/hey-echo/config.toml", SETTINGS)
        self.file("/etc/systemd/system/fake-card.service", FAKE_CARD)

    def file(self, path: str, text: str) -> None:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def __enter__(self) -> Self:
        shared = [CACHE / name for name in ("downloads", "models", "wheels")]
        for folder in shared:
            folder.mkdir(parents=True, exist_ok=True)
        binds = [f"--bind={folder}:{HOME}/.cache/hey-echo/{folder.name}" for folder in shared]
        self._process = subprocess.Popen(
            [program("unshare"), "--mount", "--propagation=private", "sh", "-ec", BOOT, "", *binds],
            env={
                **os.environ,
                "BOX": self._name,
                "ROOT": str(self.root),
                "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
            },
            stdin=subprocess.DEVNULL,
        )
        self.until(lambda: self._first != "")
        self.until(lambda: self.run("systemctl", "is-system-running").stdout == "running\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: object, places: TracebackType | None
    ) -> None:
        self.run("systemctl", "poweroff")
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.terminate()  # nspawn ends the box
            self._process.wait(60)
        for groups in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            for folder, _, _ in os.walk(f"{groups}/{self._name}", topdown=False):
                Path(folder).rmdir()

    @property
    def _first(self) -> str:
        """The box's process 1, as it is numbered outside."""
        pid = self._process.pid
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split(" ")[0]

    def run(self, *command: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a command in the box, as root."""
        environment = [
            f"HOME={HOME}",
            "LANG=C.UTF-8",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ]
        if self._certificates:
            names = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
            environment += [f"{name}={HOME}/certificates" for name in names]
        inside = ["nsenter", "-t", self._first, "-m", "-p", "-u", "-i", "-C", "env", "-i"]
        return subprocess.run(
            [*inside, *environment, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def told(self, *command: str, seconds: float = 120) -> str:
        """What a command says, which must succeed."""
        done = self.run(*command, seconds=seconds)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def script(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one of the project's scripts; 30 minutes are for a machine with much else to do."""
        return self.run(str(INSIDE / "scripts" / name), *words, seconds=1800)

    def property(self, name: str) -> str:
        return self.told("systemctl", "show", "hey-echo", f"--property={name}", "--value").strip()

    def until(self, true: Callable[[], bool], seconds: float = 180) -> None:
        give_up = time.monotonic() + seconds
        while not true():
            assert self._process.poll() is None, "the box is down"
            assert time.monotonic() < give_up, self.run("journalctl", "-n", "30").stdout
            time.sleep(0.5)
