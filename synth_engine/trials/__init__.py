"""Trials on real records for the steward's comparison: models that are trained, and attacks that are tried.

What they return are exact figures of real records: not private, for the data steward alone.
"""
