"""Writes the golden files of receipts, one for each method and rule:
`python -m tests.privacy.golden_receipts`. A commit replaces them only with its reason in the message.
`independent-lattice-4.json` is of a run of several rounds, and was written by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from synth_engine import mechanisms
from synth_engine.privacy import receipt
from synth_engine.privacy.unit import Relation
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from tests.privacy import exact

FOLDER = Path(__file__).with_name("receipts")
SCHEMA = "synthweb/receipt/4"
DELTA = Fraction(1, 10**9)
FEW, MANY = (2, 3), (2, 3, 700, 5)


@dataclass(frozen=True, kw_only=True)
class Golden:
    """What a golden receipt is of. sizes: of its columns."""

    mechanism: str
    certificate: str
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    sizes: tuple[int, ...] = FEW
    parameters: dict[str, object] = field(default_factory=dict)
    relation: Relation = Relation.ADD_REMOVE
    records: int = 1

    def write(self, path: Path) -> None:
        """Run the method on two records, with noise of the real sampler, and keep the receipt."""
        domain = exact.domain_of(*self.sizes, relation=self.relation, max_records=self.records)
        spec = Spec(
            mechanism=self.mechanism,
            epsilon=self.epsilon,
            delta=self.delta,
            parameters=self.parameters,
        )
        plan = mechanisms.plan(domain, spec)
        rows = exact.rows_of(((0,) * len(self.sizes), (1,) * len(self.sizes)), domain)
        answers = plan.run(open_session(rows, domain=domain, cap=plan.loss))
        sample = receipt.Sample(
            rows=10, seed_commitment=receipt.seed_commitment("golden"), table_sha256="0" * 64
        )
        document = plan.receipt(
            answers, sample=sample, post_processing={"model": "synth_engine/model/1"}
        )
        path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


NETWORK = "bayesian-network"
GOLDEN = {
    "aim-zcdp": Golden(mechanism="aim", certificate="zcdp", delta=DELTA, sizes=MANY),
    "auto-gdp": Golden(mechanism="auto", certificate="gdp", delta=DELTA, sizes=MANY),
    "auto-gdp-replace-two": Golden(
        mechanism="auto",
        certificate="gdp",
        delta=DELTA,
        sizes=MANY,
        relation=Relation.REPLACE_ONE,
        records=2,
    ),
    "auto-pure": Golden(mechanism="auto", certificate="basic", sizes=MANY),
    "bayesian-network": Golden(mechanism=NETWORK, certificate="zcdp", delta=DELTA),
    "bayesian-network-pure": Golden(
        mechanism=NETWORK, certificate="basic", epsilon=Fraction(3)
    ),
    "bayesian-network-replace-three": Golden(
        mechanism=NETWORK, certificate="basic", relation=Relation.REPLACE_ONE, records=3
    ),
    "independent-composed": Golden(mechanism="independent", certificate="basic", delta=DELTA),
    "independent-gaussian": Golden(
        mechanism="independent",
        certificate="pld",
        delta=DELTA,
        parameters={"noise": "gaussian"},
    ),
    "independent-laplace": Golden(
        mechanism="independent",
        certificate="basic",
        epsilon=Fraction(1, 2),
        delta=DELTA,
        parameters={"noise": "laplace"},
    ),
    "independent-pure": Golden(mechanism="independent", certificate="basic"),
    "independent-replace-three": Golden(
        mechanism="independent",
        certificate="basic",
        epsilon=Fraction(2),
        delta=DELTA,
        relation=Relation.REPLACE_ONE,
        records=3,
    ),
    "random": Golden(
        mechanism="random", certificate="pld", epsilon=Fraction(1, 10), delta=DELTA
    ),
    "random-pure": Golden(mechanism="random", certificate="basic"),
}


def main() -> None:
    for name, golden in GOLDEN.items():
        golden.write(FOLDER / f"{name}-4.json")


if __name__ == "__main__":
    main()
