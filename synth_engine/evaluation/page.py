"""A report as one HTML file that needs nothing beside it: no server, no network. It follows the reader's
colour scheme, prints, and carries the red bar on the screen and on paper where the report is not private."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from synth_engine.evaluation import cards, style, view
from synth_engine.evaluation.plots import Report
from synth_engine.evaluation.thousands import grouped

ASSETS = Path(__file__).with_name("assets")
PLOTLY = ASSETS / "plotly" / "plotly-figures.min.js"
"""The drawing library with the traces that figures use; pages of the application load the same file
(static/vendor/README.md)."""


def html(report: Report, *, title: str = "Real and synthetic data compared") -> str:
    """The file, about 2 MB: most of it is Plotly, with the traces that figures use."""
    shown = view.lay_out(report)
    drawings = {
        card.key: card.figure for part in shown.sections for card in part.cards if card.figure
    }
    # "</" and "<!--" would end or confuse the script element that carries the numbers.
    # JSON has no NaN: a browser would refuse the whole document, so an error here is better.
    numbers = json.dumps(drawings, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    properties = json.dumps({tone.light: f"--{name}" for name, tone in style.TONES.items()})
    sections = "".join(_section(part) for part in shown.further)
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            (
                '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" '
                'content="no-referrer">'
            ),
            (
                f"<title>{escape(title)}</title><style>{_tones()}"
                f"{(ASSETS / 'page.css').read_text('utf-8')}</style></head><body>"
            ),
            _red(f"{shown.red}. Do not share this file.") if shown.red else "",
            (
                f"<main><h1>{escape(title)}</h1>{_outside(report)}{_head(shown)}{_columns(shown)}{sections}{_rows(shown)}"
                f"{_left_out(shown)}</main>"
            ),
            (
                '<script type="application/json" id="figures" '
                f'data-tones="{escape(properties)}">{numbers}</script>'
            ),
            # The library is in the file: a page that fetched it would tell a server who reads
            # the report.
            (
                f"<script>{PLOTLY.read_text('utf-8')}</script><script>"
                f"{(ASSETS / 'page.js').read_text('utf-8')}</script></body></html>"
            ),
        ]
    )


def _tones() -> str:
    """The style sheet of the tones: dark where the reader's colour scheme is, but never on paper."""
    dark = f":root:not([data-paper]) {{ {style.declarations('dark')} }}"
    return f":root {{ {style.declarations('light')} }} @media (prefers-color-scheme: dark) {{ {dark} }}\n"


def _outside(report: Report) -> str:
    """That the synthetic table was made elsewhere, and what that means."""
    stated = report.get("outside")
    if stated is None:
        return ""
    return (
        f'<p class="verdict" id="outside"><strong>Synthetic table of unknown privacy: '
        f"{escape(stated['made_by'])}.</strong> {escape(stated['notice'])}.</p>"
    )


def _head(shown: view.Comparison) -> str:
    tiles = "".join(
        f'<div class="tile"><dt>{escape(tile.title)}</dt><dd class="value">{escape(tile.value)}</dd>'
        f'<dd><span aria-hidden="true">{tile.mark}</span> {escape(tile.words)}</dd></div>'
        for tile in shown.tiles
    )
    reading = shown.reading["summary"]
    return (
        f'<p class="soft">{escape(shown.notice)}.</p>'
        f'<p><span class="key"></span>real, {grouped(shown.rows_real)} records<span class="key '
        'synthetic"></span>'
        f"synthetic, {grouped(shown.rows_synthetic)} records</p>"
        f'<p class="verdict"><span aria-hidden="true">{shown.overall.mark}</span> <strong>Worst part: '
        f"{escape(shown.overall.title)}.</strong> {escape(shown.overall.words)}</p><dl "
        f'class="tiles">{tiles}</dl><p class="soft">{escape(reading["what"])} {escape(reading["how"])}</p>'
    )


def _columns(shown: view.Comparison) -> str:
    strip = "".join(
        f'<li><a href="#{thumb.target}"><span class="head"><span class="name">{escape(thumb.name)}</span>'
        f'<span class="distance"><span aria-hidden="true">{thumb.mark}</span> {thumb.distance}</span></span>'
        f"{thumb.picture}</a></li>"
        for thumb in shown.strip
    )
    large = "".join(_card(card) for card in shown.histograms)
    return f'<h2>Columns, worst first</h2><ul class="strip">{strip}</ul><div class="wide">{large}</div>'


def _section(part: view.PageSection) -> str:
    cards = "".join(_card(card) for card in part.cards)
    verdict = f'<p class="verdict">{escape(part.verdict)}</p>' if part.verdict else ""
    layout = "cards" if part.section.layout == "maps" else "wide"
    return f'<h2>{escape(part.section.title)}</h2>{verdict}<div class="{layout}">{cards}</div>'


def _left_out(shown: view.Comparison) -> str:
    return f"<h2>Left out</h2>{_table(shown.left_out)}" if shown.left_out else ""


def _card(card: cards.Card) -> str:
    """A figure, or the table of one that has none; what it shows, how to read it, and its table folded
    below."""
    table = _table(card.table)
    body = (
        f'<div class="plot" data-figure="{card.key}"></div>'
        if card.figure
        else f'<div class="head">{table}</div>'
    )
    red = _red(card.red) if card.red and not card.figure else ""
    mark = f'<span aria-hidden="true">{card.mark}</span> ' if card.mark else ""
    alarm = f" {card.alarm}" if card.alarm else ""
    measures = f'<div class="measures">{_table(card.measures)}</div>' if card.measures else ""
    note = f'<p class="note">{escape(card.note)}</p>' if card.note else ""
    return (
        f'<section class="card" id="{card.key}">{red}<div class="head"><h3>{escape(card.title)}</h3>'
        f'<p class="verdict{alarm}">{mark}{escape(card.verdict)}</p></div>{body}{note}{measures}'
        f"<details><summary>What it shows, and how to read it</summary><p>{escape(card.what)}</p>"
        f"<p>{escape(card.how)}</p></details>"
        + (f"<details><summary>Table</summary>{table}</details>" if card.figure else "")
        + "</section>"
    )


def _table(table: cards.CardTable) -> str:
    def cell(tag: str, text: str, numeric: bool) -> str:
        opened = f'{tag} class="number"' if numeric else tag
        return f"<{opened}>{escape(text)}</{tag}>"

    head = "".join(cell("th", text, numeric) for text, numeric in table.columns)
    rows = "".join(
        "<tr>" + "".join(cell("td", *each) for each in row) + "</tr>" for row in table.cells
    )
    more = f"; {grouped(table.more)} more rows are in the JSON report" if table.more else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.caption)}"><table>'
        f"<caption>{escape(table.caption)}{more}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</"
        "tbody></table></div>"
    )


def _rows(shown: view.Comparison) -> str:
    if shown.rows is None:
        return ""
    columns = tuple(shown.rows["columns"])
    reading = shown.reading["rows"]
    sides = ""
    for side in ("real", "synthetic"):
        table = cards.CardTable(
            f"{side.capitalize()} rows", columns, (False,) * len(columns), shown.rows[side]
        )
        red = _red(shown.red) if shown.red and side == "real" else ""
        sides += (
            f'<section class="card rows">{red}<div '
            f'class="head"><h3>{side.capitalize()}</h3></div>{_table(table)}</section>'
        )
    texts = f"{escape(reading['what'])} {escape(reading['how'])}"
    return f'<h2>{escape(reading["title"])}</h2><p class="soft">{texts}</p><div class="wide">{sides}</div>'


def _red(words: str) -> str:
    return f'<div class="red" role="note">{escape(words)}</div>'
