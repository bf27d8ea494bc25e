"""Synthetic cities: several tables with keys between them, generated together from the models of releases.

Post-processing of models, so that it costs no privacy. The receipt of a city names the receipts of its
sources by their digests.
"""
