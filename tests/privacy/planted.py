"""Mistakes planted into the shipped functions themselves, so that a test can show that it would notice them.

A copy of a function in a test proves nothing about the function that ships. `plant` recompiles the shipped
source with one change and exchanges the code object of the function: whoever imported it, by whatever name,
runs the changed code.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any

import pytest


def plant(
    patch: pytest.MonkeyPatch,
    function: Callable[..., Any],
    shipped: str,
    planted: str,
    **names: object,
) -> None:
    """Replaces `shipped`, which must occur once in the source of the function, by `planted` until `patch` is
    undone.

    shipped: code however it is laid out: line breaks, spaces and trailing commas do not matter.

    names: new globals of the function's module that the planted code needs. A cached function is emptied
    first and must be emptied by the caller afterwards."""
    shipped_function = inspect.unwrap(function)
    assert isinstance(shipped_function, types.FunctionType)
    source = textwrap.dedent(inspect.getsource(shipped_function))
    occurrences = list(re.finditer(_laid_out_in_any_way(shipped), source))
    assert len(occurrences) == 1, (
        f"{shipped!r} occurs {len(occurrences)} times in the shipped code"
    )
    start, end = occurrences[0].span()
    source = source[:start] + planted + source[end:]
    for name, value in names.items():
        patch.setattr(sys.modules[shipped_function.__module__], name, value, raising=False)
    namespace = dict(shipped_function.__globals__)
    # Compiled here, so that annotations stay unevaluated as they are in the shipped module.
    exec(compile(source, "<planted>", "exec"), namespace)
    changed = inspect.unwrap(namespace[shipped_function.__name__])
    patch.setattr(shipped_function, "__code__", changed.__code__)


def _laid_out_in_any_way(code: str) -> str:
    """A pattern of the code that a formatter may have spread over several lines."""
    indent = re.match(r"\s*", code)
    words = re.findall(r"\w+|[^\w\s]", code)
    pieces = [
        rf",?\s*{re.escape(word)}" if word in ")]}" else re.escape(word) for word in words
    ]
    return (indent.group() if indent else "") + r"\s*".join(pieces)
