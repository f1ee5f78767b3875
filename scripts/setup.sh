#!/usr/bin/env bash
# Installs missing dependencies for building, demonstrating, testing, benchmarking or packaging mediactl. Only the Swift
# toolchain is a prerequisite.
#
#   scripts/setup.sh [build|demo|test|bench|dist|check-package|model]
#
# Safe to run again: silent if everything is installed. Python packages are installed only in .build/venv.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:-build}
venv=.build/venv
python_packages=(werkzeug python-multipart tuspyserver uvicorn pyyaml rfc8785 cbor2 tink flask immichpy opentimelineio hpack)
PATH=$PATH:/usr/sbin:/sbin # nginx is there, and an ordinary user's PATH may not contain it

has_command() { command -v "$1" >/dev/null 2>&1; }
has_library() { has_command pkg-config && pkg-config --exists "$1"; }
has_gnu_parallel() { has_command parallel && parallel --version 2>/dev/null | grep -q '^GNU parallel'; }
has_tpm2_provider() { [ -e "$(openssl version -m | sed 's/^MODULESDIR: "\(.*\)"$/\1/')/tpm2.so" ]; }
has_venv_module() { python3 -c 'import ensurepip, venv' >/dev/null 2>&1; }
has_python_packages() { "$venv/bin/python" -c 'import werkzeug, python_multipart, tuspyserver, uvicorn, yaml, rfc8785, cbor2, tink, flask, immichpy, opentimelineio, hpack' >/dev/null 2>&1; }

missing=()
need() { # need PACKAGE CHECK…: PACKAGE is required if CHECK fails
    local package=$1
    shift
    "$@" || missing+=("$package")
}

need_for_build() {
    need binutils has_command readelf
    need pkg-config has_command pkg-config
    need libcurl4-openssl-dev has_library "libcurl >= 7.85"
    need libsqlite3-dev has_library sqlite3
    need libssl-dev has_library "libcrypto >= 3"
    need zlib1g-dev has_library zlib
    # For the trait ImageLibraries, which is enabled by default.
    need libpng-dev has_library libpng
}

need_for_demo() {
    need_for_build
    need curl has_command curl
}

need_for_test() {
    need_for_demo
    need ffmpeg has_command ffmpeg
    need libimage-exiftool-perl has_command exiftool
    need nginx-light has_command nginx
    need openssl has_command openssl
    need parallel has_gnu_parallel
    need php-cli has_command php
    need python3 has_command python3
    need python3-venv has_venv_module
    need strace has_command strace
    need swtpm has_command swtpm
    need swtpm-tools has_command swtpm_setup
    need tpm2-openssl has_tpm2_provider
    need tpm2-tools has_command tpm2_certify
}

need_for_dist() {
    need_for_build
    need python3 has_command python3
    # On other systems, no Debian package is built.
    if has_command apt-get; then
        need dpkg-dev has_command dpkg-shlibdeps
    fi
}

need_for_check_package() {
    need debootstrap has_command debootstrap
    need lintian has_command lintian
}

need_for_model() {
    need gcc has_command cc
    need libc6-dev test -e /usr/include/stdio.h
    need python3 has_command python3
    need spin has_command spin
}

need_for_bench() {
    need_for_demo
    need openssl has_command openssl
    need python3 has_command python3
}

install_packages() {
    if ! has_command apt-get; then
        echo "setup: missing: ${missing[*]} (Debian names); install them with this system's package manager" >&2
        exit 1
    fi
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! has_command sudo; then
            echo "setup: missing: ${missing[*]}; run as root: apt-get install ${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    echo "setup: installing ${missing[*]}"
    local log
    log=$(mktemp)
    if ! {
        "${as_root[@]}" apt-get update &&
            "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
    } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        exit 1
    fi
    rm -f "$log"
}

case $level in
build | demo | test | bench | dist | check-package | model) "need_for_${level//-/_}" ;;
*)
    echo "usage: scripts/setup.sh [build|demo|test|bench|dist|check-package|model]" >&2
    exit 2
    ;;
esac

if [ "$level" != check-package ] && [ "$level" != model ] && ! has_command swift; then
    echo "setup: swift is not in PATH; install a toolchain from https://www.swift.org/install (6.2 or later)" >&2
    exit 1
fi
if [ ${#missing[@]} -gt 0 ]; then
    install_packages
fi
if [ "$level" = test ] && ! has_python_packages; then
    echo "setup: installing ${python_packages[*]} into $venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${python_packages[@]}"
fi
