"""The web process."""

import os

from django.core.wsgi import get_wsgi_application

from synthweb.lib import dumps

dumps.forbid()  # uploads and previews pass through its memory
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synthweb.settings")
application = get_wsgi_application()
