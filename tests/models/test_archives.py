"""An archive gives plain files below one folder, or nothing at all."""

import contextlib
import gzip
import io
import random
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firmware_app.errors import EngineError, StorageError
from firmware_app.model_store import archives
from firmware_app.model_store import place as places
from firmware_app.model_store.archives import unpack

GOOD = {"model/am/final.mdl": b"acoustic", "model/conf/mfcc.conf": b"rate", "model/README": b"hi"}
Pack: TypeAlias = Callable[[Path, Mapping[str, bytes]], Path]


def as_zip(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo("x")
            entry.filename = name  # as it is: ZipInfo's own constructor mends it
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return path


def as_tar(path: Path, files: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if not path.is_dir()
    }


def refused(archive: Path, tmp_path: Path, **options: int) -> str:
    """Why it is refused; nothing may be left outside the target."""
    outside = {path for path in tmp_path.rglob("*") if "out" not in path.parts}
    with pytest.raises(EngineError) as caught:
        unpack(archive, tmp_path / "out" / "model", **options)
    assert caught.value.code == "model-archive"
    assert {path for path in tmp_path.rglob("*") if "out" not in path.parts} == outside
    return caught.value.what


@pytest.fixture(autouse=True)
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("pack", [as_zip, as_tar])
def test_the_one_folder_around_everything_is_left_away(pack: Pack, tmp_path: Path) -> None:
    unpack(pack(tmp_path / "a", GOOD), tmp_path / "out" / "model")
    assert everything(tmp_path / "out" / "model") == {
        name.removeprefix("model/"): data for name, data in GOOD.items()
    }


@pytest.mark.parametrize("pack", [as_zip, as_tar])
def test_without_such_a_folder_all_stays(pack: Pack, tmp_path: Path) -> None:
    files = {"a.bin": b"1", "sub/b.bin": b"2"}
    unpack(pack(tmp_path / "a", files), tmp_path / "out" / "model")
    assert everything(tmp_path / "out" / "model") == files


EVIL = [
    "/etc/cron.d/echo",
    "../../outside",
    "model/../../outside",
    "model/./x",
    "model//x",
    "C:/windows/x",
    "model\\..\\x",
    "..",
    "model/\x1b[2Jx",
    "model/\nx",
    ".model.json",
    "model/.hidden",
    "model/" + "x" * 300,
    "model/ x",
    "model/x\u202egpj.exe",
]


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize("pack", [as_zip, as_tar])
def test_names_that_lead_elsewhere_are_refused(pack: Pack, name: str, tmp_path: Path) -> None:
    assert "holds a file called" in refused(
        pack(tmp_path / "a", {"model/a": b"", name: b"evil"}), tmp_path
    )
    assert not (tmp_path / "out" / "model").exists()


@given(
    names=st.lists(
        st.one_of(
            st.text(min_size=1, max_size=30),
            st.lists(st.sampled_from(["a", "b", "..", ".", "", "c.d", "/"]), min_size=1).map(
                "/".join
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_name_whatever_leaves_the_folder(
    names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What is unpacked is exactly what was packed, below the folder; or nothing is."""
    work = tmp_path_factory.mktemp("names")
    files = {name: name.encode("utf-8", "replace") for name in names}
    try:
        packed = as_tar(work / "a", files)
    except (UnicodeEncodeError, ValueError):
        return  # not even tarfile writes such a name
    (work / "out").mkdir()
    target = work / "out" / "model"
    with contextlib.suppress(EngineError):
        unpack(packed, target)
        assert sorted(everything(target).values()) == sorted(files.values())
    assert {path.name for path in work.iterdir()} == {"a", "out"}
    assert {path.name for path in (work / "out").iterdir()} <= {"model"}
    for path in target.rglob("*"):
        assert path.resolve().is_relative_to(target.resolve())
        assert ".." not in PurePosixPath(path).parts


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE],
    ids=["symlink", "hard link", "character device", "block device", "pipe"],
)
def test_links_and_devices_in_a_tar_are_refused(kind: bytes, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a", "w:gz") as archive:
        entry = tarfile.TarInfo("model/final.mdl")
        entry.type, entry.linkname = kind, "/etc/passwd"
        archive.addfile(entry)
    assert "something else than plain files" in refused(tmp_path / "a", tmp_path)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip_are_refused(kind: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        entry = zipfile.ZipInfo("model/final.mdl")
        entry.external_attr = (kind | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    assert "something else than plain files" in refused(tmp_path / "a", tmp_path)


@pytest.mark.parametrize("pack", [as_zip, as_tar])
def test_a_bomb_is_refused_before_a_byte_is_written(pack: Pack, tmp_path: Path) -> None:
    bomb = pack(tmp_path / "a", {"model/x": bytes(50_000_000)})
    assert bomb.stat().st_size < 100_000
    assert "would swell to more than" in refused(bomb, tmp_path)
    assert not (tmp_path / "out" / "model").exists()


def test_a_bomb_of_many_files_is_refused(tmp_path: Path) -> None:
    many = {f"model/{number}": b"" for number in range(archives.MOST_FILES + 1)}
    assert "more than 1000 files" in refused(as_zip(tmp_path / "a", many), tmp_path)


def test_more_than_was_agreed_is_refused(tmp_path: Path) -> None:
    assert "would swell" in refused(as_zip(tmp_path / "a", GOOD), tmp_path, most=10)


def test_a_zip_that_lies_about_a_size_is_refused(tmp_path: Path) -> None:
    """The list of contents says 10 bytes; there are far more behind it."""
    path = as_zip(tmp_path / "a", {"model/x": b"A" * 100_000})
    raw = bytearray(path.read_bytes())
    at = raw.index(b"PK\x01\x02") + 24  # uncompressed size in the central directory
    assert struct.unpack_from("<I", raw, at)[0] == 100_000
    struct.pack_into("<I", raw, at, 10)
    path.write_bytes(raw)
    refused(path, tmp_path)


def test_a_header_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    header = tarfile.TarInfo("PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, 1 << 31
    with gzip.open(tmp_path / "a", "wb") as out:
        out.write(header.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 20))
    assert "a header is too long" in refused(tmp_path / "a", tmp_path)


@pytest.mark.parametrize("pack", [as_zip, as_tar])
def test_one_name_twice_is_refused(pack: Pack, tmp_path: Path) -> None:
    files = {"model/Final.mdl": b"1", "model/final.MDL": b"2"}
    assert "two files called" in refused(pack(tmp_path / "a", files), tmp_path)


def test_a_file_that_is_a_folder_too_is_refused(tmp_path: Path) -> None:
    files = {"model/am": b"1", "model/am/final.mdl": b"2"}
    assert "as a file and as a folder" in refused(as_tar(tmp_path / "a", files), tmp_path)


@pytest.mark.parametrize("pack", [as_zip, as_tar])
def test_half_an_archive_is_refused(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "a", {"model/x": bytes(range(256)) * 4000})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    refused(path, tmp_path)


@pytest.mark.parametrize("data", [b"", b"<html>no</html>", b"\x1f\x8b not gzip", b"PK\x03\x04"])
def test_what_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    refused(tmp_path / "a", tmp_path)


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = as_zip(tmp_path / "a", {"model/x": b"secret"})
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    assert "something else than plain files" in refused(path, tmp_path)


def test_an_empty_archive_is_refused(tmp_path: Path) -> None:
    assert "holds no file" in refused(as_tar(tmp_path / "a", {}), tmp_path)


def test_room_is_looked_for_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "RESERVE", 1 << 62)
    with pytest.raises(StorageError, match="no room"):
        unpack(as_zip(tmp_path / "a", GOOD), tmp_path / "out" / "model")
    assert not (tmp_path / "out" / "model").exists()


def test_a_disk_that_is_full_is_told(small_disk: Path, tmp_path: Path) -> None:
    noise = {"model/x": random.Random(1).randbytes(4 << 20)}
    with pytest.raises(StorageError) as caught:
        unpack(as_zip(tmp_path / "a", noise), small_disk / "model")
    assert caught.value.code == "models-disk-full"
