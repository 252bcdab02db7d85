"""A certificate of the box's own: made, shown, used, and refused where it cannot be used."""

import datetime
import shutil
import ssl
import stat
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from firmware_app.errors import SettingsError, StorageError
from firmware_app.settings import PathSettings, Settings, WebSettings
from firmware_app.web import tls
from tests.web.phone import Phone
from tests.web.stand import stand


@pytest.fixture
def box(tmp_path: Path) -> Settings:
    return Settings(paths=PathSettings(state=str(tmp_path)))


async def test_with_a_certificate_nobody_listens_in(tmp_path: Path) -> None:
    async with stand(tmp_path, secure=True) as there:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            phone = Phone(there, session)
            cookie = (await phone.pair()).headers["Set-Cookie"]
            assert cookie.startswith(f"__Host-hey-echo-{there.server.port}=")
            assert "; Secure" in cookie
            session_now = await phone.get("/api/session")
            assert session_now.body["secure"]
            assert session_now.headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert (await phone.get("/api/status")).body["address"].startswith("https://")
            async with phone.follow() as events:
                await events.until("ready")
                await there.live.wake()
                await events.until("reply")
            plain = phone.get("/api/session", headers={"Origin": f"http://{there.url[8:]}"})
            assert (await plain).status == 200
            cross = phone.put(
                "/api/voice/mute", {"muted": True}, headers={"Origin": f"http://{there.url[8:]}"}
            )
            assert (await cross).status == 403


def test_it_names_the_box_and_keeps_its_key_to_itself(box: Settings, tmp_path: Path) -> None:
    made = tls.create(box, tmp_path)
    assert "localhost" in made.names
    assert "127.0.0.1" in made.names
    assert len(made.fingerprint.split(":")) == 32
    assert made.ends - made.begins == datetime.timedelta(days=tls.DAYS)
    files = tls.files(box)
    assert files
    assert stat.S_IMODE(files.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.key.parent.stat().st_mode) == 0o700
    context = tls.context(files)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_another_is_made_only_on_demand(box: Settings, tmp_path: Path) -> None:
    first = tls.create(box, tmp_path)
    with pytest.raises(StorageError) as refused:
        tls.create(box, tmp_path)
    assert refused.value.code == "tls-exists"
    assert tls.create(box, tmp_path, replace=True).fingerprint != first.fingerprint


def test_a_certificate_that_ended_is_named_with_the_day(box: Settings, tmp_path: Path) -> None:
    made = tls.create(box, tmp_path)
    files = tls.files(box)
    assert files
    with pytest.raises(SettingsError, match=f"{made.ends:%Y-%m-%d}") as refused:
        tls.context(files, made.ends + datetime.timedelta(seconds=1))
    assert refused.value.code == "tls-expired"


@pytest.mark.parametrize("which", ["certificate", "key"])
@pytest.mark.parametrize("how", ["damaged", "missing", "empty", "another's"])
def test_files_that_cannot_be_used_are_named(
    box: Settings, tmp_path: Path, which: str, how: str
) -> None:
    tls.create(box, tmp_path)
    files = tls.made_files(tmp_path)
    bad: Path = getattr(files, which)
    if how == "missing":
        bad.unlink()
    elif how == "another's":
        other = tmp_path / "other"
        tls.create(box, other)
        shutil.copy(getattr(tls.made_files(other), which), bad)
    else:
        bad.write_bytes(b"-----BEGIN CERTIFICATE-----\nxx\n" if how == "damaged" else b"")
    with pytest.raises(SettingsError, match=str(files.key.parent)) as refused:
        tls.context(files)
    assert refused.value.code == "tls-unusable"


def test_both_files_are_named_or_none(box: Settings) -> None:
    assert tls.files(box) is None
    half = replace(box, web=WebSettings(certificate="/a.pem"))
    with pytest.raises(SettingsError) as refused:
        tls.files(half)
    assert refused.value.code == "tls-half-set"
    both = replace(box, web=WebSettings(certificate="/a.pem", key="/b.pem"))
    assert tls.files(both) == tls.Files(Path("/a.pem"), Path("/b.pem"))
