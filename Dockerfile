# syntax=docker/dockerfile:1
# The image is built from the same lock as every other installation: nothing that is not pinned by its hash.

FROM rust:1.95-slim-bookworm AS engine
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip python3-venv gcc g++ cmake && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY requirements-dev.lock ./
RUN python3 -m venv /venv && grep --extended-regexp --after-context=20 '^maturin==' requirements-dev.lock \
    | awk 'NR > 1 && /^[a-z]/ { exit } { print }' > maturin.lock && /venv/bin/pip install --require-hashes --requirement maturin.lock
COPY regorus-py ./regorus-py
RUN /venv/bin/maturin build --release --locked --manifest-path regorus-py/Cargo.toml --out /wheels

FROM python:3.12-slim-bookworm AS program
WORKDIR /build
COPY requirements.lock ./
RUN python -m venv /opt/headgate && /opt/headgate/bin/pip install --no-cache-dir --require-hashes --requirement requirements.lock
COPY --from=engine /wheels /wheels
RUN /opt/headgate/bin/pip install --no-cache-dir --no-deps /wheels/*.whl
COPY pyproject.toml hatch_build.py requirements.in README.md LICENSE ./
COPY proxy ./proxy
COPY addons ./addons
COPY admin_api ./admin_api
COPY headgate ./headgate
COPY config ./config
RUN /opt/headgate/bin/pip install --no-cache-dir --no-deps .

FROM python:3.12-slim-bookworm
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/headgate headgate
COPY --from=program /opt/headgate /opt/headgate
ENV PATH=/opt/headgate/bin:$PATH PYTHONUNBUFFERED=1 HEADGATE_DATA_DIR=/var/lib/headgate
USER 10001
WORKDIR /var/lib/headgate
VOLUME /var/lib/headgate
EXPOSE 8080 8443
HEALTHCHECK --interval=10s --timeout=3s CMD ["headgate", "doctor", "--quiet"]
ENTRYPOINT ["headgate"]
CMD ["up"]
