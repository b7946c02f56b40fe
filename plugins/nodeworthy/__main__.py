"""`python -m nodeworthy`: the command line."""

from nodeworthy.ui.command import main

if __name__ == "__main__":
    raise SystemExit(main())
