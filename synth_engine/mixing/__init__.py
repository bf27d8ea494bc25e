"""Mixing of real and synthetic records: counts that are filled to a policy, and weights of synthetic rows
that meet public totals.

Filled counts are *not* differentially private: groups that meet the policy are published as they are
(docs/mixing.md).
"""
