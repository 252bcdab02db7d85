#!/usr/bin/env python3
"""Early cuts and delays of the endpoints on recordings with known ends of speech.

    scripts/measure_endpoint.py MANIFEST.csv [--noise FILE --snr 10] [--text FOLDER] [--verbose]

The manifest has a column `file`, and `end_of_speech_seconds` where that is known; elsewhere the end
is found from the level. With --text the transcript of the Whisper model in FOLDER, 200 ms after it
was asked for, adapts the final wait, as in the running service.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile  # type: ignore[import-untyped]

from firmware_app.dialogue.endpoint import ENDS, Endpointer, Signal
from firmware_app.engines.voice_activity import SileroVoiceActivity
from firmware_app.engines.whisper import WhisperRecogniser
from firmware_app.frames import BLOCK, SAMPLE_RATE, Frame, Samples, seconds
from firmware_app.settings import EndpointSettings
from firmware_app.traces import spread

TAIL = 3 * SAMPLE_RATE  # what follows the recording
TRANSCRIPT_FRAMES = 10  # from asking to having it
BELOW_PEAK_DB = 35  # the true end: the last sound within this of the loudest and
ABOVE_FLOOR_DB = 10  # this far above the room's own
CLICK_BLOCKS = 7  # shorter sounds, as of the switch that ended the recording, do not count


@dataclass(frozen=True)
class Outcome:
    provisional_ms: float | None  # after the true end; the last one before FINAL
    final_ms: float | None
    resumed: int  # provisional endpoints thrown away
    last: Signal | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--noise", type=Path)
    parser.add_argument("--snr", type=float, default=10.0)
    parser.add_argument("--text", type=Path, help="folder of a Whisper model")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    noise = soundfile.read(options.noise, dtype="int16")[0] if options.noise else None
    whisper = WhisperRecogniser(options.text) if options.text else None
    outcomes = []
    with options.manifest.open() as rows:
        for row in csv.DictReader(rows):
            speech = soundfile.read(options.manifest.parent / row["file"], dtype="int16")[0]
            known = row.get("end_of_speech_seconds")
            end = round(float(known) * SAMPLE_RATE) if known else true_end(speech)
            outcome = follow(mixed(speech, noise, options.snr), end, whisper)
            outcomes.append(outcome)
            if options.verbose:
                print(Path(row["file"]).stem, outcome)
    report(outcomes)
    if whisper:
        whisper.close()


def report(outcomes: list[Outcome]) -> None:
    cut = [o for o in outcomes if o.final_ms is not None and o.final_ms < -100]
    print(f"{len(outcomes)} recordings; cut early {len(cut)}", end="; ")
    print(f"no final endpoint {sum(o.last is not Signal.FINAL for o in outcomes)}", end="; ")
    print(f"provisional thrown away {sum(o.resumed for o in outcomes)}")
    whole = [o for o in outcomes if o not in cut]
    for name in ("provisional_ms", "final_ms"):
        values = [v for o in whole if (v := getattr(o, name)) is not None]
        if row := spread(name, values):
            print(f"{name:15} median {row.median_ms:5.0f}  95 % {row.p95_ms:5.0f}  n {row.count}")


def follow(sound: Samples, end: int, whisper: WhisperRecogniser | None) -> Outcome:
    vad, endpointer = SileroVoiceActivity(), Endpointer(EndpointSettings())
    provisional = final = last = None
    resumed, due, text = 0, -1, ""
    for number, frame in enumerate(frames(sound)):
        if number == due:
            endpointer.text(text)
        signal = endpointer.hear(vad.process(frame), frame)
        last = signal or last
        if signal is Signal.EARLY and whisper:
            text = whisper.transcribe(sound[: frame.end]).text
            due = number + TRANSCRIPT_FRAMES
        elif signal is Signal.PROVISIONAL:
            provisional = 1000 * seconds(frame.end - end)
        elif signal is Signal.RESUMED:
            resumed, due = resumed + (provisional is not None), -1
            provisional = None
        elif signal is Signal.FINAL:
            final = 1000 * seconds(frame.end - end)
        if signal in ENDS:
            break
    return Outcome(provisional, final, resumed, last)


def frames(sound: Samples) -> Iterator[Frame]:
    for index in range(0, len(sound) - BLOCK + 1, BLOCK):
        yield Frame(sound[index : index + BLOCK], index, seconds(index + BLOCK))


def true_end(speech: Samples) -> int:
    blocks = speech[: len(speech) // BLOCK * BLOCK].reshape(-1, BLOCK).astype(np.float64)
    level = 10 * np.log10(np.mean(blocks**2, axis=1) + 1)
    around = np.lib.stride_tricks.sliding_window_view(level, CLICK_BLOCKS)
    floor = max(level.max() - BELOW_PEAK_DB, np.percentile(level, 10) + ABOVE_FLOOR_DB)
    loud = np.flatnonzero(np.median(around, axis=1) > floor)
    return int(loud[-1] + CLICK_BLOCKS // 2 + 1) * BLOCK


def mixed(speech: Samples, noise: Samples | None, snr: float) -> Samples:
    """The recording and its tail; with noise, all of it at this ratio in dB."""
    sound = np.concatenate((speech, np.zeros(TAIL, np.int16))).astype(np.float64)
    if noise is not None:
        added = np.resize(noise, len(sound)).astype(np.float64)
        loud = np.mean(np.square(speech, dtype=np.float64)) / np.mean(added**2)
        sound += added * np.sqrt(loud / 10 ** (snr / 10))
    return np.clip(sound, -32768, 32767).astype(np.int16)


if __name__ == "__main__":
    main()
