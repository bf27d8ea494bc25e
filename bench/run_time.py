"""Forecast and actual time of runs, over the shipped examples and, where they are there, two larger public
tables.

    python bench/run_time.py [--data FOLDER] [--only auto]

Each line is one run by the steps of a worker: open and read, measure, fit. It prints what is predicted for
the machine of the constants, the processor time that it took here with one thread, the band without any
earlier run, and the band fitted to all the other runs of the list, as the application shows it after them.
FOLDER holds adult/adult_discretised.csv.gz and fire/fire.zip with their domains, bank/bank-full.csv.gz, and
nist_acs/; without it only the examples run. The last line counts the runs inside each band.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
EXAMPLES = ROOT / "examples"
FACTOR = 1.5  # that a forecast is to be within
EPSILON, DELTA = "1", "1e-9"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One table, its description, about how many records it has, and a method."""

    table: Path
    domain: Path
    rows: int
    method: str


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Seconds of the parts of a run, predicted and actual."""

    case: Case
    predicted: dict[str, float]
    actual: dict[str, float]


def cases(data: Path | None, folder: Path) -> list[Case]:
    adult, commutes = EXAMPLES / "adult.csv.gz", EXAMPLES / "commutes" / "commutes.parquet"
    towns = EXAMPLES / "commutes" / "towns.domain.json"
    found = [
        Case(table=adult, domain=EXAMPLES / "adult.domain.json", rows=48_842, method=method)
        for method in ("independent", "mst", "bayesian-network", "auto")
    ]
    found += [
        Case(table=commutes, domain=towns, rows=406_052, method=method)
        for method in ("independent", "adaptive", "on-the-map")
    ]
    if data is None:
        return found
    fire = Path(zipfile.ZipFile(data / "fire" / "fire.zip").extract("fire.csv", folder))
    coded, described = (
        data / "adult" / "adult_discretised.csv.gz",
        data / "adult" / "adult_discretised-domain.json",
    )
    found += [
        Case(table=coded, domain=described, rows=48_842, method=method)
        for method in ("mst", "auto")
    ]
    found += [
        Case(table=table, domain=domain, rows=rows, method="auto")
        for table, domain, rows in (bank(data, folder), national(data, folder))
    ]
    fire_domain = data / "fire" / "fire-domain.json"
    return [
        *found,
        *(
            Case(table=fire, domain=fire_domain, rows=305_119, method=each)
            for each in ("independent", "mst")
        ),
    ]


def bank(data: Path, folder: Path) -> tuple[Path, Path, int]:
    """Table, description by the suggestions of the product, and about how many records."""
    from bench import values

    table = values.load(data.parent, "bank")
    table.to_csv(folder / "bank.csv", index=False)
    domain = values.described(folder / "bank.csv")
    (folder / "bank.json").write_text(json.dumps(domain.to_json()))
    return folder / "bank.csv", folder / "bank.json", 45_000


def national(data: Path, folder: Path) -> tuple[Path, Path, int]:
    """The same of the survey, by its dictionary."""
    from bench import coded_tables, values

    table = values.load(data.parent, "national2019")
    table.to_csv(folder / "national2019.csv", index=False)
    domain = coded_tables.census_domain(
        json.loads((data / "nist_acs" / "data_dictionary.json").read_text())
    )
    (folder / "national2019.json").write_text(json.dumps(domain.to_json()))
    return folder / "national2019.csv", folder / "national2019.json", 27_000


def take(case: Case, timing: ModuleType) -> Taken | None:
    """Run one case; None for a method that is not for its table."""
    from synth_engine import mechanisms, pipeline
    from synth_engine.domain import Domain
    from synth_engine.domain.document import parse
    from synth_engine.errors import InputError, PrivacyError
    from synth_engine.spec import Spec

    domain = Domain.from_json(parse(case.domain.read_bytes()))
    spec = Spec.from_json({"mechanism": case.method, "epsilon": EPSILON, "delta": DELTA})
    try:
        plan = mechanisms.plan(domain, spec)
    except (InputError, PrivacyError) as refused:
        print(f"{case.table.name}, {case.method}: left out, {refused}")
        return None
    size = case.table.stat().st_size * (5.0 if case.table.suffix == ".gz" else 1.0)
    predicted = timing.parts_of(size, needed=plan.needs(case.rows))
    begun = {"open": time.process_time()}
    pipeline.confirm(plan)

    def note(stage: str, _share: float) -> None:
        begun.setdefault(stage, time.process_time())

    answers = pipeline.measure(case.table, plan=plan, progress=note)
    plan.fit(answers)
    ended, asked = time.process_time(), begun["measure"]
    actual = {timing.READ: asked - begun["open"], timing.MODEL: ended - asked}
    return Taken(case=case, predicted=predicted, actual=actual)


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--data", type=Path)
    asked.add_argument("--only", nargs="+", help="methods")
    options = asked.parse_args()
    data = options.data
    os.environ.setdefault("SYNTHWEB_SECRET_KEY", "bench")
    os.environ["DJANGO_SETTINGS_MODULE"] = "synthweb.settings"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNTHWEB_VAR"] = folder
        import django

        django.setup()
        from synthweb.runs import timing

        pipeline_loaded()
        taken = [
            found
            for case in cases(data, Path(folder))
            if options.only is None or case.method in options.only
            if (found := take(case, timing)) is not None
        ]
    show(taken, timing)


def pipeline_loaded() -> None:
    """A worker loads the exact sampler before it takes a run."""
    from synth_engine import pipeline

    pipeline.warm_up()


def show(taken: list[Taken], timing: ModuleType) -> None:
    inside, near, near_without = {"unfitted": 0, "fitted": 0}, 0, 0
    for one in taken:
        others = [
            timing.Observed(
                method=other.case.method,
                ratios={
                    part: other.actual[part] / other.predicted[part] for part in timing.PARTS
                },
                predicted=other.predicted,
            )
            for other in taken
            if other is not one
        ]
        took = sum(one.actual.values())
        bands = {
            "unfitted": timing.band(one.predicted, method=one.case.method, history=[]),
            "fitted": timing.band(one.predicted, method=one.case.method, history=others),
        }
        for name, found in bands.items():
            inside[name] += found.low <= max(took, 1.0) <= found.high
        ratio = bands["fitted"].middle / max(took, 1.0)
        near += max(ratio, 1 / ratio) <= FACTOR
        plain = sum(one.predicted.values()) / max(took, 1.0)
        near_without += max(plain, 1 / plain) <= FACTOR
        said = ", ".join(f"{name} {found.low}–{found.high} s" for name, found in bands.items())
        print(
            f"{one.case.table.name:>26} {one.case.method:>17}: {sum(one.predicted.values()):6.1f} s "
            f"predicted, {took:6.1f} s taken (read {one.actual[timing.READ]:.1f}, model "
            f"{one.actual[timing.MODEL]:.1f}); {said}",
            flush=True,
        )
    print(
        f"inside the band: {inside['unfitted']} of {len(taken)} unfitted, {inside['fitted']} of "
        f"{len(taken)} fitted; forecast within a factor {FACTOR}: {near_without} of {len(taken)} unfitted, "
        f"{near} of {len(taken)} fitted"
    )


if __name__ == "__main__":
    main()
