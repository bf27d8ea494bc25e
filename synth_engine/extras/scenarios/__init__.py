"""Test data that are wrong on purpose: unfair, shifted or faulty tables from a model, with a record of every
change.

Post-processing of a model or a description, so that it costs no privacy. What comes out is no release: it
says so, and names what was altered.
"""
