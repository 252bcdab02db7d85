"""hey-echo pair and hey-echo tls, as typed."""

import json
from pathlib import Path
from typing import Any

import pytest

from firmware_app.cli import main


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a fake service answers, by call; "asked" has what it was asked."""
    answers: dict[str, Any] = {"asked": []}

    def call(runtime: Path, name: str, /, **args: Any) -> Any:  # noqa: ANN401
        answers["asked"].append((name, args))
        return answers[name]

    monkeypatch.setattr("firmware_app.control.client.call", call)
    return answers


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = tmp_path / "config.toml"
    config.write_text(f'[paths]\nstate = "{tmp_path}"\n')
    monkeypatch.setenv("HEY_ECHO_CONFIG", str(config))
    return tmp_path


def made(scheme: str) -> dict[str, Any]:
    address = f"{scheme}://192.168.1.20:8080"
    return {
        "code": "12345678",
        "owner": "home",
        "seconds": 120.0,
        "address": address,
        "url": f"{address}/#pair=12345678",
    }


def test_pair_shows_a_picture_that_a_narrow_terminal_holds(
    calls: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    calls["pair.new"] = made("http")
    assert main(["pair", "--owner", "ann"]) == 0
    out = capsys.readouterr().out
    assert calls["asked"] == [("pair.new", {"owner": "ann"})]
    picture = [line for line in out.splitlines() if "█" in line or "▀" in line]
    assert len(picture) > 10
    assert max(map(len, picture)) <= 40
    assert "1234 5678, for 2 minutes" in out
    assert "http://192.168.1.20:8080" in out
    assert "could listen in" in out


def test_with_tls_there_is_nothing_to_warn_of(
    calls: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    calls["pair.new"] = made("https")
    assert main(["pair"]) == 0
    assert calls["asked"] == [("pair.new", {"owner": "home"})]
    assert "listen in" not in capsys.readouterr().out


def test_phones_are_listed_and_revoked(
    calls: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    calls["pair.list"] = []
    main(["pair", "list"])
    assert "No phone is paired" in capsys.readouterr().out
    calls["pair.list"] = [
        {"id": 7, "owner": "ann", "name": "", "created": 1.8e9, "last_used": 1.8e9}
    ]
    main(["pair", "list"])
    assert "7  (no name)  ann" in capsys.readouterr().out
    main(["pair", "list", "--json"])
    assert json.loads(capsys.readouterr().out)[0]["id"] == 7
    calls["pair.revoke"] = {}
    assert main(["pair", "revoke", "7"]) == 0
    assert calls["asked"][-1] == ("pair.revoke", {"id": 7})


def test_tls_create_prints_what_phones_show(
    capsys: pytest.CaptureFixture[str], own_state: Path
) -> None:
    assert main(["tls", "show"]) == 78
    assert "hey-echo tls create" in capsys.readouterr().err
    assert main(["tls", "create"]) == 0
    first = capsys.readouterr().out
    assert "SHA-256 " in first
    assert main(["tls", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["fingerprint"][:47] in first
    assert main(["tls", "create"]) == 74
    assert "[tls-exists]" in capsys.readouterr().err
    assert main(["tls", "create", "--replace"]) == 0
