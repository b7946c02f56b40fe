"""The virtual fleet: one seeded ground truth, shown through the interfaces that real hardware has.

Production code runs unmodified against it; only addresses differ. `python -m lab up` starts it.
Imports nothing from the product: both meet over real protocols and JSON documents.
"""
