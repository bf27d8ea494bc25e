"""DataSynthesizer: `independent` and `correlated` (a network with at most two parents).

Values are written as texts, so that it takes all columns for categories, and their public lists are given.
Its epsilon is that of its parameter: it has no delta, and a stored description with a network spends it
twice.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from runner import Task, run

PARENTS = 2
TEXT = "String"


def _as_text(code: object) -> str:
    return f"c{code}"


def fit(task: Task) -> Path:
    folder = Path(tempfile.mkdtemp())
    table, domain = folder / "table.csv", folder / "domain.json"
    task.table.astype(object).map(_as_text).to_csv(table, index=False)
    domain.write_text(
        json.dumps(
            {
                name: {
                    "name": name,
                    "data_type": TEXT,
                    "is_categorical": True,
                    "distribution_bins": [_as_text(code) for code in range(size)],
                    "distribution_probabilities": [1 / size] * size,
                }
                for name, size in task.sizes.items()
            }
        )
    )
    describer = DataDescriber(category_threshold=max(task.sizes.values()) + 1)
    names = list(task.sizes)
    given = {
        "attribute_to_datatype": dict.fromkeys(names, TEXT),
        "attribute_to_is_categorical": dict.fromkeys(names, True),
        "attribute_to_is_candidate_key": dict.fromkeys(names, False),
        "epsilon": task.epsilon,
        "seed": task.seed,
    }
    if task.method == "independent":
        describer.describe_dataset_in_independent_attribute_mode(str(table), **given)
    else:
        describer.describe_dataset_in_correlated_attribute_mode(str(table), k=PARENTS, **given)
    described = folder / "description.json"
    describer.save_dataset_description_to_file(str(described))
    return described


def draw(described: Path, task: Task) -> pd.DataFrame:
    generator = DataGenerator()
    make = (
        generator.generate_dataset_in_independent_mode
        if task.method == "independent"
        else generator.generate_dataset_in_correlated_attribute_mode
    )
    make(len(task.table), str(described), seed=task.seed)
    codes: pd.DataFrame = generator.synthetic_dataset.map(
        lambda text: int(text.removeprefix("c"))
    )
    return codes


run(fit, draw)
