"""Differentially private synthetic tables: describe, measure, model, sample. Knows nothing of the web."""

__version__ = "0.1.0"
