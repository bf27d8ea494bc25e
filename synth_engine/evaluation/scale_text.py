"""Write numbers of a column's scale for people: values as dates or times where they are, and distances with their unit."""

from __future__ import annotations

import datetime
import math

from synth_engine.codec import value_kind
from synth_engine.domain import Attribute, Date, DateTime, Integer, Scale, ScaleBins
from synth_engine.evaluation.thousands import grouped
from synth_engine.kinds.time_of_day import Time

_DAY_SECONDS = 86_400
_UNITS = ((_DAY_SECONDS, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds"))
_DIGITS = 6
_THOUSAND = 1_000


def number_text(value: float) -> str:
    """A number with thin separators and at most six digits that matter."""
    if abs(value) >= 10**_DIGITS:
        return grouped(value, ",.0f") if abs(value) < 1e15 else f"{value:.6g}"
    if value == round(value):
        return grouped(value, ",.0f")
    if abs(value) >= _THOUSAND:
        return grouped(value, ",.1f")
    return f"{value:.{_DIGITS}g}"


def text_of(attribute: Attribute, value: float) -> str:
    """A value of the column's ladder as people write it."""
    attribute = value_kind(attribute)
    if isinstance(attribute, Date):
        return _day(value).isoformat()
    if isinstance(attribute, DateTime):
        day = _day(value // _DAY_SECONDS)
        clock = datetime.timedelta(seconds=math.floor(value % _DAY_SECONDS))
        moment = datetime.datetime.combine(day, datetime.time()) + clock
        return attribute.formatted(moment)
    if isinstance(attribute, Time):
        hour, minute = divmod(round(value), 60)
        return f"{hour:02}:{minute:02}"
    return number_text(value)


def span_text(attribute: Attribute, value: float) -> str:
    """A distance between values of the column with its unit."""
    attribute = value_kind(attribute)
    if isinstance(attribute, Date):
        return f"{number_text(value)} days"
    if isinstance(attribute, Time):
        return f"{number_text(value)} minutes"
    if isinstance(attribute, DateTime):
        size, name = next((unit for unit in _UNITS if value >= 2 * unit[0]), _UNITS[-1])
        return f"{number_text(value / size)} {name}"
    return number_text(value)


def declared_step(attribute: Attribute) -> float:
    """The distance of neighbouring values that the description declares, on the ladder; 0 for decimals."""
    if isinstance(attribute, Scale | ScaleBins):
        return 0.0 if attribute.of == "number" else float(attribute.step)
    if isinstance(attribute, Integer | Date):
        return 1.0
    if isinstance(attribute, Time):
        return float(attribute.step)
    if isinstance(attribute, DateTime):
        return float(attribute.offset(1)) if attribute.points > 1 else 1.0
    return 0.0


def is_moment(attribute: Attribute) -> bool:
    """Whether values are days or times, which have no zero."""
    return isinstance(value_kind(attribute), Date | DateTime | Time)


def _day(ordinal: float) -> datetime.date:
    first, last = datetime.date.min.toordinal(), datetime.date.max.toordinal()
    return datetime.date.fromordinal(min(max(round(ordinal), first), last))
