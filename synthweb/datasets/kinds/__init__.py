"""Kinds of columns on the describe page: each module of this package with a `FORM` is one kind."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from synthweb.datasets.kinds.form import KindForm


def _discover() -> dict[str, KindForm]:
    modules = (
        import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)
    )
    forms: list[KindForm] = [module.FORM for module in modules if hasattr(module, "FORM")]
    return {form.kind: form for form in sorted(forms, key=lambda form: form.position)}


FORMS = _discover()
