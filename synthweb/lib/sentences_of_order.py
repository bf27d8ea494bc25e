"""Patterns of what has to be done before something else, rule and repair in one sentence, as `sentences` has
them for other texts. Names, codes and numbers are fields, and stay as they are."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

PATTERNS: tuple[str, ...] = (
    # a table, its description and its budget
    _("this dataset has no confirmed description; describe its columns and confirm"),
    _("this dataset has no privacy budget; ask a custodian for one"),
    _("this dataset was deleted; choose another one"),
    _("the table of this dataset is not read yet; wait until its status is ready"),
    _("the table of this dataset was refused; mend it and upload it again"),
    _("the table was deleted; upload it again as a new dataset"),
    _("nobody has said about how many records this table has; say whether they are hundreds, thousands, "
    "tens of thousands or more: `records`, the low end of that"),
    _("the release was made under another description than the one in force; make a release under the "
    "description in force, and check that one"),
    # a description that is bought once
    _("the description has changed meanwhile; look at it and ask again"),
    _("a run has learned the column %(name)s already; use what it learned, or type other facts"),
    _("a run is about to learn the column %(name)s; wait until it is finished"),
    # several tables
    _("this is a table of the database of %(name)s; make a release of all of its tables together, from the "
    "page of that dataset"),
    _("this is a table of a database, whose columns are all declared; describe its columns"),
    _("the tables of this database are not connected yet; say their keys and confirm"),
    _("the table %(name)s is not read, was refused or was deleted; wait until its status is ready, or "
    "upload a corrected file"),
    _("the keys of the tables were not checked, or a check found what has to be mended; have the keys "
    "checked on the page of the tables"),
    # two owners
    _("the other side has not accepted the link yet; wait until it does"),
    _("this is another agreement than the one that you have read; read the agreement again"),
    _("a table of this link is described otherwise now, or has another budget; withdraw this link, and "
    "agree on another one"),
    _("the other side cannot make its sketch: its budget has too little left, or its table or description "
    "has changed; ask its steward, or withdraw the link"),
    _("joined tables need the estimate, and a release of each side; wait for both sketches, and have each "
    "side choose a release"),
    _("this is no release of your table under the description that was agreed on; choose one of its "
    "releases, or make one"),
    _("a side has more than %(number)s records; draw the tables with the command line, from both models"),
    # filled counts
    _("this is another plan than the one that you have read; read it again"),
    _("You approved this already, and two custodians approve exact counts; ask another custodian"),
    _("A reason is needed; say why, in a sentence"),
    _("the table is described otherwise now, or has another budget; refuse this, and have its steward ask "
    "again"),
    _("filled counts of the same people exist already: %(name)s (%(code)s); differences of two such tables "
    "show single records; use those, or make a private release, of which there may be many"),
)  # fmt: skip
