"""The page of the whole service: there also while Echo itself cannot be awake."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

SECONDS = 60.0


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Of a service without a single model."""
    with TemporaryDirectory(prefix="echo-") as runtime:
        config = tmp_path / "config.toml"
        config.write_text(
            f'[paths]\nstate = "{tmp_path}/state"\nmodels = "{tmp_path}"\nruntime = "{runtime}"\n'
            '[web]\nport = 0\n[recogniser]\nmodel = "none"\n'
        )
        yield {**os.environ, "HEY_ECHO_CONFIG": str(config)}


def command(environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "firmware_app", *words],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def wait_for_page(environ: dict[str, str]) -> dict[str, Any]:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        told = command(environ, "status", "--json")
        if told.returncode == 0:
            status: dict[str, Any] = json.loads(told.stdout)
            if str(status["page"]).startswith("http") and status["state"] == "error":
                return status
        time.sleep(0.3)
    raise TimeoutError


def get(url: str) -> Any:  # noqa: ANN401 - JSON
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - our own
        return json.loads(answer.read())


def test_the_page_tells_of_an_echo_that_cannot_be_awake(environ: dict[str, str]) -> None:
    service = subprocess.Popen(
        [sys.executable, "-m", "firmware_app", "run"], env=environ, stderr=subprocess.PIPE
    )
    try:
        page = wait_for_page(environ)["page"]
        port = page.rpartition(":")[2]
        assert get(f"http://127.0.0.1:{port}/api/status")["state"] == "error"
        made = json.loads(command(environ, "pair", "--owner", "ann", "--json").stdout)
        assert made["address"] == page
        pair = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/pair",
            json.dumps({"code": made["code"], "name": "hers"}).encode(),
            {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{port}"},
        )
        with urllib.request.urlopen(pair, timeout=60) as answer:  # noqa: S310
            assert answer.status == 204
        assert "hers" in command(environ, "pair", "list").stdout
    finally:
        service.send_signal(signal.SIGTERM)
        _, log = service.communicate(timeout=60)
    assert service.returncode == 0
    assert b"Traceback" not in log
