"""`python -m stack demo|up|down|status`."""

from __future__ import annotations

import argparse
from pathlib import Path

from stack.layout import DEFAULT_ROOT
from stack.services import Stack


def main() -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="stack", description=__doc__)
    parser.add_argument("command", choices=("demo", "up", "down", "status"))
    parser.add_argument("--root", type=Path, default=DEFAULT_ROOT, help="folder of everything the stack writes")
    parser.add_argument("--detach", action="store_true", help="leave the UI running in the background")
    given = parser.parse_args()
    if given.command == "demo":
        from stack.demo import demo

        return demo(given.root, detach=given.detach)
    stack = Stack(given.root)
    if given.command == "up":
        stack.up()
        print(f"Airflow is up at {stack.layout.url}, password {stack.layout.password}.")
    elif given.command == "down":
        stack.down()
        print(f"Everything has ended; what was written stays in {given.root}.")
    else:
        for group in stack.groups.all():
            print(f"{group.name:15} {group.pid:8} {'running' if group.alive() else 'ended'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
