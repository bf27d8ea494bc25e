"""The commands that README, CONTRIBUTING and the pages of docs/ show, read from their texts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[1]
FENCED = re.compile(r"^[ ]*```[^\n]*\n(.*?)^[ ]*```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)((?: {4}[^\n]*\n)+)")
INLINE = re.compile(r"`([^`]+)`")
# What stands before a command: how a container, an environment or a variable is named.
BEFORE = re.compile(
    r"^(?:docker compose (?:exec|run --rm) \w+ |[A-Z_]+=\S+ |\.venv/bin/(?=python ))+"
)
PLACEHOLDER = re.compile(r"…|[\[\]|]|(?<![=\w])[A-Z]{2,}[A-Z_]*(?:\.\w+)?(?![\w=])")
PROGRAMS = ("make", "python", "synth-engine", "manage.py")


@dataclass(frozen=True)
class Command:
    """One command of a page. words: without what stands before it, program first."""

    page: str
    text: str
    words: tuple[str, ...]
    is_block: bool

    @property
    def is_example(self) -> bool:
        """Whether it is there to be run as it stands: it is not in the middle of a sentence, and no word
        stands for others."""
        return self.is_block and PLACEHOLDER.search(self.text) is None

    def after(self, *program: str) -> tuple[str, ...] | None:
        """The words after this program, None if it is of another one."""
        number = len(program)
        return self.words[number:] if self.words[:number] == program else None

    @property
    def engine(self) -> tuple[str, ...] | None:
        """Arguments of the engine's command line."""
        of_python = self.after("python", "-m", "synth_engine")
        return self.after("synth-engine") if of_python is None else of_python

    @property
    def bench(self) -> tuple[str, ...] | None:
        """A program of bench/ and its arguments."""
        words = self.after("python")
        return words if words and words[0].startswith("bench/") else None


def pages() -> list[Path]:
    """Everything that is written for readers of today; the changelog is history."""
    front = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    folders = [
        path for name in ("docs", "examples", "client") for path in (ROOT / name).rglob("*.md")
    ]
    return [*front, *sorted(folders)]


def commands() -> list[Command]:
    """All commands of all pages, in their order."""
    return [command for page in pages() for command in of_page(page)]


def of_page(page: Path) -> Iterator[Command]:
    text = page.read_text()
    prose = FENCED.sub("", text)
    blocks = [*FENCED.findall(text), *map(dedent, INDENTED.findall(prose))]
    shown = [(line, True) for block in blocks for line in _lines(block)]
    shown += [
        (" ".join(code.split()), False) for code in INLINE.findall(INDENTED.sub("", prose))
    ]
    for line, is_block in shown:
        bare = BEFORE.sub("", line)
        if bare.split(" ")[0] not in PROGRAMS:
            continue
        try:
            words = tuple(shlex.split(bare, comments=True))
        except ValueError:  # half of a command
            words = tuple(bare.split())
        if words[1:2] == ("manage.py",):
            words = words[1:]
        yield Command(str(page.relative_to(ROOT)), bare, words, is_block)


def _lines(block: str) -> Iterator[str]:
    """Lines of a block, those that go on in one."""
    joined = re.sub(r"\s*\\\n\s*", " ", block)
    for line in re.sub(r"\n {4,}(?=\S)", " ", joined).splitlines():
        yield re.sub(r"\s+#.*$", "", line).strip()
