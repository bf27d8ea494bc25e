"""The verifier as one file that needs Python and nothing else.

It is the very text of its modules, in the order in which they need one another, without the lines by which
they import one another; so whoever reads it reads what runs here.
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
    "candidates",
    "calls",
    "signature",
    "marks",
    "statement",
    "purchases",
    "receipt",
    "paid_descriptions",
    "database",
    "bundle",
    "program",
)
_HEAD = '''#!/usr/bin/env python3
"""Recomputes the privacy guarantee of a synthetic table from its receipt alone.

    python verify_receipt.py RECEIPT.json
    python verify_receipt.py BUNDLE.zip
    python verify_receipt.py RECEIPT.json --head HEAD.json --key signing.pub --digest SHA256

Give the public key that you were handed, the latest signed head of the release's marks, and the digest that
a citation names, as far as you have them: each shows more of what could have been taken out of a receipt. Of
a bundle every file is checked, and the first that was changed is named; nothing is unpacked.
Needs Python 3.11 or newer and nothing else. Exit code 0: the receipt proves its claim, and epsilon, delta and
what they rest on are printed. Exit code 1: it does not, and the first reason is printed. Written out by
synthweb; it shares no code with what wrote the receipt.
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
    folder = resources.files("synth_engine.verifier")
    for name in MODULES:
        source = folder.joinpath(f"{name}.py").read_text("utf-8")
        lines = source.splitlines()
        tree = ast.parse(source)
        docstring, *rest = tree.body
        import_nodes = [node for node in rest if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in import_nodes:
            imports |= _stdlib_imports(node)
        # Blanked and not deleted, so that the numbers of the lines below stay.
        for statement in (docstring, *import_nodes):
            end = statement.end_lineno or statement.lineno
            lines[statement.lineno - 1 : end] = [""] * (end - statement.lineno + 1)
        rule = "-" * (110 - len(name))
        words = (ast.get_docstring(tree) or "").splitlines()
        comment = "\n".join(f"# {line}".rstrip() for line in words)
        code = "\n".join(lines).strip()
        parts.append(f"\n# --- {name} {rule}\n{comment}\n\n{code}\n")
    future = "from __future__ import annotations\n"
    sorted_imports = "\n".join(sorted(imports)) + "\n"
    return "\n".join([_HEAD, future, sorted_imports, f"\n{_ERROR}", *parts, f"\n{_END}"])


def _stdlib_imports(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The imports from the standard library, a line for each name."""
    if isinstance(node, ast.Import):
        return {f"import {alias.name}" for alias in node.names}
    module = node.module or ""
    if module == "__future__" or module.startswith("synth_engine"):
        return set()
    return {f"from {module} import {alias.name}" for alias in node.names}
