"""`python -m benchmarks` lists the benchmarks; `python -m benchmarks NAME ...` runs one with its own arguments."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent


def names() -> dict[str, str]:
    """Return the benchmarks and what each measures: modules that define `main`, with the first line they say."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not path.name.startswith("_") and "\ndef main(" in text:
            found[path.stem] = text.lstrip('"').partition("\n")[0].strip('"')
    return found


def run(arguments: list[str]) -> int:
    """Run the named benchmark, or list all. Returns the exit status."""
    if not arguments:
        for name, what in names().items():
            sys.stdout.write(f"{name:12} {what}\n")
        return 0
    name, *rest = arguments
    if name not in names() or find_spec(f"benchmarks.{name}") is None:
        sys.stderr.write(f"There is no benchmark {name}: use one of {', '.join(names())}.\n")
        return 2
    return int(import_module(f"benchmarks.{name}").main(rest))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
