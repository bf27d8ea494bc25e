"""Relational releases: how a database of several tables is measured, modelled, generated and written. It sees
no row of a real table: `pipeline` opens the room."""
