"""The Nodeworthy probe: runs a test plan on a node and writes down what it saw.

It measures and never decides. Whatever it could not measure is a row that says so; nothing is
ever filled in. The documents it reads and writes are described in ``include/schemas``.
"""

__version__ = "0.1.0"
