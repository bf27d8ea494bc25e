"""HTML and JSON without blanks: in long tables and figures they are much of a page. Rows of tables with
thousands of cells are written here, too: a loop of a template takes several times as long."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django import template
from django.core.serializers.json import DjangoJSONEncoder
from django.utils.html import escape, json_script
from django.utils.safestring import SafeString, mark_safe

from synthweb.lib.language import translated, written_number
from synthweb.pages.templatetags.amounts import percent

if TYPE_CHECKING:
    from synth_engine.evaluation.model_histograms import HistogramBar
    from synthweb.releases.look_page import LookCell

register = template.Library()
# Not the narrow blanks within numbers, which \s matches, too, unless it is told to know ASCII alone.
_BLANKS = re.compile(r"\s{2,}|[^\S ]", re.ASCII)  # but for single blanks, which stay
_BEFORE_MARKS = re.compile(r"\s+([.,:;])(?=[\s<]|$)", re.ASCII)


@register.filter
def without_blanks(rendered: SafeString) -> SafeString:
    """Rendered HTML with one blank for several, and none beside tags of cells, rows and lists. For parts in
    which blanks beside tags mean nothing: not for running text with links or emphasis, and not for
    scripts."""
    # The template escaped every value before; blanks alone change here.
    compact = _BLANKS.sub(" ", rendered)
    for tag in "<>":
        compact = compact.replace(f" {tag}", tag).replace(f"{tag} ", tag)
    return mark_safe(compact)  # noqa: S308


class _CompactEncoder(DjangoJSONEncoder):
    """JSON without blanks, and with letters as they are instead of escapes."""

    def __init__(self, **options: Any) -> None:
        options |= {"separators": (",", ":"), "ensure_ascii": False}
        super().__init__(**options)


@register.filter
def joined(rendered: SafeString) -> SafeString:
    """Rendered HTML without blanks before commas, colons, semicolons and full stops, which a template on
    several lines has where they come from another tag than the word before."""
    return mark_safe(_BEFORE_MARKS.sub(r"\1", rendered))  # noqa: S308


@register.filter
def compact_script(value: object, element_id: str) -> SafeString:
    """Like `json_script`, in as few bytes as JSON allows."""
    return json_script(value, element_id, encoder=_CompactEncoder)


@register.filter
def figure_rows(rows: Iterable[Sequence[tuple[object, bool]]]) -> SafeString:
    """The rows of a table of a figure. rows: cells of text and whether it is a number; the last one of a row
    may have a sentence, which is translated. Other cells are names and values of a table."""
    return _rows(map(_figure_cells, rows))


@register.filter
def measure_rows(rows: Iterable[Sequence[tuple[object, bool]]]) -> SafeString:
    """The rows of a table of measures, whose first cells are labels and are translated."""
    return _rows(_cell(translated(str(row[0][0])), "") + _figure_cells(row[1:]) for row in rows)


def _figure_cells(row: Sequence[tuple[object, bool]]) -> str:
    last = len(row) - 1
    return "".join(
        _cell(written_number(str(text)), "number")
        if numeric
        else _cell(_sentence(text) if index == last else text, "words" if index == last else "")
        for index, (text, numeric) in enumerate(row)
    )


def _sentence(text: object) -> str:
    """A sentence in the language of the page; a text without a full stop may be a value."""
    words = str(text)
    return translated(words) if words.endswith(".") else words


@register.filter
def synthetic_rows(rows: Iterable[Sequence[LookCell]]) -> SafeString:
    """Synthetic rows as a file has them; a missing value is a sign of its own."""
    return _rows(
        "".join(
            _cell("∅", "none")
            if cell.text is None
            else _cell(cell.text, "number" if cell.is_number else "")
            for cell in row
        )
        for row in rows
    )


@register.filter
def histogram_rows(bars: Iterable[HistogramBar]) -> SafeString:
    """The bars of a histogram of the model: label, and share in full for who saves it."""
    return _rows(
        f"{_cell(bar.label, '')}"
        f'<td class="number" data-value="{bar.share.value!r}">{escape(percent(bar.share.value))}</td>'
        for bar in bars
    )


def _rows(rows: Iterable[str]) -> SafeString:
    """Rows of cells that are escaped."""
    return mark_safe("".join(f"<tr>{row}</tr>" for row in rows))  # noqa: S308


def _cell(text: object, kind: str) -> str:
    """A cell without a class where it has none. Blanks beside its text mean nothing."""
    # That of Django does the same; it also looks for lazy texts, which makes it three times as slow in tables
    # of thousands of cells.
    escaped = html.escape(str(text).strip())
    return f'<td class="{kind}">{escaped}</td>' if kind else f"<td>{escaped}</td>"
