"""Beginnings of texts in the tree of a release: one level at a time, the most frequent first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import QueryDict

from synth_engine.evaluation import tree_cells, tree_classes
from synth_engine.evaluation.tree_figures import number
from synth_engine.hierarchy import StringHierarchy
from synth_engine.hierarchy.words import MAX_STRING_LENGTH

HEAD = ("beginning", "signs", "ends")
"""Of what `of_cells` says."""
BLANK = "␣"
"""What a blank looks like where it would not be seen."""


@dataclass(frozen=True, kw_only=True)
class PrefixLine:
    """What may follow a beginning: `text` is the longer one as it is, `shown` with its blanks visible."""

    text: str
    shown: str
    records: str
    share: float
    ended: bool
    opened: bool
    cells: int

    @property
    def width(self) -> int:
        """Of a bar, in hundredths."""
        return max(1, round(100 * self.share))


@dataclass(frozen=True, kw_only=True)
class PrefixExplorer:
    """One level: the beginning that was asked for, the shorter ones, and what may follow. `share`: of the
    records that begin like that, of all of them; of a line, of those. `closed`: the beginning at which the
    tree ends, if it ends there; `ends`: the share of its records for which it does, while it goes on for
    those of other classes. `groups`: the classes whose texts can be shown by themselves, `of` the one that
    is."""

    text: str
    shown: str
    above: tuple[tuple[str, str], ...]
    records: str
    share: float
    lines: tuple[PrefixLine, ...]
    closed: str | None
    ends: float
    error: str
    groups: tuple[str, ...] = ()
    of: str = ""

    @property
    def query_string(self) -> str:
        """What an address of another beginning has of this one."""
        return f"&{urlencode({'of': self.of})}" if self.of else ""


def page(tree: tree_cells.TreeCells, asked: QueryDict, *, rows: int) -> PrefixExplorer | None:
    """The level that was asked for (`at`), of all records or of those of a class (`of`). None for a tree
    without texts."""
    if (texts := tree_classes.of_texts(tree)) is None:
        return None
    groups = {
        f"{column}: {name}": (column, name)
        for column, name in tree_classes.widest_classes(tree)
    }
    of, share = str(asked.get("of", "")), 1.0
    if of in groups:
        texts, share = tree_classes.texts_within(tree, *groups[of])
    explorer = explore(texts, str(asked.get("at", "")), rows=rows * share)
    return replace(explorer, groups=tuple(groups), of=of if of in groups else "")


def explore(tree: tree_cells.TreeCells, asked: str, *, rows: float) -> PrefixExplorer:
    """What follows a beginning, which is read as the texts are; of one that cannot be, the whole tree, with
    the reason."""
    words = _words(tree)
    text, error = _read(words, asked)
    # Symbol 0 is the end of a text, so that signs count from 1 (`StringHierarchy`).
    symbols = [words.alphabet.index(sign) + 1 for sign in text]
    node = tree_cells.node(tree, symbols)
    ordered = sorted(node.children, key=lambda child: (-child.share, child.symbol))
    return PrefixExplorer(
        text=text,
        shown=visible(text),
        above=tuple(
            (text[:end], visible(text[end - 1]) if end else "any text")
            for end in range(len(text))
        ),
        records=number(rows * node.share),
        share=node.share,
        lines=tuple(
            _line(child, text, words, whole=node.share, rows=rows) for child in ordered
        ),
        closed=None if node.depth is None else visible(text[: node.depth]),
        ends=node.ends / node.share if node.share else 0.0,
        error=error,
    )


def _read(words: StringHierarchy, asked: str) -> tuple[str, str]:
    text = asked[:MAX_STRING_LENGTH]
    text = (
        # The case rule of the tree, which was applied to its texts before they were counted.
        text.lower()
        if words.case == "lower"
        else text.upper()
        if words.case == "upper"
        else text
    )
    if not set(words.alphabet) >= set(text):
        return "", "It has a sign that is not in the alphabet: no text begins like that."
    if len(text) >= words.depth:
        return "", f"No text is longer than {words.depth} characters: enter a shorter prefix."
    return text, ""


def _line(
    child: tree_cells.Child, text: str, words: StringHierarchy, *, whole: float, rows: float
) -> PrefixLine:
    longer = text if child.ended else text + words.alphabet[child.symbol - 1]
    return PrefixLine(
        text=longer,
        shown=visible(longer),
        records=number(rows * child.share),
        share=child.share / whole if whole else 0.0,
        ended=child.ended,
        opened=child.opened,
        cells=child.cells,
    )


def visible(text: str) -> str:
    return text.replace(" ", BLANK)


def lines(tree: tree_cells.TreeCells, *, rows: int) -> Iterator[Sequence[object]]:
    """Every cell of the tree as a head and rows: its beginning, whether the text ends with it, and the
    records in it."""
    yield (*HEAD, "records")
    for cells, share in zip(of_cells(tree), tree_cells.shares(tree).tolist(), strict=True):
        yield (*cells, f"{rows * share:.6g}")


def of_cells(side: tree_cells.TreeCells) -> list[tuple[str, int, str]]:
    """Of every cell: how its texts begin, with how many signs, and whether they end so."""
    words = _words(side)
    return [
        (text, len(text), "yes" if len(text) < level or level == words.depth else "no")
        for text, level in zip(words.decode(side.cells), side.levels.tolist(), strict=True)
    ]


def _words(tree: tree_cells.TreeCells) -> StringHierarchy:
    words = tree.hierarchy
    if not isinstance(words, StringHierarchy):
        raise TypeError("the tree has no hierarchy of strings")
    return words
