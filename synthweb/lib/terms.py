"""Technical words with one explanation each, shown wherever a page uses them. The words are those of
docs/glossary.md."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

TERMS = {
    "epsilon": (
        "ε",
        _(
            "The privacy loss: how much more likely any conclusion about one person becomes by what is "
            "released, at most by the factor e to the power of ε. Smaller protects better."
        ),
    ),
    "delta": ("δ", _("The chance that the bound of ε does not hold. It has to be tiny.")),
    "rho": ("ρ", _("The privacy loss under zCDP. With a δ it can be converted to an ε.")),
    "zcdp": (
        "zCDP",
        _("A rule by which losses add up as ρ. It pays for more releases than adding ε and δ."),
    ),
    "basic": (_("basic"), _("The rule by which the ε and δ of releases are simply added.")),
    "budget": (_("budget"), _("The privacy loss that a custodian has granted to a dataset.")),
    "cap": (
        _("cap"),
        _("The largest loss that an account may ever be charged. It never shrinks."),
    ),
    "held": (_("held"), _("Reserved for a run that has not drawn any noise yet.")),
    "charged": (_("charged"), _("Spent: noise was drawn. It never comes back.")),
    "unit": (
        _("privacy unit"),
        _("Who is protected: one record, or one person with a largest number of records."),
    ),
    "relation": (
        _("neighbouring relation"),
        _("What one unit more or less means: it is added or removed, or replaced by another."),
    ),
    "ledger": (
        _("ledger"),
        _("All budget accounts with their entries, which are never changed or deleted."),
    ),
    "chain": (
        _("hash chain"),
        _(
            "Each entry contains the hash of the one before, so that a change of any is detected."
        ),
    ),
    "checkpoint": (
        _("signed checkpoint"),
        _("The last hash of a chain, signed. Whoever keeps it can prove a later change."),
    ),
    "release": (
        _("release"),
        _(
            "What a run publishes: a noisy model, from which synthetic tables are drawn, and its receipt."
        ),
    ),
    "receipt": (
        _("receipt"),
        _("The document from which anybody can recompute the guarantee of a release."),
    ),
    "method": (
        _("method"),
        _(
            "How a run spends its privacy loss: what it asks, with which noise, and which model it fits."
        ),
    ),
    "guarantee": (
        _("guarantee"),
        _(
            "What holds whatever anybody knows or does: the privacy loss ε, and δ, the chance that it does "
            "not hold."
        ),
    ),
    "description": (
        _("description"),
        _("What is public about a table: its columns with their values, and who is protected."),
    ),
    "constraint": (
        _("constraint"),
        _("A public rule that every record obeys. Every synthetic table obeys it, too."),
    ),
    "undeclared": (
        _("undeclared"),
        _("A column whose values are not described yet. A run learns them, and pays for it."),
    ),
    "prior": (
        _("prior"),
        _("Public pseudo-counts that are added to the records of a group before resampling."),
    ),
    "forecast": (
        _("forecast"),
        _("What a release will tell of each column and of relations, from public facts alone."),
    ),
    "distance": (
        _("distance"),
        _(
            "The total variation between two tables of shares: the share of records that would have to "
            "change for both to be equal. 0: equal, 1: nothing in common."
        ),
    ),
    "answers": (
        _("noisy answer"),
        _(
            "A count with noise, all that a run takes from the table. The model is fitted to these alone."
        ),
    ),
}
"""key → (word, explanation)."""
