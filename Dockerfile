# One recipe for every process: gateway, fusion, client, or a lane of the table.
#   podman build --build-arg PROCESS=vector --tag lanemesh-vector .
# Layers go from what all images share to what only this one has. Nothing here names a registry: the only image from
# outside is BASE, a Debian with Python and its venv module. docs/images.md explains the rest.
ARG BASE=python:3.11-slim-bookworm

# What builds: uv at its locked version, and strip. A proxy's certificates and an index of one's own are handed in as
# secrets; see images/online.
FROM ${BASE} AS tools
ENV UV_LINK_MODE=copy UV_NO_PROGRESS=1 UV_PYTHON_DOWNLOADS=never PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
RUN command -v strip || { apt-get update -qq && apt-get install -qq -y --no-install-recommends binutils; }
WORKDIR /build
COPY images/online images/tools images/
COPY requirements.lock ./
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip --mount=type=secret,id=uv \
    images/online images/tools

# Python and the system's libraries it needs; no shell, no package manager. Equal in every image.
FROM tools AS runtime
COPY images/__init__.py images/runtime.py images/packages.py images/
RUN python3 -m images.runtime /rootfs

# What every process imports. Equal in every image.
FROM tools AS common
COPY pyproject.toml ./
COPY images/dependencies.py images/tidy images/
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip --mount=type=secret,id=uv --mount=type=cache,target=/root/.cache/uv \
    images/online python3 images/dependencies.py common && images/tidy /app

# The project. Equal in every image.
FROM common AS project
COPY README.md ./
COPY helm/values.yaml helm/
COPY protos/gen protos/gen
COPY services services
COPY gateway gateway
COPY fusion_service fusion_service
COPY client client
COPY images/project images/
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip --mount=type=secret,id=uv --mount=type=cache,target=/root/.cache/uv \
    images/online images/project /app/mesh && images/tidy /app/mesh

# What only this process imports.
FROM common AS own
ARG PROCESS
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip --mount=type=secret,id=uv --mount=type=cache,target=/root/.cache/uv \
    images/online python3 images/dependencies.py "${PROCESS:?say which process: --build-arg PROCESS=gateway}" && images/tidy /app/own

# How it is started, and the model that it runs.
FROM project AS start
ARG PROCESS
ARG PRECISION=int8
COPY images/start.py images/model images/
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip --mount=type=secret,id=uv --mount=type=cache,target=/root/.cache/uv \
    /app/venv/bin/python images/start.py "${PROCESS}" /app/start.py && images/online images/model "${PROCESS}" "${PRECISION}" /app/models

FROM scratch
COPY --from=runtime /rootfs /
COPY --from=common /app/venv /app/venv
COPY --from=project /app/mesh /app/mesh
COPY --from=own /app/own /app/own
COPY --from=start /app/models /app/models
COPY --from=start /app/start.py /app/start.py
ARG PROCESS
ARG REVISION=unknown
LABEL org.opencontainers.image.title="lanemesh-${PROCESS}" org.opencontainers.image.revision="${REVISION}"
ENV PATH=/app/venv/bin LANG=C.UTF-8 LANEMESH_HOME=/data LANEMESH_MODELS=/app/models OPENBLAS_NUM_THREADS=1 \
    PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/app/venv/bin/python", "/app/start.py"]
