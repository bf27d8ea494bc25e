"""Declared constraints, enforced in what is drawn: in a model's tables, in drawn records, in drawn values.

All of it is post-processing of noisy answers by public facts; nothing here sees a row of a real table."""
