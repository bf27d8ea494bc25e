"""The format of what an installation keeps: its database, the other files of `var/`, and its backups.

It is raised by one wherever one of them is written otherwise; `python -m tests.one_migration` does so where a table changes.
Another number than this is refused (ADR 175).
"""

FORMAT = 1
