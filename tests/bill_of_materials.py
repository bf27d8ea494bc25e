"""`python -m tests.bill_of_materials BOM` says in a bill of materials (CycloneDX, JSON) which packages every
installation has and which are an extra: `make sbom` calls it with the packages of both.

CycloneDX has a word for that, the scope of a component: required or optional.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = ROOT / "requirements.lock"
EXTRA = ROOT / "deploy" / "traces.txt"
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)", re.MULTILINE)


def packages(file: Path) -> set[tuple[str, str]]:
    """Name, as PyPI compares names, and version of each package."""
    return {(_same(name), version) for name, version in _PINNED.findall(file.read_text())}


def with_scopes(bill: dict[str, Any]) -> dict[str, Any]:
    """The bill with the scope of each component. Errors: ValueError if its components are not the packages of
    the two files."""
    extra = packages(EXTRA)
    components = [
        component | {"scope": "optional" if _package(component) in extra else "required"}
        for component in bill["components"]
    ]
    differing = {_package(each) for each in components} ^ (packages(ALWAYS) | extra)
    if differing:
        raise ValueError(f"The bill and the files differ in {sorted(differing)}")
    return bill | {"components": components}


def _package(component: dict[str, Any]) -> tuple[str, str]:
    return _same(component["name"]), component["version"]


def _same(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(json.dumps(with_scopes(json.loads(file.read_text())), indent=2) + "\n")
