"""Benchmarks: what the product's judgement is worth and what it costs, each with a dated result."""
