"""Extras: one story each, in a package of its own, which comes in by the doors of docs/extras.md. The core
imports none of them; `SYNTHWEB_EXTRAS` names those that are on."""
