"""A file comes whole or not at all, whatever the server does."""

import hashlib
import os
import random
from pathlib import Path

import pytest
from aiohttp import web

from firmware_app.errors import EchoError, EngineError, StorageError, UsageError
from firmware_app.model_store import download as downloads
from firmware_app.model_store import place as places
from firmware_app.model_store.download import NotThereError, Wanted, WrongFileError
from firmware_app.model_store.place import PARTS
from tests.models.conftest import wanted
from tests.models.server import (
    Answer,
    Server,
    breaks_after,
    endless,
    page,
    redirect,
    serving,
    stalls_after,
    status,
    whole,
)

DATA = random.Random(1).randbytes(1_000_000)
OTHER = random.Random(2).randbytes(1_000_000)


def fetch(server: Server, file: Wanted, place: Path, path: str = "model.bin") -> Path:
    return downloads.download(server.url(path), file, place, lambda done, total: None, plain=True)


def parts(place: Path) -> list[str]:
    return sorted(path.name for path in (place / PARTS).iterdir())


def test_it_comes_whole_and_tells_how_far_it_is(server: Server, place: Path) -> None:
    server.files["model.bin"] = DATA
    told: list[tuple[int, int]] = []
    path = downloads.download(
        server.url("model.bin"),
        wanted(DATA),
        place,
        lambda *figures: told.append(figures),
        plain=True,
    )
    assert path.read_bytes() == DATA
    assert told[-1] == (len(DATA), len(DATA))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert parts(place) == [wanted(DATA).sha256]


def test_what_broke_off_goes_on_where_it_stopped(server: Server, place: Path) -> None:
    server.files["model.bin"] = DATA
    server.once("model.bin", breaks_after(300_000, DATA), breaks_after(400_000, DATA))
    assert fetch(server, wanted(DATA), place).read_bytes() == DATA
    assert [asked for _, asked in server.asked] == ["", "bytes=300000-", "bytes=700000-"]


def test_a_later_run_goes_on_too(
    server: Server, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "BROKE_OFF", 0)
    server.etags["model.bin"] = '"1"'
    server.once("model.bin", breaks_after(600_000, DATA), status(503))
    with pytest.raises(EngineError, match=r"0\.6 MB of it are kept") as caught:
        fetch(server, wanted(DATA), place)
    assert caught.value.code == "model-not-fetched"
    assert "goes on where it stopped" in caught.value.mend
    server.files["model.bin"] = DATA
    assert fetch(server, wanted(DATA), place).read_bytes() == DATA
    assert server.asked[-1] == ("model.bin", "bytes=600000-")
    assert server.sent == 400_000


def test_a_file_that_changed_meanwhile_is_fetched_from_the_beginning(
    server: Server, place: Path
) -> None:
    """The server's ETag tells; the part of the old version is not mixed with the new one."""
    part = place / PARTS / wanted(DATA).sha256
    part.parent.mkdir()
    part.write_bytes(OTHER[:500_000])
    part.with_suffix(".from").write_text(
        f'{{"url": "{server.url("model.bin")}", "validator": "\\"old\\""}}'
    )
    server.files["model.bin"] = DATA
    server.etags["model.bin"] = '"new"'
    assert fetch(server, wanted(DATA), place).read_bytes() == DATA
    assert server.sent == len(DATA)


def test_without_a_version_the_hash_tells_and_all_is_fetched_again(
    server: Server, place: Path
) -> None:
    part = place / PARTS / wanted(DATA).sha256
    part.parent.mkdir()
    part.write_bytes(OTHER[:500_000])
    server.files["model.bin"] = DATA
    assert fetch(server, wanted(DATA), place).read_bytes() == DATA
    assert [asked for _, asked in server.asked] == ["bytes=500000-", ""]


def test_a_part_that_is_longer_than_the_file_is_thrown_away(server: Server, place: Path) -> None:
    part = place / PARTS / wanted(DATA).sha256
    part.parent.mkdir()
    part.write_bytes(DATA + b"more")
    server.files["model.bin"] = DATA
    assert fetch(server, wanted(DATA), place).read_bytes() == DATA


def test_a_server_that_knows_no_ranges_sends_all_again(server: Server, place: Path) -> None:
    server.once("model.bin", breaks_after(300_000, DATA), whole(DATA))
    assert fetch(server, wanted(DATA), place).read_bytes() == DATA


def test_what_was_fetched_before_is_not_asked_for_again(server: Server, place: Path) -> None:
    server.files["model.bin"] = DATA
    fetch(server, wanted(DATA), place)
    fetch(server, wanted(DATA), place)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (page(), "model-is-a-page"),
        (page(kind="application/octet-stream"), "model-is-a-page"),
        (page(" \n <HTML>", kind="application/octet-stream"), "model-is-a-page"),
        (whole(OTHER), "model-hash-differs"),
        (whole(DATA[:-1]), "model-size-differs"),
        (whole(DATA + b"x"), "model-size-differs"),
        (endless(DATA), "model-size-differs"),
        (status(404), "model-not-there"),
        (status(403), "model-not-fetched"),
    ],
    ids=["html", "html-in-disguise", "html-after-space", "another-file", "too-short", "too-long",
         "endless", "404", "403"],
)  # fmt: skip
def test_what_is_not_the_file_is_refused(
    server: Server, place: Path, answer: Answer, code: str
) -> None:
    server.answers["model.bin"] = [answer] * 10
    with pytest.raises(EngineError) as caught:
        fetch(server, wanted(DATA), place)
    assert caught.value.code == code
    assert caught.value.mend
    assert parts(place) == []


@pytest.mark.parametrize("fault", ["truncated", "lies", "busy", "stalls"])
def test_a_passing_fault_is_tried_again_and_then_told(
    server: Server, place: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(downloads, "SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(downloads, "BROKE_OFF", 2)
    answer = {
        "truncated": breaks_after(0, DATA),
        "lies": whole(b"", length=len(DATA)),
        "busy": status(503),
        "stalls": stalls_after(0, DATA),
    }[fault]
    server.answers["model.bin"] = [answer] * 20
    with pytest.raises(EngineError) as caught:
        fetch(server, wanted(DATA), place)
    assert caught.value.code == "model-not-fetched"
    assert len(server.asked) == 3
    server.answers.clear()
    server.files["model.bin"] = DATA
    assert fetch(server, wanted(DATA), place).read_bytes() == DATA


def test_a_stall_in_the_middle_costs_only_what_is_missing(
    server: Server, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "SILENCE_SECONDS", 0.3)
    server.files["model.bin"] = DATA
    server.once("model.bin", stalls_after(800_000, DATA))
    assert fetch(server, wanted(DATA), place).read_bytes() == DATA
    start = int(server.asked[-1][1].removeprefix("bytes=").rstrip("-"))
    assert 0 < start <= 800_000


def test_a_server_that_is_not_there_is_told(place: Path) -> None:
    with serving() as server:
        address = server.url("model.bin")
    with pytest.raises(EngineError, match="connection refused") as caught:
        downloads.download(address, wanted(DATA), place, lambda *figures: None, plain=True)
    assert "https_proxy" in caught.value.mend


def test_redirects_are_followed(server: Server, place: Path) -> None:
    server.files["there"] = DATA
    server.once("model.bin", redirect("/there"))
    assert fetch(server, wanted(DATA), place).read_bytes() == DATA


def test_redirects_in_a_circle_end(server: Server, place: Path) -> None:
    server.answers["model.bin"] = [redirect("/model.bin")] * 30
    with pytest.raises(EngineError, match="without end"):
        fetch(server, wanted(DATA), place)
    assert len(server.asked) <= 7


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/model.bin", "data:,x"])
def test_redirects_never_lead_to_another_kind_of_address(
    server: Server, place: Path, to: str
) -> None:
    server.once("model.bin", redirect(to))
    with pytest.raises(EchoError, match="are not fetched from"):
        fetch(server, wanted(DATA), place)


@pytest.mark.parametrize("url", ["http://host/x", "file:///x", "ftp://host/x", "x", "https:///x"])
def test_only_https_counts_for_makers(place: Path, url: str) -> None:
    with pytest.raises(UsageError, match="https://"):
        downloads.download(url, wanted(DATA), place, lambda *figures: None)


def test_https_is_left_for_http_never(place: Path) -> None:
    handler = downloads._Redirects(plain=False)
    with pytest.raises(UsageError):
        handler.redirect_request(None, None, 302, "", None, "http://host/x")  # type: ignore[arg-type]


def test_a_proxy_of_the_environment_is_used(
    server: Server, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An http proxy is asked for the whole address; here the server plays one."""
    monkeypatch.setenv("http_proxy", server.url(""))
    address = "http://models.example/model.bin"
    seen: list[str] = []

    async def as_a_proxy(request: web.Request) -> web.StreamResponse:
        seen.append(str(request.url))
        return await server.send(request, DATA)

    server.once("model.bin", as_a_proxy)
    path = downloads.download(address, wanted(DATA), place, lambda *figures: None, plain=True)
    assert path.read_bytes() == DATA
    assert seen == [address]


def test_a_full_disk_is_seen_before(server: Server, small_disk: Path) -> None:
    big = random.Random(3).randbytes(4 << 20)
    server.files["model.bin"] = big
    with pytest.raises(StorageError, match="no room for 4 MB more") as caught:
        fetch(server, wanted(big), small_disk)
    assert caught.value.code == "models-disk-full"


def test_a_disk_that_fills_up_meanwhile_ends_it_and_the_next_run_goes_on(
    server: Server, small_disk: Path
) -> None:
    data = random.Random(4).randbytes(2 << 20)
    server.files["model.bin"] = data
    hog = small_disk / "hog"

    def fill(done: int, total: int) -> None:
        if not hog.exists() and done > len(data) // 2:
            free = places.free_bytes(small_disk)
            hog.write_bytes(bytes(free))

    with pytest.raises(StorageError) as caught:
        downloads.download(server.url("model.bin"), wanted(data), small_disk, fill, plain=True)
    assert caught.value.code == "models-disk-full"
    assert "goes on" in caught.value.mend
    hog.unlink()
    sent = server.sent
    assert fetch(server, wanted(data), small_disk).read_bytes() == data
    assert server.asked[-1][1].startswith("bytes=")
    assert server.sent - sent < len(data)


def test_the_rest_of_the_box_keeps_its_room(
    server: Server, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "RESERVE", 1 << 62)
    server.files["model.bin"] = DATA
    with pytest.raises(StorageError, match="are kept for the rest of the box"):
        fetch(server, wanted(DATA), place)


def test_a_folder_that_cannot_be_written_is_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    server.files["model.bin"] = DATA
    with pytest.raises(StorageError, match=r"cannot be stored in .*file: Not a directory"):
        fetch(server, wanted(DATA), tmp_path / "file")


def test_a_file_of_unknown_size_is_bounded(server: Server, place: Path) -> None:
    server.files["model.bin"] = DATA
    assert fetch(server, wanted(DATA, sized=False), place).read_bytes() == DATA
    few = Wanted("model.bin", hashlib.sha256(OTHER).hexdigest(), at_most=1_000)
    server.files["other"] = OTHER
    with pytest.raises(WrongFileError):
        fetch(server, few, place, "other")


@pytest.mark.parametrize("code", [401, 500])
def test_no_error_is_a_traceback(server: Server, place: Path, code: int) -> None:
    server.answers["model.bin"] = [status(code)] * 20
    with pytest.raises(EchoError):
        fetch(server, wanted(DATA), place)


def test_a_missing_file_is_told_apart(server: Server, place: Path) -> None:
    with pytest.raises(NotThereError):
        fetch(server, wanted(DATA), place, "nothing")
    assert os.listdir(place / PARTS) == []  # noqa: PTH208
