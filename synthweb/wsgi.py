"""The web process."""

import importlib
import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.template import engines

from synthweb.lib import dumps

# Before the application is loaded: uploads and previews pass through the memory of this
# process.
dumps.forbid()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synthweb.settings")
if "timeout" in settings.DATABASES["default"]["OPTIONS"]:
    # Seconds that a writer waits for another one on SQLite: somebody waits for the answer here, which is 503
    # then, and nobody for that of a worker.
    settings.DATABASES["default"]["OPTIONS"]["timeout"] = 10
application = get_wsgi_application()
# What the first page would load.
importlib.import_module("synthweb.urls")
engines.all()
