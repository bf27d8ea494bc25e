"""What stands in the addresses of cities, and who gets which answer there (`tests/extras`)."""

from __future__ import annotations

from synthweb.extras.cities.models import CityBuild
from tests.web.scene import Scene

SPECIFICATION = """
schema: synth_engine/city/1
name: A small town
population: 20
areas: {file: areas.csv, key: area, latitude: latitude, longitude: longitude, published: a public list}
sources: {persons: {model: persons.model.json, receipt: persons.receipt.json}}
tables:
  persons: {source: persons, key: person_id, rows: 20,
    joins: [{column: area, to: areas, by: weight, weight: {column: people}}]}
"""


def city_of(scene: Scene) -> CityBuild:
    """A city of the steward that is not generated."""
    build, _made = CityBuild.objects.get_or_create(
        created_by=scene.release.created_by,
        name="A small town",
        defaults={
            "organisation": scene.dataset.organisation,
            "specification": SPECIFICATION,
            "areas": b"area,latitude,longitude,people\nA,41,-71,3\n",
            "releases": {"persons": scene.release.code},
            "seed": "0" * 32,
        },
    )
    return build


CODES = {"cities/": lambda scene: city_of(scene).code}
MATRIX = """
GET    cities/                                                    302 200 200 200 200 200 200 200
POST   cities/                                                    302 422 422 422 422 422 422 422
GET    cities/<slug:code>/                                        302 404 404 404 200 404 404 404
POST   cities/<slug:code>/                                        302 404 404 404 422 404 404 404
GET    cities/<slug:code>/grow/                                   302 405 405 405 405 405 405 405
POST   cities/<slug:code>/grow/                                   302 404 404 404 302 404 404 404
GET    cities/<slug:code>/delete/                                 302 405 405 405 405 405 405 405
POST   cities/<slug:code>/delete/                                 302 404 404 404 302 404 404 404
GET    cities/<slug:code>/city.<slug:kind>                        302 404 404 404 404 404 404 404
GET    cities/<slug:code>/simulation/<slug:form>.zip              302 404 404 404 404 404 404 404
GET    api/v1/cities/                                             401 200 200 200 200 200 200 200
POST   api/v1/cities/                                             401 422 422 422 422 422 422 422
GET    api/v1/cities/<slug:code>/                                 401 404 404 404 200 404 404 404
DELETE api/v1/cities/<slug:code>/                                 401 404 404 404 204 404 404 404
GET    api/v1/cities/<slug:code>/tables.zip                       401 404 404 404 404 404 404 404
GET    api/v1/cities/<slug:code>/city.sqlite                      401 404 404 404 404 404 404 404
GET    api/v1/cities/<slug:code>/schema.sql                       401 404 404 404 404 404 404 404
GET    api/v1/cities/<slug:code>/matsim.zip                       401 404 404 404 404 404 404 404
GET    api/v1/cities/<slug:code>/populationsim.zip                401 404 404 404 404 404 404 404
"""
SCOPES = """
GET    cities/                                       read
POST   cities/                                       read
GET    cities/<slug:code>/                           read
DELETE cities/<slug:code>/                           read
GET    cities/<slug:code>/tables.zip                 read
GET    cities/<slug:code>/city.sqlite                read
GET    cities/<slug:code>/schema.sql                 read
GET    cities/<slug:code>/matsim.zip                 read
GET    cities/<slug:code>/populationsim.zip          read
"""
BODIES = {
    "POST api/v1/cities/": lambda *_: {"specification": "nothing", "areas": "area"},
}
PAST_THE_SCOPE = {  # the city of the scene is a draft
    ("POST", "cities/"): 422,
    ("GET", "cities/<slug:code>/tables.zip"): 404,
    ("GET", "cities/<slug:code>/city.sqlite"): 404,
    ("GET", "cities/<slug:code>/schema.sql"): 404,
    ("GET", "cities/<slug:code>/matsim.zip"): 404,
    ("GET", "cities/<slug:code>/populationsim.zip"): 404,
}
DERIVED = {CityBuild}
