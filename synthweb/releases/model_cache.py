"""Models of releases, each read once in a process: a model never changes, and one of many places takes
seconds to read."""

from __future__ import annotations

from functools import lru_cache

from django.db.models import Q

from synth_engine.domain import Domain
from synth_engine.models import blocks
from synth_engine.models.model import Model
from synthweb.releases.models import Release

KEPT = 2  # models in the memory of a web process
ANSWERS = 1_000


@lru_cache(maxsize=KEPT)
def model_of(code: str) -> Model:
    """The model of a release by its code; nobody changes it. The caller authorised."""
    return Model.from_json(Release.objects.only("model").get(code=code).model)


# A model never changes, so that an answer stays right as long as the process lives.
@lru_cache(maxsize=ANSWERS)
def holds(code: str, part: str) -> bool:
    """Whether the model of a release has this part; the model stays in the database."""
    return Release.objects.filter(code=code, model__has_key=part).exists()


@lru_cache(maxsize=ANSWERS)
def repeats_rows_from(code: str) -> int | None:
    """The number of rows from which on a table of a release has copies of rows; None for a model that refines
    no rows. All of the model but its description stays in the database."""
    refined = Q(model__synthesis="finish", model__targets__0__isnull=False)
    coded = Q(model__coded__synthesis="finish", model__coded__targets__0__isnull=False)
    release = Release.objects.filter(code=code)
    for which, of in ((refined, "model__domain"), (coded, "model__coded__domain")):
        for described in release.filter(which).values_list(of, flat=True):
            return blocks.copied_from(len(Domain.from_json(described).sizes))
    return None
