"""Figures of the real table that a validation can have measured, for `Release.validate`."""

from __future__ import annotations

from collections.abc import Mapping

Asked = Mapping[str, object]
"""One figure as the server reads it."""


def count(*where: str) -> Asked:
    """The number of records that meet conditions on one to three columns, such as "region=north|south"."""
    return {"kind": "count", "where": list(where)}


def marginal(*columns: str) -> Asked:
    """The table of counts of one to three columns."""
    return {"kind": "marginal", "columns": list(columns)}


def distance(*columns: str) -> Asked:
    """The total variation distance of one to three columns from the synthetic table."""
    return {"kind": "distance", "columns": list(columns)}


def mean_distance(*columns: str) -> Asked:
    """The mean distance of all pairs of two or more columns."""
    return {"kind": "mean-distance", "columns": list(columns)}


def ks(column: str) -> Asked:
    """The Kolmogorov-Smirnov distance of a column whose values have an order."""
    return {"kind": "ks", "columns": [column]}


def auc(where: str, *columns: str) -> Asked:
    """The area under the curve of a classifier that is trained on the synthetic table and tested on the real
    one: it predicts a condition, such as "works=yes", from one to three columns."""
    return {"kind": "auc", "columns": list(columns), "where": [where]}


def accuracy(where: str, *columns: str) -> Asked:
    """The share of real records that such a classifier is right about."""
    return {"kind": "accuracy", "columns": list(columns), "where": [where]}


def counts_within(*columns: str, least: int, within: str) -> Asked:
    """How many counts of one to three columns are near the real ones, of those of at least so many records.
    within: a share as text, such as "0.05"."""
    return {"kind": "counts", "columns": list(columns), "least": least, "within": within}


def worst_groups(*columns: str, size: int = 1, tables: int = 1) -> Asked:
    """The groups of records, by the values of one or two (`size`) of the columns, whose numbers in the real
    and in the synthetic table differ most. tables: how many tables of so many columns are chosen and counted,
    up to five."""
    return {"kind": "worst-groups", "columns": list(columns), "size": size, "tables": tables}
