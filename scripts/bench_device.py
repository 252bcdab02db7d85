"""All figures of the device, one part after the other; each is a script of its own."""

from importlib import import_module
from pathlib import Path

PARTS = sorted(Path(__file__).parent.glob("bench_device_*.py"))


def main() -> None:
    for part in PARTS:
        module = import_module(part.stem)
        print(f"## {(module.__doc__ or part.stem).partition(chr(10))[0]}\n", flush=True)
        module.run()
        print(flush=True)


if __name__ == "__main__":
    main()
