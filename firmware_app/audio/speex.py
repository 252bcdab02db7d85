"""Speex's linear echo canceller, through the C library libspeexdsp.

It alone is used, without Speex's preprocessor: what that one does to sound costs the wake word
more than the rest of the echo does.
"""

import ctypes
import functools
import weakref
from typing import Any

import numpy as np

from firmware_app.errors import EngineError
from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples

LIBRARY = "libspeexdsp.so.1"
SET_SAMPLING_RATE = 24  # SPEEX_ECHO_SET_SAMPLING_RATE of speex_echo.h


class SpeexEcho:
    """Takes out of blocks what a filter of `tail` samples can make of the far end."""

    def __init__(self, tail: int) -> None:
        """Raises EngineError where the library is missing."""
        self._library = available()
        self._state = ctypes.c_void_p(self._library.speex_echo_state_init(BLOCK, tail))
        weakref.finalize(self, self._library.speex_echo_state_destroy, self._state)
        rate = ctypes.c_int(SAMPLE_RATE)
        self._library.speex_echo_ctl(self._state, SET_SAMPLING_RATE, ctypes.byref(rate))

    def cancel(self, near: Samples, far: Samples) -> Samples:
        """The block without the far end's echo; both of shape (BLOCK,), int16, C-contiguous."""
        out = np.empty(BLOCK, np.int16)
        self._library.speex_echo_cancellation(
            self._state, near.ctypes.data, far.ctypes.data, out.ctypes.data
        )
        return out


@functools.cache
def available() -> Any:  # noqa: ANN401 - ctypes knows no types of functions
    """The library, ready to be called. Raises EngineError where it is missing."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise EngineError(
            "echo-library-missing",
            f"The library {LIBRARY}, which takes Echo's own voice out of the microphone's sound, "
            "is not installed.",
            "sudo apt install libspeexdsp1, then restart Echo.",
        ) from error
    pointer = ctypes.c_void_p
    library.speex_echo_state_init.argtypes = [ctypes.c_int, ctypes.c_int]
    library.speex_echo_state_init.restype = pointer
    library.speex_echo_cancellation.argtypes = [pointer, pointer, pointer, pointer]
    library.speex_echo_cancellation.restype = None
    library.speex_echo_ctl.argtypes = [pointer, ctypes.c_int, pointer]
    library.speex_echo_state_destroy.argtypes = [pointer]
    library.speex_echo_state_destroy.restype = None
    return library
