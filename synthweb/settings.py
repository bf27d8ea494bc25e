"""Settings of synthweb. What an operator decides comes from the environment, and docs/settings.md lists it;
the rest is a constant here. An empty value in the environment counts as none.

Without any, this is the local installation of `make run`: SQLite and an embedded Redis below `var/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import environ
from csp.constants import NONE, SELF, UNSAFE_INLINE
from redis.backoff import NoBackoff
from redis.retry import Retry

import synth_engine
from synth_engine import __version__
from synthweb.lib import extras, logs, shipped
from synthweb.lib.env import (
    LOCAL,
    Environment,
    cookie_name,
    counting_place,
    flag,
    log_format,
    origin_of,
    otlp_endpoint,
    refuse_demo_users_for_others,
    refuse_plain_issuer,
    secret,
)

BASE_DIR = shipped.ROOT
env = Environment()

# --- where things lie ---------------------------------------------------------------------------------------
VAR_DIR = Path(env.str("SYNTHWEB_VAR", default=str(shipped.data_folder())))
VAULT_DIR = VAR_DIR / "vault"  # encrypted tables
PREVIEW_DIR = VAR_DIR / "previews"  # encrypted steward objects
ARTEFACT_DIR = VAR_DIR / "artefacts"  # noisy answers
SPOOL_DIR = VAR_DIR / "spool"  # synthetic rows on their way out
KEY_DIR = VAR_DIR / "keys"
# The worker's private key opens tables: the web's environment must not have it (docs/deployment.md).
VAULT_PUBLIC_KEY_FILE = Path(
    env.str("SYNTHWEB_VAULT_PUBLIC_KEY_FILE", default=str(KEY_DIR / "vault.pub"))
)
VAULT_PRIVATE_KEY_FILE = Path(
    env.str("SYNTHWEB_VAULT_PRIVATE_KEY_FILE", default=str(KEY_DIR / "worker" / "vault.key"))
)
PREVIEW_PUBLIC_KEY_FILE = Path(
    env.str("SYNTHWEB_PREVIEW_PUBLIC_KEY_FILE", default=str(KEY_DIR / "preview.pub"))
)
PREVIEW_PRIVATE_KEY_FILE = Path(
    env.str("SYNTHWEB_PREVIEW_PRIVATE_KEY_FILE", default=str(KEY_DIR / "web" / "preview.key"))
)
CONTENT_KEY_FILE = Path(
    env.str("SYNTHWEB_CONTENT_KEY_FILE", default=str(KEY_DIR / "web" / "content.key"))
)
SIGNING_PRIVATE_KEY_FILE = Path(
    env.str("SYNTHWEB_SIGNING_PRIVATE_KEY_FILE", default=str(KEY_DIR / "web" / "signing.key"))
)
# The public key, age1…, that `manage.py backup` encrypts to; its private half is kept elsewhere.
BACKUP_RECIPIENT = env.str("SYNTHWEB_BACKUP_RECIPIENT", default="")
# Where signed checkpoints are kept that the database must hold before an account spends; none: not looked at.
CHECKPOINT_DIR = env.str("SYNTHWEB_CHECKPOINTS", default="")


# --- Django -------------------------------------------------------------------------------------------------
SECRET_KEY = secret("SYNTHWEB_SECRET_KEY", file=KEY_DIR / "secret.key")
DEBUG = False  # Django's error pages show what the server holds
ALLOWED_HOSTS = env.list("SYNTHWEB_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
HTTPS = flag("SYNTHWEB_HTTPS", default=False)
PROXIES = env.int(
    "SYNTHWEB_PROXIES", default=0
)  # how many of our own proxies add to X-Forwarded-For
# Demo users may sign in where this machine alone is served.
DEMO_USERS = flag("SYNTHWEB_DEMO_USERS", default=set(ALLOWED_HOSTS) <= LOCAL)
refuse_demo_users_for_others(demo_users=DEMO_USERS, hosts=ALLOWED_HOSTS)

# Stories of their own beside the core (docs/extras.md): names, or "none".
EXTRAS = extras.packages(env.list("SYNTHWEB_EXTRAS", default=["cities", "scenarios"]))
INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "synthweb.accounts.administration.AdministrationConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",
    "crispy_forms",
    "crispy_bootstrap5",
    "csp",
    "synthweb.audit",
    "synthweb.accounts",
    "synthweb.notifications",
    "synthweb.datasets",
    "synthweb.references",
    "synthweb.ledger",
    "synthweb.releases",
    "synthweb.runs",
    "synthweb.backups",
    "synthweb.pages",
    "synthweb.api",
    *EXTRAS,
]
MIDDLEWARE = [
    "synthweb.lib.request_ids.name_requests",
    "synthweb.accounts.middleware.log_requests",
    "synthweb.lib.traced_requests.trace_requests",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "synthweb.lib.permissions_policy.state_policy",
    "synthweb.api.version.state_version",  # before whatever refuses, because refusals state it, too
    "synthweb.lib.request_guards.refuse_nul",
    "synthweb.lib.request_guards.refuse_plain_rest",
    "synthweb.lib.bodies.refuse_too_large",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "synthweb.lib.language.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "synthweb.accounts.middleware.keep_no_copies",
    "synthweb.accounts.middleware.end_idle_sessions",
    "synthweb.accounts.middleware.change_password_first",
    "synthweb.accounts.middleware.set_up_second_factor_first",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "synthweb.urls"
WSGI_APPLICATION = "synthweb.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "synthweb.accounts.context.me",
            ],
            "builtins": ["synthweb.pages.templatetags.amounts"],
        },
    }
]

# --- database: IMMEDIATE transactions and WAL on SQLite, so that writers queue instead of failing -----------
DATABASES = {
    "default": environ.Env.db_url_config(
        secret("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'synthweb.sqlite3'}")
    )
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA recursive_triggers=ON;",
    }
else:
    DATABASES["default"] |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    DATABASES["default"]["OPTIONS"] = {
        # What the address asks for, such as sslmode=verify-full&sslrootcert=…
        **DATABASES["default"].get("OPTIONS", {}),
        "connect_timeout": 10,
        "application_name": "synthweb",
        # nobody holds the ledger for long
        "options": "-c lock_timeout=20s -c idle_in_transaction_session_timeout=120s",
    }
# For the process that migrates alone: the role that the others connect as (synthweb/lib/application_role.py).
APPLICATION_ROLE = env.str("SYNTHWEB_APPLICATION_ROLE", default="")
APPLICATION_PASSWORD = secret("SYNTHWEB_APPLICATION_PASSWORD", default="")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- people -------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["synthweb.accounts.backends.PeopleBackend"]
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "accounts:login"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "synthweb.accounts.known_passwords.Guessable"},
    {"NAME": "synthweb.accounts.known_passwords.Breached"},
    {"NAME": "synthweb.accounts.passwords.RevokesTokens"},
]

# Sign-in at an identity provider by OpenID Connect; without an issuer there is none (docs/security.md).
OIDC_ISSUER = env.str("SYNTHWEB_OIDC_ISSUER", default="")
refuse_plain_issuer(OIDC_ISSUER)
OIDC_CLIENT_ID = env.str("SYNTHWEB_OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = secret(
    "SYNTHWEB_OIDC_CLIENT_SECRET", file=KEY_DIR / "web" / "oidc.secret" if OIDC_ISSUER else None
)
OIDC_SCOPES = env.str("SYNTHWEB_OIDC_SCOPES", default="openid profile email")
OIDC_USERNAME_CLAIM = env.str("SYNTHWEB_OIDC_USERNAME_CLAIM", default="preferred_username")
OIDC_ROLES_CLAIM = env.str("SYNTHWEB_OIDC_ROLES_CLAIM", default="groups")
OIDC_ROLES = env.list("SYNTHWEB_OIDC_ROLES", default=[])  # value=role
OIDC_ORGANISATION = env.str("SYNTHWEB_OIDC_ORGANISATION", default="")
EMERGENCY_USER = env.str("SYNTHWEB_EMERGENCY_USER", default="")  # by password when it is down
# Roles that need a second factor, and "staff" for those who manage people; demo users never do.
SECOND_FACTOR_ROLES = env.list(
    "SYNTHWEB_SECOND_FACTOR_ROLES", default=["custodian", "staff"] if HTTPS else []
)
# SHA-1 hashes of passwords that were found in breaches, in order; "" has none (docs/security.md).
BREACHED_PASSWORDS_FILE = env.str("SYNTHWEB_BREACHED_PASSWORDS_FILE", default="")
PASSWORD_RESET_TIMEOUT = 30 * 60  # seconds

# --- Celery: the broker is a doorbell; the truth is in the database (ARCHITECTURE.md) -----------------------
CELERY_BROKER_URL = secret(
    "SYNTHWEB_BROKER", default=f"redis+socket://{VAR_DIR / 'redis' / 'redis.sock'}"
)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_DEFAULT_QUEUE = "default"
# A lost message is sent again by the reconciler; a doubled one is refused by the lease
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A child that once needed more (KiB) is replaced when its task is over: what it has loaded and not given back
# would stay.
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 1024**2
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 5}
# The same Redis counts requests for all web processes (synthweb/api/throttling.py); a broker of another kind:
# each alone.
_SHARED = CELERY_BROKER_URL.removeprefix("redis+socket://")
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": CELERY_BROKER_URL if _SHARED == CELERY_BROKER_URL else f"unix://{_SHARED}",
        "KEY_PREFIX": "synthweb",
        "OPTIONS": {
            "socket_timeout": 1,
            "socket_connect_timeout": 1,
            "retry": Retry(NoBackoff(), 0),
        },
    },
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
}
if not CELERY_BROKER_URL.startswith(("redis://", "rediss://", "redis+socket://")):
    CACHES["default"] = CACHES["process"]
# A worker without a heartbeat for so long loses its run.
RUN_LEASE_SECONDS = 60
# How often the reconciler looks for lost messages and lost workers.
RECONCILE_SECONDS = 10
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "reconcile": {
        "task": "runs.reconcile",
        "schedule": float(RECONCILE_SECONDS),
        "options": {
            "queue": "default",
            "expires": 60 + RECONCILE_SECONDS,
        },  # never a pile of old ones
    },
    "retention": {
        "task": "runs.retention",
        "schedule": 3600.0,
        "options": {"queue": "default", "expires": 3600},
    },
    "notifications": {
        "task": "notifications.deliver",
        "schedule": float(RECONCILE_SECONDS),
        "options": {"queue": "notifications", "expires": RECONCILE_SECONDS},
    },
}
# Where the confidential worker counts records: "dask" or "spark" on a cluster, and without one in memory or
# in encrypted files, as fits the table (docs/scale.md).
_CLUSTER = env.str("SYNTHWEB_CLUSTER", default="")
COUNTING = {
    "place": counting_place(_CLUSTER),
    "address": _CLUSTER,
    "folder": env.str("SYNTHWEB_CLUSTER_FOLDER", default=""),
    "key_file": env.str("SYNTHWEB_CLUSTER_KEY_FILE", default=""),
}
# What `jit.warm_up` left of this installation, as its owner (docs/deployment.md); none in a checkout.
COMPILED = BASE_DIR / "compiled"
# Tests kill workers at named places, with settings of their own (synthweb/runs/failpoints.py).
DEBUG_FAILPOINTS = FAIL_AT = ""

# --- notifications: without a host no e-mail is sent --------------------------------------------------------
SITE_URL = env.str(
    "SYNTHWEB_SITE_URL", default="http://localhost:8000"
)  # what links begin with
# Forms come from there, too, where a proxy gives the application another host.
CSRF_TRUSTED_ORIGINS = origin_of(SITE_URL)
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_HOST = env.str("SYNTHWEB_EMAIL_HOST", default="")
EMAIL_PORT = env.int("SYNTHWEB_EMAIL_PORT", default=587)
EMAIL_HOST_USER = env.str("SYNTHWEB_EMAIL_USER", default="")
EMAIL_HOST_PASSWORD = secret("SYNTHWEB_EMAIL_PASSWORD", default="")
EMAIL_USE_TLS = flag("SYNTHWEB_EMAIL_STARTTLS", default=True)
EMAIL_TIMEOUT = 10  # seconds, for each reply of the mail server
DEFAULT_FROM_EMAIL = env.str("SYNTHWEB_EMAIL_FROM", default="synthweb@localhost")
WEBHOOK_SECONDS = 10  # one call in all
WEBHOOK_DISABLE_DAYS = 5  # without an arrival it is switched off
# Networks that are not public and may be called all the same.
WEBHOOK_NETWORKS = env.list("SYNTHWEB_WEBHOOK_NETWORKS", default=[])

# --- limits -------------------------------------------------------------------------------------------------
# Words that passwords should not be made of: names of the place, its offices and projects.
PASSWORD_WORDS = env.list("SYNTHWEB_PASSWORD_WORDS", default=[])
ONE_TIME_PASSWORD_HOURS = 72
UPLOAD_MAX_BYTES = env.int("SYNTHWEB_UPLOAD_MAX_BYTES", default=2 * 1024**3)
# How long an unfinished upload waits for its next piece.
UPLOAD_HOURS = 24
UPLOADS_UNFINISHED = 5  # of one person
RHO = env.float(
    "SYNTHWEB_RHO", default=0
)  # of all columns of unknown values; 0: of each its own
PREVIEW_HOURS = 24  # previews and comparisons, which show real rows
SAMPLE_MAX_ROWS = 10_000_000
TEST_DATA_MAX_ROWS = 1_000_000  # all are in memory at once: with 15 columns about 2 GB
# Tables that are generated or downloaded at once, on one machine.
DRAWINGS, DRAWINGS_PER_PERSON = 4, 2
# First rows, comparisons and forecasts that are made at once: of everybody fewer than the web's threads, so
# that other pages are answered meanwhile.
PREVIEWS_AT_ONCE, PREVIEWS_AT_ONCE_PER_PERSON = 12, 8
# No form may spool a file to a disk in the clear; tables come in through datasets.uploads, which encrypts as
# it receives.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024**2
DATA_UPLOAD_MAX_NUMBER_FILES = 1
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000  # a describe page of a wide table

# --- REST ---------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "synthweb.api.schema.Schema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["synthweb.api.parsers.StrictJsonParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "synthweb.api.authentication.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",  # the reference page; with CSRF protection
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "synthweb.api.authentication.HasScope",
    ],
    "DEFAULT_METADATA_CLASS": "synthweb.api.metadata.NameAlone",
    "DEFAULT_THROTTLE_CLASSES": ["synthweb.api.throttling.Limits"],
    "DEFAULT_PAGINATION_CLASS": "synthweb.api.pagination.Pages",
    "EXCEPTION_HANDLER": "synthweb.api.problems.exception_handler",
}
# Most requests a minute of one person, whatever tokens and browsers they use; 0 is no limit. The other limits
# are shares of it: of one token, of requests that change something, of tables to download, and without a
# usable token of one address.
_REST = env.int("SYNTHWEB_REST_PER_MINUTE", default=600)
REST_PER_MINUTE = {
    "user": _REST,
    "token": -(-_REST // 2),
    "write": -(-_REST // 10),
    "file": -(-_REST // 20),
    "stranger": min(30, _REST),
}
IDEMPOTENCY_HOURS = 24  # how long the answer to a key is kept
REST_VERSION = ".".join(
    __version__.split(".")[:2]
)  # stated in every answer (synthweb/api/version.py)
SPECTACULAR_SETTINGS = {
    "TITLE": "synthweb",
    "DESCRIPTION": "Synthetic data under differential privacy. Errors are problem documents (RFC 9457).",
    "VERSION": REST_VERSION,
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "synthweb.api.schema.add_problems",
    ],
    "ENUM_NAME_OVERRIDES": {
        "DatasetStatus": "synthweb.datasets.models.Dataset.Status",
        "RequestState": "synthweb.ledger.models.BudgetRequest.State",
        "RunState": "synthweb.runs.models.SynthesisRun.State",
        "EntryKind": "synthweb.ledger.models.LedgerEntry.Kind",
        "CompositionRule": "synthweb.ledger.models.Rule",
        "FigureKind": "synth_engine.plans.release_check.KINDS",
        "CriterionKind": "synth_engine.plans.release_check.CRITERION_KINDS",
        "ForecastLevel": "synth_engine.evaluation.forecast.LEVELS",
        "ColumnWord": "synth_engine.evaluation.quality_words.COLUMN_WORDS",
        "Relations": "synth_engine.evaluation.quality_words.RELATION_LEVELS",
    },
}

# --- pages --------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]  # each in its own language
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "synthweb.lib.formats"
LANGUAGE_COOKIE_NAME = cookie_name("language", secret_key=SECRET_KEY, https=HTTPS)
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_SECURE = HTTPS
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [
    BASE_DIR / "static",
    # Reports that open without the application have Plotly from the engine; pages have the same file.
    ("vendor", Path(synth_engine.__file__).parent / "evaluation" / "assets" / "plotly"),
]
# Deployed: names with hashes, compressed once by collectstatic. Local: straight from where the files lie.
STATIC_ROOT = env.str("SYNTHWEB_STATIC_ROOT", default="") or None
WHITENOISE_USE_FINDERS = STATIC_ROOT is None
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if STATIC_ROOT
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
CRISPY_ALLOWED_TEMPLATE_PACKS = "bootstrap5"
CRISPY_TEMPLATE_PACK = "bootstrap5"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src-elem": [SELF],
        "style-src-attr": [UNSAFE_INLINE],  # bar widths and Plotly's own style attributes
        "img-src": [SELF, "data:", "blob:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}
SESSION_COOKIE_NAME = cookie_name("session", secret_key=SECRET_KEY, https=HTTPS)
SESSION_ENGINE = "synthweb.accounts.session_store"
SESSION_HOURS = env.int("SYNTHWEB_SESSION_HOURS", default=12)
SESSION_COOKIE_AGE = SESSION_HOURS * 3600
IDLE_MINUTES = env.int("SYNTHWEB_IDLE_MINUTES", default=60)
REAUTHENTICATION_MINUTES = env.int("SYNTHWEB_REAUTHENTICATION_MINUTES", default=15)
REAUTHENTICATION_SHARE = 0.25  # of what an account has left: a run that takes more needs one
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = (
    True  # htmx sends the token that the page gives it
)
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = cookie_name("csrf", secret_key=SECRET_KEY, https=HTTPS)
MESSAGE_STORAGE = "synthweb.lib.messages.Storage"
MESSAGE_COOKIE_NAME = cookie_name("messages", secret_key=SECRET_KEY, https=HTTPS)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [
    r"^livez$",
    r"^readyz$",
    r"^metrics$",
    # Those are asked from inside, without TLS; this one is refused (refuse_plain_rest).
    r"^api/",
]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS and PROXIES else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# --- the administration: to read, for auditors and whoever manages people -----------------------------------
SLATE = {
    "50": 97,
    "100": 94,
    "200": 88,
    "300": 79,
    "400": 68,
    "500": 56,
    "600": 45,
    "700": 39,
    "800": 33,
    "900": 28,
    "950": 20,
}
UNFOLD = {
    "SITE_TITLE": "synthweb administration",
    "SITE_HEADER": "synthweb",
    "SITE_SUBHEADER": "administration, read only",
    "SITE_URL": "/",
    "SITE_SYMBOL": "fact_check",
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": True,
    "SITE_DROPDOWN": [
        {"icon": "home", "title": "Home of synthweb", "link": "/"},
        {"icon": "table", "title": "Datasets", "link": "/datasets/"},
        {"icon": "inventory_2", "title": "Releases", "link": "/releases/"},
        {"icon": "play_circle", "title": "Runs", "link": "/runs/"},
        {"icon": "account_balance", "title": "Ledger", "link": "/ledger/"},
        {"icon": "menu_book", "title": "Documentation", "link": "/docs/"},
    ],
    "BORDER_RADIUS": "6px",
    "COLORS": {"primary": {step: f"oklch({light}% .06 255)" for step, light in SLATE.items()}},
}

# Whoever shows it reads the numbers at /metrics; without one there are none.
METRICS_TOKEN = secret("SYNTHWEB_METRICS_TOKEN", default="")
# Where spans are sent, http://collector:4318/v1/traces; without one nothing is traced
# (synthweb/lib/tracing.py).
TRACES = otlp_endpoint(env.str("SYNTHWEB_TRACES", default=""))
LOG_FORMAT = log_format(env.str("SYNTHWEB_LOG_FORMAT", default="plain"))
LOGGING = logs.configuration(LOG_FORMAT)
