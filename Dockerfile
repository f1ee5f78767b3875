# syntax=docker/dockerfile:1
#
# An image with only Debian, the package of `make dist`, and an unprivileged user:
#
#   docker build -t mediactl .
#   docker run --rm mediactl --version
#   docker run --rm -v mediactl:/data -v "$PWD:/media:ro" -e MEDIACTL_SERVER -e MEDIACTL_USER -e MEDIACTL_PASSWORD \
#       mediactl upload clip.mp4
#
# Keep /data: it contains the delete tokens. This file has been linted (hadolint) but not built yet; `make check-package`
# runs the steps of the last stage in a fresh Debian (docs/packaging.md).
ARG SWIFT_VERSION=6.3
FROM swift:${SWIFT_VERSION}-bookworm AS build
# scripts/setup.sh installs the other dependencies. No versions are pinned, so that a build has Debian's latest fixes.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN make dist

FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN --mount=type=bind,from=build,source=/source/dist/packages,target=/packages \
    apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates /packages/mediactl_*.deb \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 mediactl \
    && useradd --system --uid 10001 --gid mediactl --home-dir /data --shell /usr/sbin/nologin mediactl \
    && install -d -o mediactl -g mediactl -m 700 /data \
    && install -d /media
ENV XDG_DATA_HOME=/data/share XDG_CONFIG_HOME=/data/config XDG_CACHE_HOME=/data/cache
USER 10001:10001
VOLUME /data
WORKDIR /media
ENTRYPOINT ["mediactl"]
