"""The web server: gunicorn with a worker that receives a request before it takes a thread for it
(docs/adr/0043)."""
