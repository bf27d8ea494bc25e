"""Loops over records that arrays cannot say, as machine code; and what loads all of them before a run needs
one.

A function is compiled for the types of its arguments. Those for which the methods call it are recorded in
`compiled_types.json`, by `python -m tests.compiled_types`; `warm_up` compiles each function for each of them,
or loads it from disk, so that no run waits for a compiler. The compiler itself (`machine_code`) is loaded by
the first call.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast, overload

from synth_engine import watching

Function = TypeVar("Function", bound=Callable[..., object])

RECORD = "compiled_types.json"
_REGISTRY: dict[str, Compiled] = {}
_STORED: list[Path] = []
# What makes one function's code asks for that of others.
_MAKING = threading.RLock()


class Compiled:
    """A function whose machine code is made, or loaded from disk, when it is first called."""

    __qualname__: str

    def __init__(self, function: Callable[..., object], *, nogil: bool) -> None:
        functools.update_wrapper(self, function)
        self._function, self._nogil = function, nogil
        self._code: Any = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return (self._code or self.machine_code)(*arguments, **named)

    @property
    def machine_code(self) -> Any:
        """What numba calls a dispatcher: the function for each list of types that it was called with."""
        with _MAKING:
            self._code = self._code or _compiler().made(
                self._function, nogil=self._nogil, others=self._others()
            )
            return self._code

    def _others(self) -> dict[str, Any]:
        """Those of other modules that it can call, by the names that they have in its own."""
        return {
            name: value.machine_code
            for name, value in self._function.__globals__.items()
            if isinstance(value, Compiled) and value.__module__ != self.__module__
        }

    def __reduce__(self) -> str:
        return self.__qualname__  # found by name in its module, as other functions are


@functools.cache
def _compiler() -> ModuleType:
    from synth_engine import machine_code  # slow to import

    machine_code.know(Compiled)
    if _STORED:
        machine_code.restore(_STORED[-1])
    return machine_code


def use(stored: Path) -> None:
    """Have functions loaded from what a warm-up of this installation left in `NUMBA_CACHE_DIR`. This process
    need not be able to write it; it is loaded as it is, so that nobody but its owner may write it. Code of
    another processor or of another version is compiled anew. Called before the first compiled function is."""
    _STORED.append(stored)


@overload
def compiled(function: Function) -> Function: ...
@overload
def compiled(*, nogil: bool) -> Callable[[Function], Function]: ...
def compiled(function: Function | None = None, *, nogil: bool = False) -> Any:
    """The function as machine code, kept on disk for the next process where there is a place that can be
    written to.

    The order of additions is that of the source, and nothing runs in parallel: the same numbers on every
    machine. nogil: other threads of Python run beside it.
    """
    if function is None:
        return lambda given: _compiled(given, nogil=nogil)
    return _compiled(function, nogil=nogil)


def _compiled(function: Function, *, nogil: bool) -> Function:
    made = Compiled(function, nogil=nogil)
    _REGISTRY[f"{made.__module__}.{made.__qualname__}"] = made
    return cast(Function, made)


def warm_up() -> None:
    """Compile each function for each recorded list of types, or load it where an earlier process left it on
    disk. What this process has is not compiled again. Each function is a step of what `watching` reports.
    Raises what numba raises on a machine on which a function does not compile."""
    compiler = _compiler()
    for name, lists in watching.each(list(recorded().items())):
        function = compiler.named(name).machine_code
        for listed in lists:
            if listed not in function.overloads:
                function.compile(listed)


def functions() -> dict[str, Any]:
    """The machine code of the compiled functions of all modules that were imported, by module and name."""
    return {name: function.machine_code for name, function in _REGISTRY.items()}


def recorded() -> dict[str, list[tuple[Any, ...]]]:
    """The types of arguments, as numba names them, for which each function is called, as they are
    recorded."""
    from_json = _compiler().from_json
    text = resources.files("synth_engine").joinpath(RECORD).read_text(encoding="utf-8")
    return {
        name: [tuple(from_json(each) for each in listed) for listed in lists]
        for name, lists in json.loads(text).items()
    }
