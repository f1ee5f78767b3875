#!/usr/bin/env bash
# scripts/check-package.sh [PACKAGE.deb]: installs the Debian package in a fresh root, runs it, removes it, and compares
# the root with its earlier state. Without an argument: the package in dist/packages.
#
# Requires root privileges, debootstrap and the Debian mirror of this machine; changes nothing outside its temporary
# directory. CHECK_ROOT=DIR keeps the fresh root there and reuses it in the next run. CHECK_SUITE selects a
# release other than this machine's.
set -euo pipefail
cd "$(dirname "$0")/.."

package=${1:-$(ls dist/packages/mediactl_*.deb)}
package=$(realpath "$package")
version=$(dpkg-deb --field "$package" Version)
[ "$(id -u)" -eq 0 ] || {
    echo "check-package: must be run as root, since it creates a root file system" >&2
    exit 1
}
suite=${CHECK_SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
# The Debian mirror of this machine, so that no other address is required.
mirror=$(apt-get indextargets --format '$(SITE)' "Codename: $suite" "Created-By: Packages" | head -1)

work=$(mktemp -d)
root=$work/root
finish() {
    local status=$?
    # Do not remove anything below a mounted file system.
    umount --quiet "$root/proc" 2>/dev/null || true
    if mountpoint --quiet "$root/proc"; then
        echo "check-package: $root/proc is still mounted; not removed" >&2
    else
        rm -rf "$work"
    fi
    [ $status -eq 0 ] || echo "check-package: FAILED" >&2
    exit $status
}
trap finish EXIT

say() { echo "check-package: $*"; }
in_root() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp/home LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
quietly() { # quietly COMMAND…: prints the command's output only if it fails
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        return 1
    }
}
expect() { # expect PATTERN COMMAND…: checks that the output of a command in the root has a matching line
    local pattern=$1
    shift
    in_root "$@" >"$work/output" 2>&1 || {
        cat "$work/output" >&2
        say "failed: $*" >&2
        return 1
    }
    grep -qE -- "$pattern" "$work/output" || {
        cat "$work/output" >&2
        say "no line matching \"$pattern\": $*" >&2
        return 1
    }
    say "ok: $*"
}
# All files in the root except those that change by themselves: names, types, modes, owners, links, checksums.
list_root() {
    (cd "$root" && find . \( -path ./proc -o -path ./tmp -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt \) -prune \
        -o -type f -printf '%p %y %m %u %g ' -exec sha256sum {} \; -o -printf '%p %y %m %u %g %l\n') |
        grep -vE '^\./(var/lib/dpkg/(status-old|available-old|lock|lock-frontend|triggers/Lock)|etc/ld\.so\.cache|var/lib/dpkg/status) ' |
        sort
}

if command -v lintian >/dev/null; then
    lintian --fail-on error "$package" || exit 1
    say "lintian: no errors"
else
    say "lintian is not installed"
fi

if [ -d "${CHECK_ROOT:-/nonexistent}/usr" ]; then
    cp -a "$CHECK_ROOT" "$root"
else
    say "unpacking a fresh $suite"
    quietly debootstrap --variant=minbase "$suite" "$root" "$mirror"
    if [ -n "${CHECK_ROOT:-}" ]; then
        cp -a "$root" "$CHECK_ROOT"
    fi
fi
mount -t proc proc "$root/proc"
# The suites of this machine, including security updates: otherwise, libraries may be older than those used for the
# build.
apt-get indextargets --format 'deb [trusted=yes] $(SITE) $(RELEASE) $(COMPONENT)' "Created-By: Packages" |
    grep -E "[/ ]$suite" | sort -u >"$root/etc/apt/sources.list"
quietly in_root apt-get update
# Removing the package does not remove the libraries, which belong to other Debian packages, so they are installed
# before the files of the root are listed.
say "installing its dependencies"
IFS=', ' read -ra dependencies < <(dpkg-deb --field "$package" Depends | sed -E 's/ \([^)]*\)//g; s/ \|[^,]*//g')
quietly in_root apt-get install -y --no-install-recommends "${dependencies[@]}"

# dpkg's own package list, of which only the timestamps change.
in_root dpkg-query -W >"$work/packages-before"
list_root >"$work/before"

dpkg-deb --fsys-tarfile "$package" | tar --extract --to-stdout ./usr/bin/mediactl >"$work/mediactl"
scripts/check-binary.sh "$work/mediactl"
say "ok: no RUNPATH, full RELRO"

cp "$package" "$root/tmp/mediactl.deb"
quietly in_root apt-get install -y --no-install-recommends /tmp/mediactl.deb
in_root dpkg-query -W >"$work/packages-installed"
added=$(comm -13 "$work/packages-before" "$work/packages-installed")
[ "$added" = "mediactl"$'\t'"$version" ] || {
    say "additional packages were installed: $added" >&2
    exit 1
}
say "ok: apt-get install installed only the package"

expect "^mediactl ${version//./\\.}$" mediactl --version
expect '^libcurl [0-9.]+ \(OpenSSL/' mediactl --version
expect '^Usage|^USAGE' mediactl --help
in_root sh -c 'head -c 100000 /dev/urandom >/tmp/clip.mp4'
expect 'clip.mp4' mediactl upload /tmp/clip.mp4 --server https://media.example.org --user uploader --dry-run --data-dir /tmp/data
expect 'no uploads|nothing|^$|ID ' mediactl uploads list --data-dir /tmp/data
expect '^data directory .* default$' mediactl config show
# As an ordinary user with a separate home directory.
expect "^mediactl ${version//./\\.}$" setpriv --reuid 65534 --regid 65534 --clear-groups mediactl --version
for file in usr/bin/mediactl usr/share/man/man1/mediactl.1.gz usr/share/bash-completion/completions/mediactl \
    usr/share/zsh/vendor-completions/_mediactl usr/share/fish/vendor_completions.d/mediactl.fish \
    usr/share/doc/mediactl/copyright usr/share/doc/mediactl/changelog.gz; do
    # dpkg may be configured to skip documents; it lists them even if it did not unpack them.
    grep -qx "/$file" "$root/var/lib/dpkg/info/mediactl.list" || {
        say "not in the package: /$file" >&2
        exit 1
    }
done
if [ -e "$root/usr/share/man/man1/mediactl.1.gz" ]; then
    gzip -t "$root"/usr/share/man/man1/mediactl*.gz
    say "ok: $(ls "$root"/usr/share/man/man1/mediactl*.gz | wc -l) manual pages"
fi
in_root bash -n /usr/share/bash-completion/completions/mediactl
quietly in_root dpkg --verify mediactl
say "ok: files are in place and as packed"

quietly in_root apt-get purge -y mediactl
list_root >"$work/after"
if ! diff "$work/before" "$work/after" >"$work/difference"; then
    cat "$work/difference" >&2
    say "the root differs from its earlier state" >&2
    exit 1
fi
say "ok: removed, no files are left"
say "passed: $(basename "$package") on $suite"
