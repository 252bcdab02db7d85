#!/usr/bin/env python3
"""Train the head of a wake word: make the data, train, choose, export, and write the card.

    python scripts/train_wakeword.py                          # "hey echo", 90 minutes on two cores
    python scripts/train_wakeword.py --phrase "hey computer"  # another phrase
    python scripts/train_wakeword.py --phrase "hey computer" --quick --out /tmp/heads

Needs the optional dependencies `train`, espeak-ng and npm; flite and festival where there are.
A run that was stopped goes on where it was.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the clone's own package, installed or not
os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])  # for the processes it starts
os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process a core, one thread a process
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

from wakeword.pipeline import FULL, QUICK, Run


def main() -> int:
    parser = argparse.ArgumentParser(description="Train the head of a wake word.")
    parser.add_argument("--phrase", default="hey echo", help="what is to wake [hey echo]")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parents[1] / "models",
        help="folder for the head, its figures and its card [models]",
    )
    parser.add_argument(
        "--negatives",
        type=Path,
        action="append",
        default=None,
        metavar="DIR",
        help="folder of recordings without the phrase; may be given more than once",
    )
    parser.add_argument("--quick", action="store_true", help="a minute's training, for trying out")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    run = Run(
        options.phrase,
        plan,
        options.out,
        options.negatives,
        options.jobs,
        options.seed,
    )
    run.everything()
    return 0


if __name__ == "__main__":
    sys.exit(main())
