"""Functions as machine code: how numba makes it, keeps it on disk and loads it. `jit` is the door, which
needs no compiler."""

from __future__ import annotations

import hashlib
import importlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.extending import typeof_impl

from synth_engine.strict_json import JsonValue

Types = tuple[Any, ...]
"""The types of a function's arguments, as numba names them."""

# Its stubs do not know all that numba's types have.
_Array: Any = types.Array
_Tuple: Any = types.BaseTuple
_NamedTuple: Any = types.BaseNamedTuple
_CONFIG: Any = numba.config


def made(
    function: Callable[..., object], *, nogil: bool, others: Mapping[str, Dispatcher]
) -> Dispatcher:
    """What compiles the function for the types that it is called with, and calls it. others: functions of
    other modules that it may call."""
    try:
        machine_code = numba.njit(cache=True, nogil=nogil)(function)
    except (
        RuntimeError
    ):  # neither beside the source nor in the user's own folder: compiled anew in each process
        machine_code = numba.njit(nogil=nogil)(function)
    else:
        _name_what_it_depends_on(machine_code, function, others)
    return machine_code


def know(kind: type) -> None:
    """Let compiled functions call objects of this class by their `machine_code`."""

    @typeof_impl.register(kind)
    def typeof(function: Any, context: Any) -> Any:
        return typeof_impl(function.machine_code, context)


def named(name: str) -> Any:
    """What a module has under a name: "module.name"."""
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)


def _name_what_it_depends_on(
    machine_code: Any, function: Any, others: Mapping[str, Any]
) -> None:
    """Let code on disk be loaded only if nothing has changed of which the function is made.

    numba compares the source file of the function alone, and only after it has read which types its code is
    for. But functions and constants of other modules are compiled into it, and classes of an earlier version
    may be gone. It does compare its own version first, so what a function depends on becomes a part of that.
    """
    names = sorted(function.__globals__.items())
    parts = [str(_file_of(machine_code)._source_stamp)]
    parts += [f"{name} {value!r}" for name, value in names if isinstance(value, int | float)]
    # Functions of the same module have the same source file, and may be defined later.
    parts += [
        f"{name} {_file_of(value)._version}"
        for name, value in sorted(others.items())
        if _file_of(value) is not None
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    _file_of(machine_code)._version = f"{numba.__version__} {digest}"


def _file_of(machine_code: Any) -> Any:
    """Where numba keeps the list of a function's code on disk; None where it keeps none."""
    return getattr(machine_code._cache, "_cache_file", None)


def restore(stored: Path) -> None:
    """Copy compiled code to `NUMBA_CACHE_DIR`, if there is one: numba uses no folder that it cannot write."""
    if not _CONFIG.CACHE_DIR:
        return
    place = Path(_CONFIG.CACHE_DIR)
    # An index comes after the code that it lists, which another process may look for meanwhile.
    for path in sorted(stored.rglob("*.nb[ci]"), key=lambda each: (each.suffix, each)):
        target = place / path.relative_to(stored)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def to_json(listed: Types) -> list[JsonValue]:
    """One list of types as it is recorded. Raises TypeError for a type that the record cannot say."""
    return [_to_json(each) for each in listed]


def _to_json(given: Any) -> JsonValue:
    if isinstance(given, _Array):
        words = [str(given.dtype), str(given.ndim), given.layout]
        return " ".join(words if given.mutable else [*words, "readonly"])
    if isinstance(given, _NamedTuple):
        own = given.instance_class
        return {"class": f"{own.__module__}.{own.__qualname__}", "of": to_json(given.types)}
    if isinstance(given, _Tuple):
        return {"of": to_json(given.types)}
    if isinstance(given, types.NoneType | types.Number | types.Boolean):
        return str(given)
    raise TypeError(f"the record of compiled functions has no word for {given}")


def from_json(word: Any) -> Any:
    """The type of which `to_json` made this word."""
    if word == str(types.none):
        return types.none
    if isinstance(word, str):
        name, *form = word.split()
        scalar = numba.from_dtype(np.dtype(name))
        if not form:
            return scalar
        return _Array(scalar, int(form[0]), form[1], readonly="readonly" in form)
    members: Iterable[Any] = [from_json(each) for each in word["of"]]
    if "class" in word:
        return _Tuple.from_types(members, named(word["class"]))
    return _Tuple.from_types(members)
