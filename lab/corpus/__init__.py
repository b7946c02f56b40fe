"""A seeded corpus of test results with known truth: healthy nodes, bad nodes, and bad data that is no bad node."""
