"""The project's own documentation as pages, without network: docs/**/*.md, and the page of errors, which is
made from the code.

Files are listed once and looked up by their slug: no part of an address ever becomes part of a path. Raw HTML
in the text is shown as text, except `<details>` and `<summary>` in the form that FOLD describes. Links with a
scheme other than http(s) or mailto are not rendered.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.http import Http404
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from synthweb.pages import errors_page

INDEX = "index"
PATHS: tuple[tuple[object, tuple[str, ...]], ...] = (  # (title, slugs)
    (
        gettext_lazy("Steward: publish a table"),
        (
            "uploads",
            "domain",
            "baskets",
            "dictionaries",
            "references",
            "methods",
            "forecast",
            "runs",
            "comparison",
        ),
    ),
    (
        gettext_lazy("Analyst: use a release"),
        ("rest", "client", "r", "spreadsheets", "description", "comparison", "notifications"),
    ),
    (gettext_lazy("Custodian: grant budget"), ("ledger", "forecast", "threat-model")),
    (gettext_lazy("Auditor: check it"), ("ledger", "threat-model", "proofs/README")),
    (
        gettext_lazy("Operator: run it"),
        ("deployment", "settings", "security", "notifications", "keys", "runs", "errors"),
    ),
    (
        gettext_lazy("Engineer: work with the engine"),
        (
            "glossary",
            "extras",
            "python",
            "command-line",
            "methods",
            "benchmarks",
            "design/auto",
            "design/trees-and-maps",
            "papers",
            "adr/README",
        ),
    ),
)
"""What each role reads, in this order; a page can be on several paths."""
SECTIONS = (("proofs", gettext_lazy("Proofs")), ("adr", gettext_lazy("Decisions")))
FOLD = re.compile(r"<details>\n<summary>(?P<summary>[^<>\n]+)</summary>")
"""How a folded part begins, as a paragraph of its own; `</details>`, again a paragraph, ends it."""
SEARCHABLE_ROWS = 100
"""A page whose tables have this many rows or more has a search field above them."""
_HEADING = re.compile(r"#{1,6} ")
SHORTEST_TEMPLATE = 10
"""Characters of a message apart from its …; shorter ones would match nearly every query."""


@dataclass(frozen=True, kw_only=True)
class DocPage:
    """One text: `slug` is its address below /docs/, `folder` the section it stands in, `read` returns its
    Markdown."""

    slug: str
    folder: str
    title: str
    read: Callable[[], str]

    @property
    def address(self) -> str:
        """The index page is /docs/ itself."""
        return (
            reverse("pages:docs")
            if self.slug == INDEX
            else reverse("pages:docs-page", args=[self.slug])
        )


@dataclass(frozen=True, kw_only=True)
class Section:
    title: str
    pages: tuple[DocPage, ...]


@dataclass(frozen=True, kw_only=True)
class Heading:
    anchor: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Passage:
    """What stands below one heading of a page, as Markdown without line breaks."""

    page: DocPage
    heading: str
    anchor: str
    text: str

    @property
    def address(self) -> str:
        return f"{self.page.address}#{self.anchor}" if self.anchor else self.page.address


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """The page as safe HTML, with its second-level headings for a table of contents.

    `rows` counts all rows of its tables, `shown` those that match what was searched for.
    """

    html: SafeString
    headings: tuple[Heading, ...]
    rows: int
    shown: int

    @property
    def searchable(self) -> bool:
        return self.rows >= SEARCHABLE_ROWS


@cache
def pages() -> dict[str, DocPage]:
    """Every page by slug; listed once a process, because the files ship with the code."""
    root = settings.BASE_DIR / "docs"
    paths = sorted(
        root.rglob("*.md"), key=lambda path: (path.parent, path.name != "README.md", path.name)
    )
    errors = DocPage(
        slug=errors_page.SLUG, folder="", title=errors_page.TITLE, read=errors_page.page
    )
    return {page.slug: page for page in (errors, *(_page(path, root) for path in paths))}


def sections() -> tuple[Section, ...]:
    """The pages as the side bar lists them: a path for each role, then what is for looking up."""
    paths = [
        (str(title), [pages()[slug] for slug in slugs if slug in pages()])
        for title, slugs in PATHS
    ]
    listed = {page.slug for _title, members in paths for page in members}
    guides = [page for page in pages().values() if not page.folder and page.slug != INDEX]
    others = [page for page in guides if page.slug not in listed]
    for folder, title in SECTIONS:
        members = [page for page in pages().values() if page.folder == folder]
        paths.append((str(title), members))
    paths.insert(len(PATHS), (_("More guides"), others))
    return tuple(
        Section(title=title, pages=tuple(members)) for title, members in paths if members
    )


def page_for(slug: str) -> DocPage:
    """The page at this address, or 404."""
    page = pages().get(slug)
    if page is None:
        raise Http404("No such page of the documentation.")
    return page


def render(page: DocPage, *, query: str = "") -> Rendered:
    """The page's Markdown as HTML, links between pages turned into addresses.

    query: words, or a whole message; rows of tables that do not match it are left out.
    """
    parser = _parser()
    env: EnvType = {"page": page, "unfolded": bool(query)}
    tokens = parser.parse(page.read(), env)
    headings = tuple(_headings(tokens))
    rows = _count_rows(tokens)
    if query:
        tokens = _only_matching_rows(tokens, query)
    html = parser.renderer.render(tokens, parser.options, env)
    return Rendered(
        html=mark_safe(html),  # noqa: S308 raw HTML is off in the parser
        headings=headings,
        rows=rows,
        shown=_count_rows(tokens),
    )


def passages() -> Iterator[Passage]:
    """Every part of every page once, in the order of the side bar."""
    listed = dict.fromkeys(
        [pages()[INDEX], *(page for section in sections() for page in section.pages)]
    )
    return itertools.chain.from_iterable(_passages(page) for page in listed)


@cache
def _passages(page: DocPage) -> tuple[Passage, ...]:
    """The parts of a page, read once a process."""
    return tuple(_split_at_headings(page))


def _split_at_headings(page: DocPage) -> Iterator[Passage]:
    """The parts of a page between its headings. Lines are split instead of parsed: all pages take
    milliseconds."""
    anchors = _Anchors()
    heading, anchor, is_code = "", "", False
    lines: list[str] = []
    for line in page.read().splitlines():
        if line.startswith(("```", "~~~")):
            is_code = not is_code
        if is_code or not _HEADING.match(line):
            lines.append(line)
            continue
        if lines:
            yield Passage(page=page, heading=heading, anchor=anchor, text=" ".join(lines))
        (inline,) = _parser().parseInline(_HEADING.sub("", line).rstrip("# "))
        heading, lines = _text_of(inline), []
        anchor = anchors.of(heading)
    yield Passage(page=page, heading=heading, anchor=anchor, text=" ".join(lines))


def _page(path: Path, root: Path) -> DocPage:
    relative = PurePosixPath(path.relative_to(root).as_posix())
    folder = relative.parts[0] if len(relative.parts) > 1 else ""
    return DocPage(
        slug=str(relative.with_suffix("")),
        folder=folder,
        title=_title(path),
        read=partial(path.read_text, encoding="utf-8"),
    )


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        first = next((line for line in lines if line.strip()), "")
    return (
        first.lstrip("# ").replace("`", "").strip()
        if first.startswith("#")
        else path.stem.replace("-", " ").capitalize()
    )


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "typographer": False}).enable(
        ["table", "strikethrough"]
    )
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("fold_open", _fold_open)
    parser.add_render_rule("fold_close", _fold_close)
    parser.core.ruler.after("block", "fold", _fold)
    return parser


def _fold(state: StateCore) -> None:
    """Turn the paragraphs that open and close a folded part into tokens of their own."""
    tokens: list[Token] = []
    position = 0
    while position < len(state.tokens):
        # Raw HTML is off, so the parser leaves the tag as the text of a paragraph, which has
        # three tokens: open, inline, close.
        paragraph = state.tokens[position : position + 3]
        text = paragraph[1].content if paragraph[0].type == "paragraph_open" else ""
        if begin := FOLD.fullmatch(text):
            tokens.append(
                Token("fold_open", "details", 1, content=begin["summary"], block=True)
            )
            position += 3
        elif text == "</details>":
            tokens.append(Token("fold_close", "details", -1, block=True))
            position += 3
        else:
            tokens.append(paragraph[0])
            position += 1
    state.tokens = tokens


def _fold_open(
    _renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    _options: OptionsDict,
    env: EnvType,
) -> str:
    """A search unfolds every part, so that the rows it leaves are visible."""
    state = " open" if env["unfolded"] else ""
    return f"<details{state}><summary>{escapeHtml(tokens[index].content)}</summary>\n"


def _fold_close(*_: object) -> str:
    return "</details>\n"


def _count_rows(tokens: Sequence[Token]) -> int:
    """Rows of all tables, their heads apart."""
    # The head of a Markdown table has exactly one row.
    return sum(token.type == "tr_open" for token in tokens) - sum(
        token.type == "thead_open" for token in tokens
    )


def _only_matching_rows(tokens: Sequence[Token], query: str) -> list[Token]:
    """The tokens of the page without the rows of table bodies that do not match, and without folded parts
    left empty."""
    remaining: list[Token] = []
    in_body = False
    row_start = fold_start = 0
    for token in tokens:
        remaining.append(token)
        if token.type in ("tbody_open", "tbody_close"):
            in_body = token.type == "tbody_open"
        elif in_body and token.type == "tr_open":
            row_start = len(remaining) - 1
        elif in_body and token.type == "tr_close":
            cells = [cell.content for cell in remaining[row_start:] if cell.type == "inline"]
            if not _matches(cells, query):
                del remaining[row_start:]
        elif token.type == "fold_open":
            fold_start = len(remaining) - 1
        elif token.type == "fold_close" and _count_rows(remaining[fold_start:]) == 0:
            del remaining[fold_start:]
    return remaining


def _matches(cells: Sequence[str], query: str) -> bool:
    """Whether a row has every word of the query, or the query quotes the message that its first cell is a
    template of.

    In a template each … stands for any text.
    """
    text = " ".join(cells).lower()
    if all(word in text for word in query.lower().split()):
        return True
    # Of an error message that somebody pastes, only the fixed parts of its template are known.
    fixed = [part for part in cells[0].replace("`", "").lower().split("…") if part.strip()]
    template = ".+".join(re.escape(part.strip()) for part in fixed)
    return (
        sum(map(len, fixed)) >= SHORTEST_TEMPLATE
        and re.search(template, query.lower()) is not None
    )


def _link_open(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    token = tokens[index]
    token.attrSet("href", _address(str(token.attrGet("href") or ""), page=env["page"]))
    if str(token.attrGet("href")).startswith(("http://", "https://")):
        token.attrSet("rel", "noopener noreferrer")
    return renderer.renderToken(tokens, index, options, env)


def _table_open(*_: object) -> str:
    """What may scroll sideways can be reached, and so scrolled, from the keyboard."""
    return '<div class="table-responsive" tabindex="0"><table class="table table-sm">'


def _fence(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    return renderer.fence(tokens, index, options, env).replace("<pre>", '<pre tabindex="0">', 1)


def _table_close(*_: object) -> str:
    return "</table></div>"


def _address(href: str, *, page: DocPage) -> str:
    """A link to another file of docs/ becomes its address here; one to a file outside docs/ is left as it
    stands."""
    target, _, anchor = href.partition("#")
    if not target.endswith(".md") or "://" in target:
        return href
    slug = _resolve(PurePosixPath(page.slug).parent / target)
    if slug not in pages():
        return href
    return pages()[slug].address + (f"#{anchor}" if anchor else "")


def _resolve(path: PurePosixPath) -> str:
    # By hand: a PurePosixPath keeps “..”, and resolving a Path would look at the disk.
    parts: list[str] = []
    for part in path.with_suffix("").parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


class _Anchors:
    """The anchors of one page's headings, in their order."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, text: str) -> str:
        anchor = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"
        self._seen[anchor] += 1
        # An id has to be unique in a page, or links lead to the first of several headings.
        times = self._seen[anchor]
        return anchor if times == 1 else f"{anchor}-{times}"


def _text_of(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [])


def _headings(tokens: Sequence[Token]) -> list[Heading]:
    """Give every heading an anchor and list those of the second level."""
    anchors = _Anchors()
    listed = []
    for token, inline in itertools.pairwise(tokens):
        if token.type != "heading_open":
            continue
        text = _text_of(inline)
        anchor = anchors.of(text)
        token.attrSet("id", anchor)
        if token.tag == "h2":
            listed.append(Heading(anchor=anchor, text=text))
    return listed
