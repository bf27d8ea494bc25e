"""Loops over records that arrays cannot say, as machine code; and what loads all of them before a run needs one.

A function is compiled for the types of its arguments. Those for which the methods call it are recorded in
`compiled_types.json`, by `python -m tests.compiled_types`; `warm_up` compiles each function for each of them, or loads it
from disk, so that no run waits for a compiler.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher

from synth_engine import watching
from synth_engine.strict_json import JsonValue

Function = TypeVar("Function", bound=Callable[..., object])
Types = tuple[Any, ...]
"""The types of a function's arguments, as numba names them."""

RECORD = "compiled_types.json"
# Its stubs do not know all that numba's types have.
_Array: Any = types.Array
_Tuple: Any = types.BaseTuple
_NamedTuple: Any = types.BaseNamedTuple
_CONFIG: Any = numba.config
_REGISTRY: dict[str, Any] = {}


@overload
def compiled(function: Function) -> Function: ...
@overload
def compiled(*, nogil: bool) -> Callable[[Function], Function]: ...
def compiled(function: Function | None = None, *, nogil: bool = False) -> Any:
    """The function as machine code, kept on disk for the next process where there is a place that can be written to.

    The order of additions is that of the source, and nothing runs in parallel: the same numbers on every machine. nogil:
    other threads of Python run beside it.
    """
    if function is None:
        return lambda given: _compiled(given, nogil=nogil)
    return _compiled(function, nogil=nogil)


def _compiled(function: Function, *, nogil: bool) -> Function:
    try:
        machine_code = numba.njit(cache=True, nogil=nogil)(function)
    except (
        RuntimeError
    ):  # neither beside the source nor in the user's own folder: compiled anew in each process
        machine_code = numba.njit(nogil=nogil)(function)
    else:
        _name_what_it_depends_on(machine_code, function)
    _REGISTRY[f"{function.__module__}.{function.__qualname__}"] = machine_code
    return cast(Function, machine_code)


def _name_what_it_depends_on(machine_code: Any, function: Any) -> None:
    """Let code on disk be loaded only if nothing has changed of which the function is made.

    numba compares the source file of the function alone, and only after it has read which types its code is for. But
    functions and constants of other modules are compiled into it, and classes of an earlier version may be gone. It does
    compare its own version first, so what a function depends on becomes a part of that.
    """
    names = sorted(function.__globals__.items())
    parts = [str(_file_of(machine_code)._source_stamp)]
    parts += [f"{name} {value!r}" for name, value in names if isinstance(value, int | float)]
    # Functions of the same module have the same source file, and may be defined later.
    parts += [
        f"{name} {_file_of(value)._version}"
        for name, value in names
        if isinstance(value, Dispatcher)
        and value.py_func.__module__ != function.__module__
        and _file_of(value) is not None
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    _file_of(machine_code)._version = f"{numba.__version__} {digest}"


def _file_of(machine_code: Any) -> Any:
    """Where numba keeps the list of a function's code on disk; None where it keeps none."""
    return getattr(machine_code._cache, "_cache_file", None)


def warm_up(stored: Path | None = None) -> None:
    """Compile each function for each recorded list of types, or load it where an earlier process left it on disk. What this
    process has is not compiled again. stored: what a warm-up of this installation left in `NUMBA_CACHE_DIR`, which this process
    need not be able to write; it is loaded as it is, so that nobody but its owner may write it. Code of another processor or of another
    version is compiled anew. Each function is a step of what `watching` reports. Raises what numba raises on a machine on which a
    function does not compile."""
    if stored is not None and (place := _CONFIG.CACHE_DIR):
        _restore(stored, Path(place))
    for name, lists in watching.each(list(recorded().items())):
        function = _function(name)
        for listed in lists:
            if listed not in function.overloads:
                function.compile(listed)


def _restore(stored: Path, place: Path) -> None:
    """Copy compiled code to where it can be added to: numba uses no folder that it cannot write."""
    # An index comes after the code that it lists, which another process may look for meanwhile.
    for path in sorted(stored.rglob("*.nb[ci]"), key=lambda each: (each.suffix, each)):
        target = place / path.relative_to(stored)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def functions() -> dict[str, Dispatcher]:
    """The compiled functions of all modules that were imported, by module and name."""
    return dict(_REGISTRY)


def recorded() -> dict[str, list[Types]]:
    """The types for which each function is called, as they are recorded."""
    text = resources.files("synth_engine").joinpath(RECORD).read_text(encoding="utf-8")
    return {
        name: [tuple(from_json(each) for each in listed) for listed in lists]
        for name, lists in json.loads(text).items()
    }


def to_json(listed: Types) -> list[JsonValue]:
    """One list of types as it is recorded. Raises TypeError for a type that the record cannot say."""
    return [_to_json(each) for each in listed]


def _function(name: str) -> Any:
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)


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
        return _Tuple.from_types(members, _function(word["class"]))
    return _Tuple.from_types(members)
