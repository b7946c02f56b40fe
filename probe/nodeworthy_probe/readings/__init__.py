"""Turns parsed tool output into the rows of a result, one file per kind of test.

Each function takes the tool's text and what the plan expects, and returns a row for every
expected device and metric: measured or missing.
"""
