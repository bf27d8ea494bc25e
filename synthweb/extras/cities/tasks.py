"""The Celery task of cities (`synthweb/runs/tasks.py`)."""

from __future__ import annotations

from synthweb.celery import app
from synthweb.extras.cities.models import CityBuild


@app.task(name=CityBuild.TASK)
def generate(code: str) -> None:
    """Generate a city; on the `default` queue, whose process has no key of a table."""
    from synthweb.extras.cities import building

    building.compute(code=code)
