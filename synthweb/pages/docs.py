"""The project's own documentation (docs/**/*.md) as pages, without network.

Files are found once and looked up by their slug: no part of an address ever becomes part of a path. Raw HTML in the
text is shown as text, links with a scheme other than http(s) or mailto are not made.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.http import Http404
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

INDEX = "index"
SECTIONS = (("", "Guides"), ("proofs", "Proofs"), ("adr", "Decisions"))


@dataclass(frozen=True, kw_only=True)
class Page:
    """One file: `slug` is its address below /docs/, `folder` the section it stands in."""

    slug: str
    folder: str
    title: str
    path: Path

    @property
    def address(self) -> str:
        """The index page is /docs/ itself."""
        return reverse("pages:docs") if self.slug == INDEX else reverse("pages:docs-page", args=[self.slug])


@dataclass(frozen=True, kw_only=True)
class Section:
    title: str
    pages: tuple[Page, ...]


@dataclass(frozen=True, kw_only=True)
class Heading:
    anchor: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """The page as safe HTML, with its second-level headings for a table of contents."""

    html: SafeString
    headings: tuple[Heading, ...]


@cache
def pages() -> dict[str, Page]:
    """Every page by slug; read once a process, because the files ship with the code."""
    root = settings.BASE_DIR / "docs"
    found = (_page(path, root) for path in sorted(root.rglob("*.md")))
    return {page.slug: page for page in found}


def sections() -> tuple[Section, ...]:
    """The pages as the side bar lists them; the index page is left out, it is where the list stands."""
    return tuple(
        Section(title=title, pages=members)
        for folder, title in SECTIONS
        if (members := tuple(p for p in pages().values() if p.folder == folder and p.slug != INDEX))
    )


def page_for(slug: str) -> Page:
    """The page at this address, or 404."""
    page = pages().get(slug)
    if page is None:
        raise Http404("No such page of the documentation.")
    return page


def render(page: Page) -> Rendered:
    """The page's Markdown as HTML, links between pages turned into addresses."""
    parser = _parser()
    env: EnvType = {"page": page}
    tokens = parser.parse(page.path.read_text(encoding="utf-8"), env)
    headings = tuple(_headings(tokens))
    html = parser.renderer.render(tokens, parser.options, env)
    return Rendered(html=mark_safe(html), headings=headings)  # noqa: S308 raw HTML is off in the parser


def _page(path: Path, root: Path) -> Page:
    relative = PurePosixPath(path.relative_to(root).as_posix())
    folder = relative.parts[0] if len(relative.parts) > 1 else ""
    return Page(slug=str(relative.with_suffix("")), folder=folder, title=_title(path), path=path)


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
    parser = MarkdownIt("commonmark", {"html": False, "typographer": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    parser.add_render_rule("fence", _fence)
    return parser


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    token.attrSet("href", _address(str(token.attrGet("href") or ""), page=env["page"]))
    if str(token.attrGet("href")).startswith(("http://", "https://")):
        token.attrSet("rel", "noopener noreferrer")
    return renderer.renderToken(tokens, index, options, env)


def _table_open(*_: object) -> str:
    """What may scroll sideways can be reached, and so scrolled, from the keyboard."""
    return '<div class="table-responsive" tabindex="0"><table class="table table-sm">'


def _fence(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    return renderer.fence(tokens, index, options, env).replace("<pre>", '<pre tabindex="0">', 1)


def _table_close(*_: object) -> str:
    return "</table></div>"


def _address(href: str, *, page: Page) -> str:
    """A link to another file of docs/ becomes its address here; one to a file outside docs/ is left as it stands."""
    target, _, anchor = href.partition("#")
    if not target.endswith(".md") or "://" in target:
        return href
    slug = _resolve(PurePosixPath(page.slug).parent / target)
    if slug not in pages():
        return href
    return pages()[slug].address + (f"#{anchor}" if anchor else "")


def _resolve(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.with_suffix("").parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _headings(tokens: Sequence[Token]) -> list[Heading]:
    """Give every heading an anchor and list those of the second level."""
    seen: dict[str, int] = {}
    listed = []
    for token, inline in itertools.pairwise(tokens):
        if token.type != "heading_open":
            continue
        text = "".join(child.content for child in inline.children or [])
        anchor = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"
        seen[anchor] = seen.get(anchor, 0) + 1
        if seen[anchor] > 1:
            anchor = f"{anchor}-{seen[anchor]}"
        token.attrSet("id", anchor)
        if token.tag == "h2":
            listed.append(Heading(anchor=anchor, text=text))
    return listed
