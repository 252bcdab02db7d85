"""The error every room raises: what is wrong, and how to put it right."""


class EchoError(Exception):
    """One clear sentence that names the thing, and one that names the mend.

    code: short name from a fixed list, for `hey-echo explain`.
    """

    exit_status = 1

    def __init__(self, code: str, what: str, mend: str) -> None:
        super().__init__(f"{what} {mend}")
        self.code = code
        self.what = what
        self.mend = mend

    def __reduce__(self) -> tuple[type["EchoError"], tuple[str, str, str]]:
        return type(self), (self.code, self.what, self.mend)


class UsageError(EchoError):
    """The command or the request was asked wrongly."""

    exit_status = 2


class SettingsError(EchoError):
    """A setting is unknown, of the wrong type, or out of bounds."""

    exit_status = 78  # EX_CONFIG of sysexits.h


class AudioFileError(EchoError):
    """A sound file is missing, damaged, or of a kind that is not read."""

    exit_status = 65  # EX_DATAERR


class DeviceError(EchoError):
    """A sound device is missing, busy, forbidden, or does not deliver what was asked."""

    exit_status = 74  # EX_IOERR


class StorageError(EchoError):
    """A file or database of Echo's own cannot be read or written."""

    exit_status = 74  # EX_IOERR


class EngineError(EchoError):
    """An engine is not installed, its model is missing or damaged, or it died."""

    exit_status = 69  # EX_UNAVAILABLE


class ServiceError(EchoError):
    """The running service cannot be reached, or one is running already."""

    exit_status = 75  # EX_TEMPFAIL


def the_one(error: BaseException) -> BaseException:
    """The error inside groups of one, which is what a task group makes of it."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
