#!/bin/sh
# Verifies a bundle of `mediactl hash-only export` with standard tools: sed, base64, od, cmp, sha256sum and openssl.
#
#     sh verify-bundle.sh BUNDLE.json MEDIA
#
# Exits with 0 if the media has the hash that the key signed, and with 1 otherwise.
set -eu
bundle=$1
media=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAIL  $1"
    exit 1
}
# A text or a number of the bundle, which is one line of JSON.
field() { sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p' "$bundle"; }
hex() { od -An -v -tx1 | tr -d ' \n'; }

field body | base64 -d > "$work/body.json" || fail "body"
field signed_bytes | base64 -d > "$work/signed.json" || fail "signed bytes"
field authenticator_data | base64 -d > "$work/authenticator" || fail "authenticator data"
field signature | base64 -d > "$work/signature.der" || fail "signature"
printf '%b' "$(field public_key)" > "$work/key.pem"

# The media, the bundle and the signed bytes have the same hash.
hash=$(sha256sum < "$media" | cut -c 1-64)
[ "$hash" = "$(field media_hash)" ] || fail "file hash"
grep -q '"media_hash":"'"$hash"'"' "$work/signed.json" || fail "signed hash"
echo "ok    file hash"

# ECDSA signs the authenticator data, followed by the SHA-256 of the signed bytes.
{ cat "$work/authenticator"; openssl dgst -sha256 -binary "$work/signed.json"; } > "$work/message"
openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/signature.der" "$work/message" > "$work/result" 2>&1 ||
    fail "signature"
echo "ok    signature"

# The authenticator data are the SHA-256 of the relying party ID, flags, and the counter (big-endian).
[ "$(head -c 32 "$work/authenticator" | hex)" = "$(printf %s "$(field rp_id)" | sha256sum | cut -c 1-64)" ] || fail "rp_id"
[ "$(tail -c +34 "$work/authenticator" | head -c 4 | hex)" = "$(printf %08x "$(field counter)")" ] || fail "counter"
echo "ok    counter"

# The signed bytes are the submitted ones: with the profile mediactl-1 everything but the assertion.
if [ "$(field profile)" = mediactl-1 ]; then
    sed 's/"assertion":"[^"]*",//' "$work/body.json" | cmp -s - "$work/signed.json" || fail "body"
    echo "ok    body"
fi

# Anyone can change the other members of the bundle, and with the profile reference those of a video in the body.
unsigned="capture_id, created_at, device_id, level, observed, server, server_capture_id, submitted_at"
for name in temporal_depth_analysis hash_chain frame_count duration_ms; do
    if grep -q '"'"$name"'":' "$work/body.json" && ! grep -q '"'"$name"'":' "$work/signed.json"; then
        unsigned="$name, $unsigned"
    fi
done
echo "not covered by the signature: $unsigned"
echo "key   $(openssl pkey -pubin -in "$work/key.pem" -outform DER | sha256sum | cut -c 1-64)"
