"""The verifier as one file that needs Python and nothing else.

It is the very text of its modules, in the order in which they need one another, without the lines by which they
import one another; so whoever reads it reads what runs here.
"""

from __future__ import annotations

import ast
from importlib import resources

NAME = "verify_receipt.py"
MODULES = (
    "limits",
    "bounds",
    "discrete_gaussian",
    "gaussian",
    "losses",
    "trees",
    "resampling",
    "calls",
    "signature",
    "marks",
    "statement",
    "receipt",
    "program",
)
_HEAD = '''#!/usr/bin/env python3
"""Recomputes the privacy guarantee of a synthetic table from its receipt alone.

    python verify_receipt.py RECEIPT.json
    python verify_receipt.py RECEIPT.json --head HEAD.json --key signing.pub --digest SHA256

Give the public key that you were handed, the latest signed head of the release's marks, and the digest that a citation
names, as far as you have them: each shows more of what could have been taken out of a receipt.
Needs Python 3.11 or newer and nothing else. Exit code 0: the receipt proves its claim, and epsilon, delta and what they
rest on are printed. Exit code 1: it does not, and the first reason is printed. Written out by synthweb; it shares no
code with what wrote the receipt.
"""
'''
_ERROR = '''class VerificationError(Exception):
    """A receipt does not prove what it claims."""
'''
_END = """if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


def text() -> str:
    """The file. The same installation always gives the same text."""
    imports: set[str] = set()
    parts = []
    for name in MODULES:
        source = (
            resources.files("synth_engine.verifier").joinpath(f"{name}.py").read_text("utf-8")
        )
        lines = source.splitlines()
        tree = ast.parse(source)
        first, *rest = tree.body  # the docstring, which becomes a comment
        assert isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)  # noqa: S101 - our own files
        for node in rest:
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports |= _stdlib_imports(node)
        for node in (
            first,
            *(node for node in rest if isinstance(node, ast.Import | ast.ImportFrom)),
        ):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (
                (node.end_lineno or node.lineno) - node.lineno + 1
            )
        comment = "\n".join(
            f"# {line}".rstrip() for line in str(first.value.value).strip().splitlines()
        )
        parts.append(
            f"# --- {name} "
            + "-" * (110 - len(name))
            + f"\n{comment}\n\n"
            + "\n".join(lines).strip()
            + "\n"
        )
    head = [_HEAD, "from __future__ import annotations\n", "\n".join(sorted(imports)) + "\n"]
    return "\n".join([*head, "\n" + _ERROR, *("\n" + part for part in parts), "\n" + _END])


def _stdlib_imports(node: ast.Import | ast.ImportFrom) -> set[str]:
    """What is imported from the standard library, a line for each name."""
    if isinstance(node, ast.Import):
        return {f"import {alias.name}" for alias in node.names}
    if node.module == "__future__" or (node.module or "").startswith("synth_engine"):
        return set()
    return {f"from {node.module} import {alias.name}" for alias in node.names}
