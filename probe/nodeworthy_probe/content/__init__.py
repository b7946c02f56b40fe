"""Readers of whole files: one tool's output in, one document (``nodeworthy.parsed/1``) out.

A reader states what stands in the file and what is odd about it, each oddity with a code from a
closed vocabulary. It never says pass or fail: that is the judge's work, on the other side of the
document.
"""
