"""`python -m lab`: starts, stops, watches and disturbs the virtual fleet."""

import sys

from lab.cli import main

if __name__ == "__main__":
    sys.exit(main())
