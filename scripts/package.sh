#!/usr/bin/env bash
# scripts/package.sh DIR: packages the output of `make man` in dist/ into DIR: a tarball, a Debian package if dpkg-deb
# is available, an SPDX document, and SHA256SUMS.
#
# The same binary produces the same bytes: times are those of the last commit (SOURCE_DATE_EPOCH), names are sorted, and
# root owns all files. MEDIACTL_MAINTAINER and MEDIACTL_HOMEPAGE are written to the Debian package.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C TZ=UTC

directory=${1:?usage: scripts/package.sh DIR}
version=$(scripts/version.sh)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH MEDIACTL_VERSION=$version
# Debian sorts a version with a tilde before the release itself.
debian_version=${version/-/\~}
machine=$(uname -m)
printed=$(dist/mediactl --version | head -1)
[ "$printed" = "mediactl $version" ] || {
    echo "package: dist/mediactl prints \"$printed\", but the version in the sources is $version" >&2
    exit 1
}

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$directory"
rm -f "$directory"/mediactl-*.tar.gz "$directory"/mediactl_*.deb "$directory"/mediactl-*.spdx.json "$directory/SHA256SUMS"
components() { scripts/components.py "$1" dist/mediactl dist/mediactl.objects; }
same_time() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }
# make would print its commands and pass its own flags on.
install_into() { MAKEFLAGS='' make --silent --no-print-directory install-files "$@"; }

# The tarball can be unpacked anywhere, for example with `tar -xz --strip-components 1 -C ~/.local`.
name=mediactl-$version-linux-$machine
tree=$stage/$name
install_into DESTDIR="$tree" PREFIX=
install -m 644 LICENSE README.md CHANGELOG.md "$tree"
components notices >"$tree/THIRD-PARTY.txt"
# The documents linked from README.md.
git ls-files -z docs CONTRIBUTING.md Sources/CPlaces/README.md | xargs -0 cp --parents -t "$tree"
find "$tree" -type f ! -path '*/bin/*' -exec chmod 644 {} +
same_time "$tree"
tar --create --directory "$stage" --format=gnu --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$SOURCE_DATE_EPOCH" "$name" | gzip -9n >"$directory/$name.tar.gz"

components spdx >"$directory/mediactl-$version.spdx.json"

make_debian_package() {
    local root=$stage/debian-root architecture
    architecture=$(dpkg --print-architecture)
    install_into DESTDIR="$root" PREFIX=/usr ZSH_COMPLETIONS=/usr/share/zsh/vendor-completions
    gzip -9n "$root"/usr/share/man/man1/*.1

    local doc=$root/usr/share/doc/mediactl
    install -d "$doc" "$root/usr/share/lintian/overrides" "$root/DEBIAN"
    components copyright >"$doc/copyright"
    install -m 644 README.md CHANGELOG.md "$doc"
    cat >"$doc/changelog" <<END
mediactl ($debian_version) unstable; urgency=medium

  * See CHANGELOG.md.gz.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END
    gzip -9n "$doc/changelog" "$doc/CHANGELOG.md" "$doc/README.md"
    install -m 644 packaging/lintian-overrides "$root/usr/share/lintian/overrides/mediactl"
    find "$root" -type d -exec chmod 755 {} +
    find "$root" -type f ! -path '*/bin/*' -exec chmod 644 {} +

    # The libraries required by the binary, with the versions of the symbols that it uses.
    mkdir -p "$stage/shlibs/debian"
    printf 'Source: mediactl\n\nPackage: mediactl\nArchitecture: any\n' >"$stage/shlibs/debian/control"
    local depends
    depends=$(cd "$stage/shlibs" && dpkg-shlibdeps -O "$root/usr/bin/mediactl" | sed -n 's/^shlibs:Depends=//p')
    # libcurl's symbol list does not cover options: mediactl sets one that was added in 7.85.
    depends=$(sed -E 's/(libcurl4(t64)?) \([^)]*\)/\1 (>= 7.85.0)/' <<<"$depends")

    {
        cat <<END
Package: mediactl
Version: $debian_version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du --apparent-size -s -k "$root" | cut -f 1)
Depends: $depends
Recommends: ca-certificates
Suggests: ffmpeg, tpm2-openssl, tpm2-tools
Section: net
Priority: optional
END
        if [ -n "${MEDIACTL_HOMEPAGE:-}" ]; then
            echo "Homepage: $MEDIACTL_HOMEPAGE"
        fi
        cat packaging/description
    } >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    same_time "$root"
    dpkg-deb --root-owner-group -Zxz --build "$root" "$directory/mediactl_${version}_$architecture.deb" >/dev/null
}

maintainer=${MEDIACTL_MAINTAINER:-mediactl authors <$(git log -1 --format=%ae)>}
if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
    make_debian_package
else
    echo "package: no Debian package: dpkg-deb and dpkg-shlibdeps (dpkg-dev) are not installed" >&2
fi

cd "$directory"
sha256sum mediactl-* mediactl_* 2>/dev/null >SHA256SUMS || [ -s SHA256SUMS ]
ls -l mediactl-* mediactl_* SHA256SUMS 2>/dev/null || true
