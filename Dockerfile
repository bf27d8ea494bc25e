# One image for the web server, both workers, beat and migrations; docker-compose.yml says which is which.
FROM python:3.12-slim AS packages
WORKDIR /build
COPY requirements.lock deploy/traces.txt ./
# Only files whose hashes are known are installed; what sends traces, where they are asked for.
ARG TRACES=
RUN python -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock \
    && if [ -n "$TRACES" ]; then /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes --no-deps -r traces.txt; fi

FROM python:3.12-slim
ARG UID=1000
ARG GID=1000
# pg_dump and pg_restore, for backups.
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends postgresql-client \
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid "$GID" synthweb \
    && useradd --uid "$UID" --gid "$GID" --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin synthweb \
    && install -d -o synthweb -g synthweb -m 0700 /data /data/vault /data/previews /data/artefacts /data/run /data/spool
COPY --from=packages /opt/venv /opt/venv
# Workers copy the compiled loops of the image to the temporary file system of their container, and add there what their processor
# needs otherwise: no other service can write either of them.
ENV PATH=/opt/venv/bin:$PATH \
    NUMBA_CACHE_DIR=/tmp/numba \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=synthweb.settings \
    SYNTHWEB_VAR=/data \
    SYNTHWEB_STATIC_ROOT=/app/staticfiles
WORKDIR /app
COPY manage.py pyproject.toml LICENSE README.md ARCHITECTURE.md CHANGELOG.md ./
COPY docs docs
COPY examples examples
COPY locale locale
COPY static static
COPY templates templates
COPY synth_engine synth_engine
COPY synthweb synthweb
RUN NUMBA_CACHE_DIR=/app/compiled python -c "from synth_engine import jit; jit.warm_up()"
RUN SYNTHWEB_SECRET_KEY=only-for-this-step python manage.py collectstatic --no-input -v 0
USER synthweb
EXPOSE 8000
CMD ["gunicorn", "--config", "python:synthweb.server.configuration", "--bind", "0.0.0.0:8000", "synthweb.wsgi"]
