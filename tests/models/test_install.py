"""Models appear whole, from their makers, from mirrors, by hand; and go again."""

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from firmware_app import models
from firmware_app.cli import main
from firmware_app.errors import EchoError, EngineError, StorageError, UsageError
from firmware_app.model_store import download as downloads
from firmware_app.model_store.install import (
    Progress,
    Source,
    install,
    install_by_hand,
    progress_line,
    remove,
)
from firmware_app.model_store.place import LOCK, PARTS
from firmware_app.models import Model, find, verify
from firmware_app.settings import PathSettings, RecogniserSettings, Settings, VoiceSettings
from tests.models.server import Server, breaks_after, page, whole
from tests.models.test_archives import as_tar, as_zip

WEIGHTS = random.Random(5).randbytes(400_000)
CONFIG = b'{"audio": {"sample_rate": 22050}}'
ACOUSTIC = random.Random(6).randbytes(300_000)
INSIDE = {"vosk-small/am/final.mdl": ACOUSTIC, "vosk-small/conf/mfcc.conf": b"rate"}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Shop:
    """A catalogue of two models: a voice in two files, and a recogniser in an archive."""

    server: Server
    place: Path
    archive: bytes
    said: list[str] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        return Settings(paths=PathSettings(models=str(self.place)))

    def install(self, *names: str, source: str = "") -> None:
        """From the server, which stands in for the makers: they are asked over https alone."""
        install(names, self.place, self.said.append, source=source or self.server.url(""))

    @property
    def there(self) -> list[str]:
        return sorted(path.name for path in self.place.iterdir() if path.name != LOCK)


@pytest.fixture
def shop(
    tmp_path: Path, place: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shop]:
    archive = as_zip(tmp_path / "packed.zip", INSIDE).read_bytes()
    (tmp_path / "catalogue.toml").write_text(f"""
        [voice]
        kind = "voice"
        engine = "piper"
        language = "en"
        licence = "CC0-1.0"
        group = "extra"
        opens = "voice.onnx"
        [[voice.files]]
        path = "voice.onnx"
        bytes = {len(WEIGHTS)}
        sha256 = "{sha256(WEIGHTS)}"
        url = "https://maker.invalid/voice.onnx"
        [[voice.files]]
        path = "voice.onnx.json"
        bytes = {len(CONFIG)}
        sha256 = "{sha256(CONFIG)}"
        url = "https://maker.invalid/voice.onnx.json"

        [vosk-small]
        kind = "recogniser"
        engine = "vosk"
        language = "en"
        licence = "Apache-2.0"
        group = "extra"
        [vosk-small.archive]
        url = "https://maker.invalid/models/vosk-small.zip"
        bytes = {len(archive)}
        sha256 = "{sha256(archive)}"
    """)
    monkeypatch.setattr(models, "SHIPPED", tmp_path)
    models.catalogue.cache_clear()
    server.files.update(
        {"voice.onnx": WEIGHTS, "voice.onnx.json": CONFIG, "vosk-small.zip": archive}
    )
    yield Shop(server, place, archive)
    models.catalogue.cache_clear()


# --- from makers and mirrors


def test_a_model_of_several_files_appears_whole(shop: Shop) -> None:
    shop.install("voice")
    assert find("piper", "voice", shop.settings).read_bytes() == WEIGHTS
    verify("voice", shop.settings)
    assert shop.there == [PARTS, "voice"]
    assert list((shop.place / PARTS).iterdir()) == []
    assert shop.said == ["voice: voice, 0 MB"]


def test_an_archive_is_unpacked_and_what_was_in_it_is_noted(shop: Shop) -> None:
    shop.install("vosk-small")
    assert find("vosk", "", shop.settings) == shop.place / "vosk-small"
    verify("vosk-small", shop.settings)
    (shop.place / "vosk-small" / "am" / "final.mdl").write_bytes(ACOUSTIC[::-1])
    with pytest.raises(EngineError, match=r"final.mdl has other contents"):
        verify("vosk-small", shop.settings)


def test_makers_are_asked_over_https_and_a_failure_leaves_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "BROKE_OFF", 0)
    with pytest.raises(EngineError, match=r"https://maker.invalid/voice.onnx could not be fetched"):
        install(["voice"], shop.place, shop.said.append)
    assert shop.there == [PARTS]


def test_the_second_file_failing_leaves_no_model_and_keeps_the_first(shop: Shop) -> None:
    shop.server.once("voice.onnx.json", *[page()] * 9)
    with pytest.raises(EngineError, match="web page"):
        shop.install("voice")
    assert shop.there == [PARTS]
    shop.server.answers.clear()
    asked = len(shop.server.asked)
    shop.install("voice")
    verify("voice", shop.settings)
    assert [path for path, _ in shop.server.asked[asked:] if path.endswith("onnx")] == []


def test_a_models_folder_elsewhere_is_a_mirror(shop: Shop, tmp_path: Path) -> None:
    shop.install("voice")
    other = tmp_path / "other"
    other.mkdir()
    for file in shop.server.files.copy():
        del shop.server.files[file]
    install(["voice"], other, shop.said.append, source=str(shop.place))
    verify("voice", Settings(paths=PathSettings(models=str(other))))


def test_a_mirror_may_be_a_folder_of_downloads(shop: Shop, tmp_path: Path) -> None:
    downloaded = tmp_path / "downloaded"
    downloaded.mkdir()
    (downloaded / "vosk-small.zip").write_bytes(shop.archive)
    (downloaded / "voice.onnx").write_bytes(WEIGHTS)
    (downloaded / "voice.onnx.json").write_bytes(CONFIG)
    shop.install("voice", "vosk-small", source=str(downloaded))
    verify("voice", shop.settings)
    verify("vosk-small", shop.settings)
    assert shop.server.asked == []


@pytest.mark.parametrize("data", [WEIGHTS[:-1], WEIGHTS[::-1], b"", b"<html>"])
def test_a_wrong_copy_in_a_mirror_is_refused(shop: Shop, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "voice.onnx").write_bytes(data)
    with pytest.raises(EngineError) as caught:
        shop.install("voice", source=str(tmp_path))
    assert caught.value.code == "model-hash-differs"
    assert str(tmp_path / "voice.onnx") in caught.value.what
    assert [path for path in shop.place.rglob("*") if path.is_file()] == [shop.place / LOCK]


def test_a_mirror_without_the_file_is_told(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"has no voice\.onnx") as caught:
        shop.install("voice", source=str(tmp_path))
    assert caught.value.code == "model-not-there"


@pytest.mark.parametrize("source", ["/not/there", "file:///etc", "ftp://host/x"])
def test_a_mirror_must_be_there(shop: Shop, source: str) -> None:
    with pytest.raises(UsageError):
        shop.install("voice", source=source)


def test_what_is_whole_is_not_fetched_again_and_what_is_damaged_is(shop: Shop) -> None:
    shop.install("voice")
    asked = len(shop.server.asked)
    shop.install("voice")
    assert len(shop.server.asked) == asked
    (shop.place / "voice" / "voice.onnx").write_bytes(b"half")
    shop.install("voice")
    verify("voice", shop.settings)
    assert shop.there == [PARTS, "voice"]


def test_a_failed_repair_leaves_what_was_there(shop: Shop) -> None:
    shop.install("voice")
    damaged = shop.place / "voice" / "voice.onnx"
    damaged.write_bytes(b"half")
    shop.server.once("voice.onnx", *[whole(WEIGHTS[::-1])] * 9)
    with pytest.raises(EngineError, match="another one"):
        shop.install("voice")
    assert damaged.read_bytes() == b"half"


def test_an_archive_of_something_else_is_refused(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hash is right, and yet it is no Vosk model."""
    other = as_zip(tmp_path / "other.zip", {"x/readme": b"hello"}).read_bytes()
    text = (tmp_path / "catalogue.toml").read_text()
    text = text.replace(sha256(shop.archive), sha256(other))
    (tmp_path / "catalogue.toml").write_text(
        text.replace(f"bytes = {len(shop.archive)}", f"bytes = {len(other)}")
    )
    models.catalogue.cache_clear()
    shop.server.files["vosk-small.zip"] = other
    with pytest.raises(EngineError, match=r"no am/final.mdl in it") as caught:
        shop.install("vosk-small")
    assert caught.value.code == "model-unexpected"
    assert "vosk-small" not in shop.there


def test_leftovers_of_a_killed_install_go_and_its_download_is_gone_on_with(shop: Shop) -> None:
    half = shop.place / ".fetch-abc" / "voice"
    half.mkdir(parents=True)
    (half / "voice.onnx").write_bytes(WEIGHTS[:1000])
    parts = shop.place / PARTS
    parts.mkdir()
    (parts / sha256(WEIGHTS)).write_bytes(WEIGHTS[:300_000])
    shop.install("voice")
    assert shop.there == [PARTS, "voice"]
    assert ("voice.onnx", "bytes=300000-") in shop.server.asked


def test_a_disk_too_small_is_seen_before_anything_is_asked_for(
    shop: Shop, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small_disk / "hog").write_bytes(bytes((3 << 20) - len(WEIGHTS)))
    with pytest.raises(StorageError, match="no room"):
        install(["voice"], small_disk, shop.said.append, source=shop.server.url(""))
    assert shop.server.asked == []
    (small_disk / "hog").unlink()
    install(["voice"], small_disk, shop.said.append, source=shop.server.url(""))
    verify("voice", Settings(paths=PathSettings(models=str(small_disk))))


def test_the_tells_of_a_slow_download_say_the_time_left(shop: Shop) -> None:
    now = 0.0
    said: list[str] = []
    tell = Progress("voice.onnx", said.append, every=5, clock=lambda: now)
    for now in (1.0, 2.0, 6.0, 7.0, 11.0):
        tell(int(now * 1e6), 61_000_000)
    assert said == [
        "  voice.onnx: 6.0 of 61.0 MB, 1.0 MB/s, 55 s left",
        "  voice.onnx: 11.0 of 61.0 MB, 1.0 MB/s, 50 s left",
    ]
    assert progress_line(0, 600_000_000, 1e6).endswith("10 min 0 s left")
    assert progress_line(5_000_000, 0, 1e6) == "5.0 MB, 1.0 MB/s"
    assert progress_line(5, 10, 0.0) == "0.0 of 0.0 MB, 0.0 MB/s"


# --- what the owner put there by hand


def test_a_model_that_the_owner_unpacked_is_taken_as_it_is(shop: Shop) -> None:
    mark = shop.place / "vosk-small" / "am" / "final.mdl"
    mark.parent.mkdir(parents=True)
    mark.write_bytes(b"theirs")
    assert find("vosk", "", shop.settings) == shop.place / "vosk-small"
    with pytest.raises(EngineError, match="nothing to hold it against"):
        verify("vosk-small", shop.settings)
    shop.install("vosk-small")
    assert mark.read_bytes() == b"theirs"


def own(engine: str, name: str = "mine") -> Model:
    return Model(name, models.KIND[engine], engine, "en", "MIT", "own")


def by_hand(shop: Shop, model: Model, **files: bytes) -> Model:
    """Install files that the server has, by their right hashes."""
    sources = []
    for name, data in files.items():
        path = name.replace("__", ".")
        shop.server.files[path] = data
        sources.append(Source(shop.server.url(path), sha256(data)))
    return install_by_hand(model, sources, shop.place, shop.said.append, nearby=True)


def test_a_language_model_by_hand_is_found_by_its_name(shop: Shop) -> None:
    by_hand(shop, own("llama"), tiny__gguf=b"GGUF" + WEIGHTS)
    assert find("llama", "mine", shop.settings) == shop.place / "mine" / "tiny.gguf"
    verify("mine", shop.settings)
    (shop.place / "mine" / "tiny.gguf").write_bytes(b"GGUF")
    with pytest.raises(EngineError, match=r"mine .* has 4 bytes") as caught:
        find("llama", "mine", shop.settings)
    assert "models remove mine" in caught.value.mend


def test_a_voice_by_hand_is_of_two_files(shop: Shop) -> None:
    by_hand(shop, own("piper"), v__onnx=WEIGHTS, v__onnx__json=CONFIG)
    assert find("piper", "mine", shop.settings) == shop.place / "mine" / "v.onnx"


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_by_hand_is_unpacked(shop: Shop, tmp_path: Path, kind: str) -> None:
    packed = (as_zip if kind == "zip" else as_tar)(tmp_path / "packed", INSIDE)
    by_hand(shop, own("vosk"), any__bin=packed.read_bytes())
    assert find("vosk", "mine", shop.settings) == shop.place / "mine"
    assert (shop.place / "mine" / "am" / "final.mdl").read_bytes() == ACOUSTIC
    verify("mine", shop.settings)


@pytest.mark.parametrize(
    ("engine", "files"),
    [
        ("llama", {"page__gguf": b"not a model"}),
        ("llama", {"model__bin": b"GGUF"}),
        ("piper", {"v__onnx": WEIGHTS}),
        ("vosk", {"final__mdl": ACOUSTIC}),
    ],
)
def test_what_is_no_model_of_its_kind_is_refused(
    shop: Shop, engine: str, files: dict[str, bytes]
) -> None:
    with pytest.raises(EngineError) as caught:
        by_hand(shop, own(engine), **files)
    assert caught.value.code == "model-unexpected"
    assert shop.there == [PARTS]


@pytest.mark.parametrize("name", ["", "..", "../x", "A", "a/b", ".x", "voice", "-x", "x" * 65])
def test_a_name_must_be_plain_and_free(shop: Shop, name: str) -> None:
    with pytest.raises(UsageError):
        by_hand(shop, own("llama", name), tiny__gguf=b"GGUF")
    assert shop.there == []


def test_a_model_by_hand_needs_a_hash_and_https(shop: Shop) -> None:
    with pytest.raises(UsageError, match="is not a SHA-256"):
        install_by_hand(own("llama"), [Source("https://x/y.gguf", "abc")], shop.place, print)
    plain = [Source(shop.server.url("y.gguf"), sha256(b"GGUF"))]
    with pytest.raises(UsageError, match="https://"):
        install_by_hand(own("llama"), plain, shop.place, print)


def test_another_one_of_the_name_is_refused(shop: Shop) -> None:
    by_hand(shop, own("llama"), tiny__gguf=b"GGUF" + WEIGHTS)
    with pytest.raises(UsageError, match="There is a model mine already"):
        by_hand(shop, own("llama"), tiny__gguf=b"GGUF")


# --- taking away


def test_a_model_goes_as_a_whole(shop: Shop) -> None:
    shop.install("vosk-small")
    using = Settings(
        paths=shop.settings.paths, recogniser=RecogniserSettings(engine="whisper", model="x")
    )
    freed = remove("vosk-small", using)
    assert freed > len(ACOUSTIC)
    assert shop.there == [PARTS]


def test_what_is_in_use_stays(shop: Shop) -> None:
    shop.install("voice", "vosk-small")
    using = Settings(paths=shop.settings.paths, voice=VoiceSettings(model="voice"))
    with pytest.raises(UsageError, match=r"voice is in use \(voice.model\)"):
        remove("voice", using)
    with pytest.raises(UsageError, match=r"vosk-small is in use \(recogniser.model\)"):
        remove("vosk-small", using)  # auto takes it because it is there
    assert shop.there == [PARTS, "voice", "vosk-small"]


def test_a_packaged_one_goes_only_when_its_loss_is_accepted(shop: Shop, tmp_path: Path) -> None:
    text = (tmp_path / "catalogue.toml").read_text()
    (tmp_path / "catalogue.toml").write_text(text.replace('"extra"', '"packaged"', 1))
    models.catalogue.cache_clear()
    shop.install("voice")
    using = Settings(paths=shop.settings.paths, voice=VoiceSettings(engine="espeak"))
    with pytest.raises(UsageError, match="no other voice is chosen"):
        remove("voice", using)
    remove("voice", using, packaged_too=True)
    assert "voice" not in shop.there


def test_what_is_not_there_is_told(shop: Shop) -> None:
    with pytest.raises(UsageError, match="There is no model 'voice'"):
        remove("voice", shop.settings)


# --- the commands


@pytest.fixture
def command(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("HEY_ECHO_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("HEY_ECHO_PATHS_MODELS", str(shop.place))
    monkeypatch.setenv("HEY_ECHO_PATHS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HEY_ECHO_PATHS_RUNTIME", str(tmp_path / "run"))
    return shop


def test_the_commands_install_list_verify_and_remove(
    command: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror = ["--from", command.server.url("")]
    assert main(["models", "install", "voice", "vosk-small", *mirror]) == 0
    assert main(["models", "verify"]) == 0
    assert capsys.readouterr().out.count("every byte is as it should be") == 2
    assert main(["models", "list", "--json"]) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)["models"]}
    assert listed["vosk-small"]["state"] == "in use"
    assert listed["voice"]["state"] == "in use"
    assert main(["models", "list"]) == 0
    assert "vosk-small" in capsys.readouterr().out
    assert main(["models", "remove", "voice"]) == 2
    assert "in use" in capsys.readouterr().err


def test_verify_reads_all_though_one_be_damaged(
    command: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    command.install("voice", "vosk-small")
    (command.place / "voice" / "voice.onnx").write_bytes(WEIGHTS[::-1])
    assert main(["models", "verify"]) == EngineError.exit_status
    said = capsys.readouterr()
    assert "vosk-small: every byte" in said.out
    assert "other contents" in said.err


def test_a_model_by_hand_through_the_command(
    command: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    data = b"GGUF" + WEIGHTS
    command.server.files["tiny.gguf"] = data
    install_it = ["models", "install", "--name", "mine", "--kind", "language-model"]
    source = ["--from", command.server.url("tiny.gguf"), "--sha256", sha256(data).upper()]
    assert main([*install_it, *source]) == 0
    assert "models use mine" in capsys.readouterr().out
    assert main(["models", "list", "--json"]) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)["models"]}
    assert listed["mine"]["state"] == "installed"
    assert main(["models", "remove", "mine"]) == 0
    assert not (command.place / "mine").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["install"],
        ["install", "--name", "x"],
        ["install", "voice", "--name", "x", "--kind", "voice"],
        ["install", "--name", "x", "--kind", "recogniser", "--url", "https://x/y", "--sha256", "a"],
        ["install", "--name", "x", "--kind", "voice", "--url", "https://x/y"],
        ["install", "voice", "--from", "/a", "--from", "/b"],
        ["install", "nothing"],
        ["remove", "nothing"],
        ["verify", "nothing"],
        ["use", "nothing"],
        ["use", "voice"],
    ],
)
def test_what_is_asked_wrongly_is_a_sentence(
    command: Shop, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["models", *words]) == UsageError.exit_status
    assert capsys.readouterr().err.startswith("hey-echo: ")


def test_a_broken_download_is_a_sentence_with_the_mend(
    command: Shop, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "BROKE_OFF", 0)
    command.server.answers["voice.onnx"] = [breaks_after(0, WEIGHTS)] * 9
    del command.server.files["voice.onnx.json"]
    status = main(["models", "install", "voice", "--from", command.server.url("")])
    assert status == EngineError.exit_status
    said = capsys.readouterr().err
    assert "could not be fetched" in said
    assert "goes on where it stopped" in said


def test_every_error_of_this_room_is_echos_own(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "voice.onnx").mkdir()
    with pytest.raises(EchoError):
        shop.install("voice", source=str(tmp_path))
