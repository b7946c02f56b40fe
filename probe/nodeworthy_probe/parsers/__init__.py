"""Readers of real tool output: text in, rows out, no side effects.

Each fails closed: a cut, garbled or contradictory output yields a problem, never a row that
looks whole.
"""
