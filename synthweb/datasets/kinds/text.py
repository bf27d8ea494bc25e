"""Made-up texts."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from synth_engine.domain import Text
from synth_engine.kinds.text import CLASSES
from synthweb.datasets.kinds.form import SHARED, KindForm
from synthweb.datasets.kinds.typed import CHECKED, TypedFields
from synthweb.datasets.kinds.unshown import READS, is_not_reading, reading, with_reading


def _text(typed: TypedFields) -> dict[str, object]:
    signs = [each for each in CLASSES if typed.text(each) == CHECKED]
    if typed.text("pattern"):
        if signs or any(typed.text(key) for key in ("min_length", "max_length", "leading")):
            raise typed.wrong(
                "both a pattern and lengths or kinds of signs are given",
                "keep one of them",
                "pattern",
            )
        return {"pattern": typed.text("pattern")}
    if not signs:
        raise typed.wrong(
            "no kind of sign is ticked",
            "tick those that the texts are made of, or give a pattern",
            CLASSES[0],
        )
    return {
        "min_length": typed.whole("min_length") if typed.text("min_length") else 1,
        "max_length": typed.whole("max_length"),
        "signs": signs,
        "leading": typed.text("leading") == CHECKED,
        **reading(typed),
    }


def _summary(attribute: Text) -> str:
    return attribute.words


FORM = KindForm(
    kind="text",
    label=_("Text, made up"),
    position=90,
    fields=("min_length", "max_length", *CLASSES, "leading", "pattern", READS, *SHARED),
    as_typed=with_reading,
    is_shown=is_not_reading,
    document=_text,
    summary=_summary,
    outsides={"clamp": "counts as the nearest length", "missing": "counts as missing"},
    inputs={"signs": CLASSES[0]},
    labels={
        "min_length": (_("Shortest"), _("Signs in a text. Empty: 1.")),
        "pattern": (
            _("or a pattern"),
            _("# a digit, @ a capital letter, * either; then no length is kept."),
        ),
    },
)
