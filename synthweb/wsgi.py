"""The web process."""

import os

from django.core.wsgi import get_wsgi_application

from synthweb.lib import dumps

# Before the application is loaded: uploads and previews pass through the memory of this
# process.
dumps.forbid()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synthweb.settings")
application = get_wsgi_application()
