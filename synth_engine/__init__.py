"""Differentially private synthetic tables: describe, measure, model, sample. Knows nothing of the web."""

__version__ = "1.0.0.dev0"
