"""One process is the service; what another left behind does not keep it from starting."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from firmware_app.control.lock import service_lock
from firmware_app.control.server import ControlServer
from firmware_app.errors import ServiceError

ROOT = Path(__file__).parent.parent.parent

HOLD_THE_LOCK = """
import sys, time
from pathlib import Path
from firmware_app.control.lock import service_lock
with service_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_second_service_hears_the_first_ones_process(runtime: Path) -> None:
    with (
        service_lock(runtime),
        pytest.raises(ServiceError) as caught,
        service_lock(runtime),
    ):
        pass
    assert caught.value.what == f"Echo is running already (process {os.getpid()})."
    assert caught.value.exit_status == 75
    with service_lock(runtime):
        pass


def test_a_killed_service_lets_go_of_the_lock(runtime: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_LOCK, str(runtime)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ServiceError, match=str(holder.pid)), service_lock(runtime):
            pass
        holder.send_signal(signal.SIGKILL)
    with service_lock(runtime):
        assert (runtime / "lock").read_text() == f"{os.getpid()}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can stand in for another user")
def test_a_command_run_by_root_leaves_the_lock_to_the_service(runtime: Path) -> None:
    os.chown(runtime, 65534, 65534)
    with service_lock(runtime):
        pass
    os.seteuid(65534)
    try:
        with service_lock(runtime):
            pass
    finally:
        os.seteuid(0)


def test_an_error_inside_lets_go_of_the_lock_too(runtime: Path) -> None:
    with pytest.raises(ZeroDivisionError), service_lock(runtime):
        raise ZeroDivisionError
    with service_lock(runtime):
        pass


def test_a_folder_that_cannot_be_made_is_named(runtime: Path) -> None:
    (runtime / "file").write_text("")
    with pytest.raises(ServiceError, match=r"paths\.runtime"), service_lock(runtime / "file"):
        pass


async def test_a_socket_left_behind_is_replaced(runtime: Path) -> None:
    path = runtime / "control.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    server = ControlServer(runtime)
    await server.open()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    await server.close()
    assert not path.exists()


async def test_a_file_in_the_sockets_place_is_left_alone(runtime: Path) -> None:
    (runtime / "control.sock").write_text("precious")
    with pytest.raises(ServiceError, match="another file is in its place"):
        await ControlServer(runtime).open()
    assert (runtime / "control.sock").read_text() == "precious"


async def test_a_path_too_long_for_a_socket_is_refused_by_a_sentence(runtime: Path) -> None:
    with pytest.raises(ServiceError, match=r"too long.*paths\.runtime"):
        await ControlServer(runtime / ("long" * 40)).open()
