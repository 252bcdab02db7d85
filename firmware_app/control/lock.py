"""Who is the service: the process that holds the lock file."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from firmware_app.errors import ServiceError


@contextlib.contextmanager
def service_lock(runtime: Path) -> Iterator[None]:
    """Be the service, or open its data in its stead, for as long as the context lasts.

    The kernel lets go of the lock when the process ends, however it ends; the file stays.
    Raises ServiceError naming the process that holds it.
    """
    path = runtime / "lock"
    try:
        runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.geteuid() == 0:  # root must not lock the service's own user out
            folder = runtime.stat()
            os.fchown(descriptor, folder.st_uid, folder.st_gid)
    except OSError as fault:
        raise ServiceError(
            "not-allowed",
            f"{path} cannot be made: {(fault.strerror or str(fault)).lower()}.",
            "Run it as the user of the service, or name a folder of your own in paths.runtime.",
        ) from fault
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            raise _already_running(os.pread(descriptor, 20, 0)) from held
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(descriptor)


def _already_running(pid: bytes) -> ServiceError:
    who = f" (process {pid.decode().strip()})" if pid.strip().isdigit() else ""
    return ServiceError(
        "already-running",
        f"Echo is running already{who}.",
        "Use it as it is, or stop it first: sudo systemctl stop hey-echo",
    )
