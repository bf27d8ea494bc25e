"""The installation that `make run` makes on one machine: keys, an embedded Redis, the web server, two workers
and beat, watched by one small process. Nothing here is imported by the application."""
