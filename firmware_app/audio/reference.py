"""What the loudspeaker plays and when: the far end, kept for the one who takes its echo away."""

import threading

import numpy as np

from firmware_app.frames import SAMPLE_RATE, Samples, seconds

KEPT = 10 * SAMPLE_RATE  # samples
SAME_RUN = 0.02  # seconds by which a time may be off before sound counts as interrupted
FOLLOWS = 0.02  # share of that by which the times of a run are corrected


class Reference:
    """A timeline of samples at the loudspeaker's pace; silence where nothing was played.

    A device tells its times roughly but plays without gaps: what follows on within SAME_RUN
    of its time stands right behind what was before. Each gap begins a new run, placed by its
    time. May be fed from one thread and read from another.
    """

    def __init__(self, origin: float) -> None:
        """origin: the monotonic time of position 0."""
        self._guard = threading.Lock()
        self._samples = np.zeros(KEPT, np.int16)
        self._run = self._end = -KEPT  # of what is played, on the timeline
        self._origin = origin  # time of position 0, by the times of this run
        self._interrupted = False

    def add(self, begins: float, samples: Samples) -> None:
        """These leave the loudspeaker from the time `begins` on."""
        with self._guard:
            late = begins - self._origin - seconds(self._end)
            if self._interrupted or abs(late) > SAME_RUN:
                self._interrupted = False
                self._run = max(self._end, self._position_at(begins))
                self._origin = begins - seconds(self._run)
                self._write(np.zeros(min(KEPT, self._run - self._end), np.int16))
                self._end = self._run
            else:
                self._origin += late * FOLLOWS
            self._write(samples)

    def interrupt(self) -> None:
        """What follows does not stand right behind what was before."""
        with self._guard:
            self._interrupted = True

    def cut(self, now: float) -> None:
        """What would leave the loudspeaker later than now does not."""
        with self._guard:
            self._end = max(self._run, min(self._end, self._position_at(now)))
            self._interrupted = True

    def position_at(self, moment: float) -> int:
        """The place on the timeline of what leaves the loudspeaker at this time."""
        with self._guard:
            return self._position_at(moment)

    @property
    def run(self) -> int:
        """Where the present run began."""
        return self._run

    @property
    def end(self) -> int:
        """The end of what is played, so far."""
        return self._end

    def read(self, start: int, count: int) -> Samples:
        """Samples from a place on; silence where nothing was played or it is forgotten."""
        found = np.zeros(count, np.int16)
        with self._guard:
            first, last = max(start, self._end - KEPT), min(start + count, self._end)
            if first < last:
                places = np.arange(first, last) % KEPT
                found[first - start : last - start] = self._samples[places]
        return found

    def _position_at(self, moment: float) -> int:
        return round((moment - self._origin) * SAMPLE_RATE)

    def _write(self, samples: Samples) -> None:
        """At the end, which it moves on."""
        samples = samples[-KEPT:]
        places = np.arange(self._end, self._end + len(samples)) % KEPT
        self._samples[places] = samples
        self._end += len(samples)
