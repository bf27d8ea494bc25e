"""The stages of a city, in our own words."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

from synthweb.runs.stages import WAIT, Stage

CONNECT = Stage(
    name="connect",
    title=_("Generate and connect the tables"),
    text=_("Rows are drawn from the models of releases; keys, areas and totals connect them."),
)
WRITE_CITY = Stage(
    name="write-city",
    title=_("Write the files"),
    text=_("Parquet, SQLite, DDL and the receipt."),
)
EXPORT_CITY = Stage(
    name="export-city",
    title=_("Write the files for simulations"),
    text=_("MATSim and PopulationSim, if the specification says what a simulation takes."),
)
CITY = (WAIT, CONNECT, WRITE_CITY, EXPORT_CITY)
