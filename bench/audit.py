"""What a statistical audit proves of the claims of whole mechanisms, with their real noise.

    python bench/audit.py [RUNS]        runs in each world of an adaptive mechanism, by default 4,000; static
                                        ones get 100,000
    python bench/audit.py [RUNS] relational     of a whole release of a database, from files to the answers
                                                about all of its views
    python bench/audit.py [RUNS] triples        of `auto` on four columns, where it selects triples and
                                                measures them again; its fits between questions are cut short,
                                                on which no claim depends

Worst-case neighbours (no record, one record), the statistic of tests/privacy/likelihood.py, Clopper-Pearson
bounds that are wrong once in 10^9. Columns: the claim and what is proved of it, both as epsilon at delta;
their ratio; what as many runs would show on average of the worst mechanism with that claim; and what they
would show of it by an event alone, as ln((P - delta) / Q), without the claim's whole curve. "Surely": the
share that is missed at most once in 2·10^7 audits, by the chances seen. The last table has noise that is half
of what is charged: above 1 the defect is seen.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from synth_engine.inference import mixture
from tests.privacy import likelihood
from tests.privacy import test_audit_of_relational as audit_of_relational
from tests.privacy.audit import Change, as_claimed, smaller_by
from tests.privacy.test_likelihood_audit import CASES, HERE, MICRO, STATIC_RUNS, Case, plan_of

TRIPLES = "triples"
"""The name of the audit of `auto` with more than two columns."""
SHORT_FIT = 2
"""Steps of each fit of a mixture there."""


def line(case: Case, *, runs: int, change: Change) -> str:
    plan = plan_of(case)
    size = STATIC_RUNS if case.static else runs
    draw = likelihood.static_ratios if case.static else likelihood.ratios
    start = time.perf_counter()
    first, second = (
        draw(plan, *pair, size=size, change=change)
        for pair in ((HERE, case.there), (case.there, HERE))
    )
    found = likelihood.shown(plan.loss, case.delta, first, second)
    chances = found.first / found.runs, found.second / found.runs
    surely = (
        likelihood.surely_proved(plan.loss, case.delta, chances, runs=found.runs)
        / found.claimed
    )
    most = likelihood.limit(plan.loss, case.delta, runs=found.runs)
    plain = likelihood.limit_of_plain_events(plan.loss, case.delta, runs=found.runs)
    seconds = time.perf_counter() - start
    return (
        f"{case.mechanism:18} {float(case.delta):7g} {size:8,} {found.claimed:8.3f} {found.proved:8.3f} "
        f"{found.share:7.2f} {surely:7.2f} {most:8.3f} {plain:8.3f} {seconds / size / 2 * 1e3:9.3f}"
    )


def relational(*, runs: int) -> None:
    """Prints what is proved of a release of a database, with noise as it is charged and smaller."""
    for factor in ("1", "2", "8"):
        found = audit_of_relational.shown(size=runs, change=smaller_by(factor))
        print(
            f"noise / {factor}: claimed {found.claimed:.3f}, proved {found.proved:.3f}",
            flush=True,
        )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    named = set(sys.argv[2:])
    if named == {"relational"}:
        relational(runs=runs)
        return
    cases = [case for case in CASES if not named or case.mechanism in named]
    if TRIPLES in named:
        mixture.STEPS = SHORT_FIT
        cases.append(Case(mechanism="auto", epsilon=4, delta=MICRO, share=0, columns=4))
    for title, change in (
        ("noise as it is charged", as_claimed),
        ("half of the noise that is charged", smaller_by("2")),
    ):
        print(f"\n{title}")
        print(
            "mechanism            delta     runs  claimed   proved   share  surely    limit    plain    "
            "ms/run"
        )
        for case in cases:
            print(line(case, runs=runs, change=change), flush=True)


if __name__ == "__main__":
    main()
