"""Fake command-line tools of a GPU node, each in the real tool's output format.

A tool is a pure function from a node view to what it prints; one runner reads the view, waits
as long as the real tool would (divided by the lab's speed), plays the tool faults and prints.
Everything here starts with ``python -I -S`` and imports only the standard library.
"""
