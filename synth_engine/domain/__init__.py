"""The public description of a table: what may be known about it without looking at any row.

Everything here is public or paid for. Each fact carries where it comes from (`Provenance`); facts *suggested*
by the table itself are for the steward's eyes and refused by `Domain.require_confirmed` until somebody
vouches for them.

`Domain.from_json` reads the full document (`docs/domain.schema.json`) and the shorthand `{"column": size}`.
"""

from __future__ import annotations

from synth_engine.domain.constraints import (
    Constraint,
    Dependency,
    ExistingPairs,
    Impossible,
    MissingIff,
    Order,
)
from synth_engine.domain.document import SCHEMA_NAME, Domain, read
from synth_engine.domain.enforcement import FineComponent, LeftOut
from synth_engine.domain.file_form import FileForm
from synth_engine.domain.invariant_totals import Totals
from synth_engine.domain.multiplicity import Repeats
from synth_engine.domain.partitions import Partition
from synth_engine.domain.places import Place
from synth_engine.domain.points import PointSet
from synth_engine.domain.purchases import Purchase
from synth_engine.domain.schema import SCHEMA
from synth_engine.domain.sources import Source
from synth_engine.kinds import parse_attribute
from synth_engine.kinds.attribute import MAX_CODES, MISSING, OTHER, Attribute
from synth_engine.kinds.basket import Basket, Baskets, WeakBasket
from synth_engine.kinds.boolean import Boolean
from synth_engine.kinds.categorical import MAX_PLACED_CODES, Categorical
from synth_engine.kinds.date import Date
from synth_engine.kinds.date_time import DateTime
from synth_engine.kinds.derived import Derived
from synth_engine.kinds.facts import PROVENANCES, Provenance
from synth_engine.kinds.identifier import Identifier
from synth_engine.kinds.integer import Integer
from synth_engine.kinds.not_found import NotFound
from synth_engine.kinds.number import Number
from synth_engine.kinds.range import Range
from synth_engine.kinds.scale import Scale
from synth_engine.kinds.scale_bins import ScaleBins
from synth_engine.kinds.text import Text
from synth_engine.kinds.undeclared import Undeclared
from synth_engine.kinds.weak import Weak

__all__ = [
    "MAX_CODES",
    "MAX_PLACED_CODES",
    "MISSING",
    "OTHER",
    "PROVENANCES",
    "SCHEMA",
    "SCHEMA_NAME",
    "Attribute",
    "Basket",
    "Baskets",
    "Boolean",
    "Categorical",
    "Constraint",
    "Date",
    "DateTime",
    "Dependency",
    "Derived",
    "Domain",
    "ExistingPairs",
    "FileForm",
    "FineComponent",
    "Identifier",
    "Impossible",
    "Integer",
    "LeftOut",
    "MissingIff",
    "NotFound",
    "Number",
    "Order",
    "Partition",
    "Place",
    "PointSet",
    "Provenance",
    "Purchase",
    "Range",
    "Repeats",
    "Scale",
    "ScaleBins",
    "Source",
    "Text",
    "Totals",
    "Undeclared",
    "Weak",
    "WeakBasket",
    "parse_attribute",
    "read",
]
