"""Sentences with numbers and names, which the engine and the log of runs compose in English, translated by
their patterns.

A pattern is a message of the catalogue whose fields are `%(field)s`. A text that matches one as a whole is
shown as the translated pattern with the same fields. A field whose name ends in `_text` is a message or a
sentence itself, one in `_names` is a list of messages, one in `_and` has "and" between some, one in `_parts`
is a list of sentences between semicolons, and one in `_cells` has "and" between cells; numbers are written as
the language writes them; every other field, such as the name of a column or a value, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from django.utils import translation
from django.utils.translation import gettext_noop as _

from synthweb.lib import sentences_of_drafts, sentences_of_order

AXIS_TITLES: tuple[str, ...] = (
    _("mean of %(column)s"),
    _("average commute, %(unit)s"),
    _("error of the average, %(unit)s"),
    _("synthetic minus real, ±%(number)s points of 100"),
    _("%(number)s of 100 start and end at one place"),
    _("↑ %(value)s: %(real)s / %(synthetic)s"),
    _("kilometres between %(first)s and %(second)s"),
    _("miles between %(first)s and %(second)s"),
)
"""Titles of the axes of figures that have names, units or numbers in them."""
LEVEL = (
    r"(?:No difference to speak of|Small difference|Clear difference|Large difference|Cannot be "
    r"judged|Damaged)"
)
THINGS = r"(?:columns|(?:pairs|triples) of columns|tables of [0-9]+ columns)"
RELATIONS = r"[0-9]+ pairs? of columns .+?"

PATTERNS: tuple[str, ...] = (
    # guarantees
    _("(epsilon = %(epsilon)s, delta = %(delta)s) differential privacy for %(unit_text)s added or removed."),
    _("(epsilon = %(epsilon)s, delta = %(delta)s) differential privacy for %(unit_text)s replaced."),
    _("epsilon = %(epsilon)s differential privacy for %(unit_text)s added or removed."),
    _("epsilon = %(epsilon)s differential privacy for %(unit_text)s replaced."),
    _("one person, at most %(rows)s rows"),
    # verdicts of a comparison
    _("%(level_text)s: %(share_text)s of 100 records would have to change (about %(chance_text)s by chance "
    "alone)."),
    _("%(level_text)s: %(share_text)s of 100 records would have to change."),
    _("%(level_text)s: %(share_text)s of 100 last digits would have to change (about %(chance_text)s by "
    "chance alone)."),
    _("%(level_text)s: %(share_text)s of 100 last digits would have to change."),
    _("%(level_text)s: the values are up to %(share_text)s of 100 records apart (about %(chance_text)s by "
    "chance alone); %(found_parts)s."),
    _("%(level_text)s: the values are up to %(share_text)s of 100 records apart; %(found_parts)s."),
    _("%(level_text)s: the curves are up to %(share_text)s of 100 records apart (about %(chance_text)s by "
    "chance alone)."),
    _("%(level_text)s: means within groups are %(gap)s standard deviations apart on average (about "
    "%(chance)s by chance alone)."),
    _("%(level_text)s: an average record would have to be moved by at most %(far)s (%(chance)s in a plain "
    "resample of the real records)."),
    _("%(level_text)s: in %(kept)s of %(all)s pairs of columns, means within groups are kept or differ "
    "slightly; most different: %(column)s where %(by)s is %(value)s, %(real)s real, %(synthetic)s "
    "synthetic."),
    _("%(level_text)s: in %(kept)s of %(all)s pairs of columns, means within groups are kept or differ "
    "slightly."),
    _("%(level_text)s: %(kept)s of %(all)s %(things_text)s are kept, %(damaged)s damaged, %(unseen)s "
    "cannot be judged; worst: %(worst)s."),
    _("%(level_text)s: %(kept)s of %(all)s %(things_text)s are kept, %(damaged)s damaged; worst: %(worst)s."),
    _("%(level_text)s: %(kept)s of %(all)s %(things_text)s are kept, %(unseen)s cannot be judged; worst: "
    "%(worst)s."),
    _("%(level_text)s: %(kept)s of %(all)s %(things_text)s are kept; worst: %(worst)s."),
    _("%(level_text)s: %(kept)s of %(all)s %(things_text)s are kept."),
    _("%(level_text)s: %(relations_text)s; worst: %(worst)s."),
    _("%(level_text)s: %(relations_text)s."),
    _("%(column)s: %(verdict_text)s"),
    _('%(level_text)s: %(share_text)s of 100 synthetic cells are "(other)", which the real table does not '
    'have.'),
    _("%(level_text)s: %(real_text)s of 100 real and %(synthetic_text)s of 100 synthetic cells are missing."),
    _("Damaged: the real table has values in this column, and the synthetic one has none."),
    _("Damaged: the synthetic table has values in this column, and the real one has none."),
    _("All synthetic values that were compared occur in the real table."),
    _("median %(real)s real, %(synthetic)s synthetic"),
    _("mean %(real)s real, %(synthetic)s synthetic, the total of as many values %(change)s"),
    _("mean %(real)s real, %(synthetic)s synthetic"),
    _("the highest hundredth begins at %(real)s real, %(synthetic)s synthetic"),
    _("the lowest hundredth ends at %(real)s real, %(synthetic)s synthetic"),
    _("%(share_text)s of 100 synthetic values occur nowhere in the real table"),
    _("%(share_text)s of 100 synthetic values lie beyond all real ones"),
    # values outside the axis of a figure
    _("Not on the axis: %(first_text)s; %(second_text)s."),
    _("Not on the axis: %(first_text)s."),
    _("%(real_text)s of 100 real and %(synthetic_text)s of 100 synthetic values lie below %(end)s"),
    _("%(real_text)s of 100 real and %(synthetic_text)s of 100 synthetic values lie above %(end)s"),
    _("%(real_text)s of 100 real values lie below %(end)s"),
    _("%(real_text)s of 100 real values lie above %(end)s"),
    _("%(synthetic_text)s of 100 synthetic values lie below %(end)s"),
    _("%(synthetic_text)s of 100 synthetic values lie above %(end)s"),
    # parts of these
    _("pairs of columns"),
    _("triples of columns"),
    _("tables of %(number)s columns"),
    _("1 pair of columns goes together in the real table, %(kept)s of them in the synthetic one; in the "
    "synthetic one alone: %(invented)s"),
    _("1 pair of columns goes together in the real table, %(kept)s of them in the synthetic one"),
    _("%(real)s pairs of columns go together in the real table, %(kept)s of them in the synthetic one; in "
    "the synthetic one alone: %(invented)s"),
    _("%(real)s pairs of columns go together in the real table, %(kept)s of them in the synthetic one"),
    _("1 pair of columns is correlated in the real table, %(kept)s of them in the synthetic one; in the "
    "synthetic one alone: %(invented)s"),
    _("1 pair of columns is correlated in the real table, %(kept)s of them in the synthetic one"),
    _("%(real)s pairs of columns are correlated in the real table, %(kept)s of them in the synthetic one; "
    "in the synthetic one alone: %(invented)s"),
    _("%(real)s pairs of columns are correlated in the real table, %(kept)s of them in the synthetic one"),
    _("fewer than %(number)s"),
    _("No difference to speak of"),
    _("Small difference"),
    _("Clear difference"),
    _("Large difference"),
    _("Cannot be judged"),
    _("Damaged"),
    _("Kept."),
    _("Lost: the synthetic table shows little of this dependence."),
    _("Invented: the real table shows little of this dependence."),
    _("Slightly weaker in the synthetic table."),
    _("Slightly stronger in the synthetic table."),
    _("Clearly weaker in the synthetic table."),
    _("Clearly stronger in the synthetic table."),
    _("Much weaker in the synthetic table."),
    _("Much stronger in the synthetic table."),
    _("Slightly different: it has the other sign in the synthetic table."),
    _("Clearly different: it has the other sign in the synthetic table."),
    _("Much different: it has the other sign in the synthetic table."),
    _("Most different: %(column)s where %(by)s is %(value)s, %(real)s real, %(synthetic)s synthetic."),
    _("%(common)s of %(all)s edges of the real table are in both networks"),
    _("%(score)s of 1000 in tables of %(columns)s columns. %(verdict_text)s"),
    _("Lowest of %(groups)s groups beyond chance: %(column)s is %(value)s and %(other)s is %(second)s, "
    "%(score)s of 1000 (about %(chance)s by chance alone), most in %(worst)s."),
    _("Lowest of %(groups)s groups beyond chance: %(column)s is %(value)s, %(score)s of 1000 (about "
    "%(chance)s by chance alone), most in %(worst)s."),
    _("Different values: %(real)s real, %(synthetic)s synthetic. %(share)s of 100 synthetic values do not "
    "occur in the real table."),
    _("Different values: %(real)s real, %(synthetic)s synthetic."),
    _("The values of %(column)s differ most: up to %(share)s of the records are apart; %(medians_text)s."),
    _("Of %(column)s, %(share)s of 100 synthetic values do not occur in the real table."),
    # attacks that were tried
    _("These are lower bounds: what some attacks found with the means of today, never the guarantee. A "
    "better attack may find more; what bounds all attacks is ε and δ on the receipt."),
    _("These are lower bounds: what some attacks found with the means of today, never the guarantee. A "
    "better attack may find more; what bounds all attacks is ε and δ on the receipt. %(notes_text)s"),
    _("Shadow models: %(tables)s small tables were released by the method of this release; epsilon and "
    "delta allow at most %(share)s right answers."),
    _("Shadow models: %(reason)s, so that they were not tried."),
    _("✓ no sign of a leak: %(what_text)s."),
    _("△ a sign of a leak, which may be chance: %(what_text)s."),
    _("✖ a leak: %(what_text)s."),
    _("✓ no sign of a leak."),
    _("△ a sign of a leak, which may be chance."),
    _("✖ a leak."),
    _("attribute inference: %(column)s"),
    _("No attack found more than its control. Lower bounds, never the guarantee."),
    _("A leak: %(attack_names)s. Lower bounds, never the guarantee."),
    _("A sign of a leak, which may be chance: %(attack_names)s. Lower bounds, never the guarantee."),
    _("Highest for %(column)s: right in %(share)s of records, %(control)s with the control. Lower bounds, "
    "never the guarantee."),
    # titles, captions and labels
    _("k-marginal score, %(columns)s columns"),
    _("Distance of %(first)s and %(second)s"),
    _("Texts of %(column)s"),
    _("Places: %(columns)s"),
    _("Mean of %(column)s by %(by)s"),
    _("Values of %(column)s"),
    _("All measures of %(column)s"),
    _("Records by %(column)s, of those with %(place)s in the square"),
    _("Records by %(column)s"),
    _("Records with %(value)s"),
    _("How far those go who start within %(place)s"),
    _("%(title_text)s, strongest first"),
    _("%(title_text)s, worst first"),
    _("Means within groups, the most different first"),
    _("Columns of values, real and synthetic"),
    _("Columns without a scale, real and synthetic"),
    _("Numeric columns, real and synthetic"),
    _("Last digits and round numbers of every column"),
    _("k-marginal scores by number of columns"),
    _("Groups with the lowest scores"),
    _("Single columns"),
    _("Pairs of columns"),
    _("Triples of columns"),
    _("Dependence"),
    _("Edges"),
    _("Left out of the comparison"),
    _("Different values"),
    _("The same by chance"),
    _("Beyond the declared bounds"),
    _("Values that are not in the real table"),
    _("most frequent: %(shares)s"),
    _("Most changed: %(columns)s, %(change)s. From %(retained)s of %(records)s real records"),
    _("Strongest: %(columns)s, %(strength)s. From %(retained)s of %(records)s real records"),
    _("Most changed: %(columns)s, %(change)s"),
    _("Strongest: %(columns)s, %(strength)s"),
    # values of columns
    _("%(number)s values: %(values)s and %(others)s more, any other"),
    _("%(number)s values: %(values)s and %(others)s more"),
    _("%(number)s values: %(values)s, any other"),
    _("%(number)s values: %(values)s"),
    _("%(number)s items: %(values)s and %(others)s more"),
    _("%(number)s items: %(values)s"),
    _("%(low)s to %(high)s, %(number)s bins"),
    _("%(low)s to %(high)s, each value"),
    _("%(low)s to %(high)s, one bin"),
    _("%(low)s to %(high)s, each day"),
    _("%(low)s to %(high)s, steps of %(days)s days"),
    _("%(low)s to %(high)s at the widest, up to %(number)s bins found with budget"),
    _("%(low)s to %(high)s, each minute"),
    _("found with budget among %(number)s public values"),
    _("not modelled, not in the release"),
    _("not modelled; generated as UUIDs"),
    _("not modelled; generated by counting from 1"),
    _("not modelled; generated by counting by %(pattern)s"),
    _("not modelled; generated by %(pattern)s"),
    _("not modelled; computed as %(sentence)s"),
    # how a file is written
    _("%(encoding)s, %(sign_text)s between cells, double quotation marks, the first line names the columns"),
    _("comma"),
    _("semicolon"),
    _("tab"),
    _("A run of this dataset is not over; wait for it or cancel it first."),
    # a map of points
    _("Where they lie"),
    _("Where the codes of this table lie: longitude to the right, latitude upwards."),
    _("A degree of longitude is drawn as long as it is at the middle latitude, so that shapes are true "
    "nearby. If the shape is not the place you know, coordinates are wrong or swapped."),
    _("%(number)s points"),
    _("The first %(shown)s of %(number)s codes"),
    # how many records a forecast is for
    _("the low end of what was stated"),
    _("the number that was stated"),
    _("the public number of records"),
    _("the noisy number of an earlier release"),
    # the log of a run
    _("An error of kind %(kind)s stopped the worker."),
    _("Submitted; the price is held."),
    _("The release is ready."),
    _("The figures are ready."),
    _("Failed. %(reason_text)s"),
    # a budget over time
    _("%(letter)s %(charged)s charged, %(held)s held, %(free)s free of %(granted)s"),
    # why a price would not be held
    _("This year %(left)s may still be taken of the account, and this costs %(price)s; spend less, wait "
    "for the next year, or ask a custodian to raise the limit"),
    _("Of what is left %(amount)s is set aside; spend less, name what it is set aside for, or ask a "
    "custodian to free it"),
    _("Of what is set aside for this, %(left)s is left; spend less, pay from what is free, or ask a "
    "custodian to set more aside"),
    _("There is no such part of the budget, or nothing of it is left; choose another, or pay from what is "
    "free"),
    *AXIS_TITLES,
    *sentences_of_drafts.PATTERNS,
    *sentences_of_order.PATTERNS,
)  # fmt: skip
"""The first one that matches counts, so that a longer pattern stands before one that it contains."""

NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?%?")
AMOUNT = re.compile(r"[ερδ] [0-9.e-]+(?:, [ερδ] [0-9.e-]+)*")
SHARE = re.compile(r"[0-9]+\.[0-9]+(?= %)")
_FIELD_PATTERNS = {
    "level_text": LEVEL,
    "verdict_text": rf"{LEVEL}: .+",
    "things_text": THINGS,
    "relations_text": RELATIONS,
}
_FIELD = re.compile(r"%\((\w+)\)s")


def _matcher(pattern: str) -> re.Pattern[str]:
    """The texts of a pattern; a field has at least one character."""
    parts = _FIELD.split(pattern)
    literal, fields = parts[::2], parts[1::2]
    source = re.escape(literal[0])
    for field, following in zip(fields, literal[1:], strict=True):
        source += f"(?P<{field}>{_FIELD_PATTERNS.get(field, '.+?')}){re.escape(following)}"
    return re.compile(source, re.DOTALL)


_MATCHERS = tuple(
    (pattern, _matcher(pattern)) for pattern in PATTERNS if _FIELD.search(pattern)
)


@lru_cache(maxsize=10_000)
def fields_of(text: str) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """The pattern that a text is composed by, with its fields; None for another text."""
    for pattern, matcher in _MATCHERS:
        if match := matcher.fullmatch(text):
            return pattern, tuple(match.groupdict().items())
    return None


def _shown(name: str, value: str, message: Callable[[str], str]) -> str:
    if name.endswith("_names"):
        return ", ".join(message(part) for part in value.split(", "))
    if name.endswith("_and"):
        both = f" {translation.gettext('and')} "
        return both.join(message(part) for part in value.split(" and "))
    if name.endswith("_cells"):
        return value.replace("” and “", f"” {translation.gettext('and')} “")
    if name.endswith("_parts"):
        return "; ".join(message(part) for part in value.split("; "))
    return message(value) if name.endswith("_text") else value


def translated_sentence(
    text: str, *, message: Callable[[str], str], number: Callable[[str], str]
) -> str:
    """A text that a pattern composes, in the language of the page; any other one as it is. message:
    translates a field that is a text itself; number: writes one."""
    composed = fields_of(text)
    if composed is None:
        return text
    pattern, fields = composed
    shown = {}
    for name, value in fields:
        if NUMBER.fullmatch(value) or AMOUNT.fullmatch(value):
            shown[name] = number(value)
        elif name == "shares":
            shown[name] = SHARE.sub(lambda share: number(share[0]), value)
        else:
            shown[name] = _shown(name, value, message)
    return translation.gettext(pattern) % shown
