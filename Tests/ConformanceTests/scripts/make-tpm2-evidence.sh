#!/bin/sh
# Creates the evidence for a registration in the format tpm2, with tpm2-tools.
#
# Usage: TPM2TOOLS_TCTI=… make-tpm2-evidence.sh DIRECTORY KEY [ecc|rsa]
#
# KEY is the handle of a signing key in the TPM; ecc or rsa is the type of the attestation key. The directory then has:
#   public_key               SEC 1 point of the key
#   key_public, ak_public    TPMT_PUBLIC of the key and of the attestation key
#   certification            TPMS_ATTEST
#   certification_signature  TPMT_SIGNATURE
#   ek.der                   certificate of the endorsement key, issued by an authority created for this purpose
set -eu
mkdir -p "$1"
cd "$1"
key=$2
algorithm=${3:-ecc}
scheme=$([ "$algorithm" = rsa ] && echo rsassa || echo ecdsa)

tpm() { tool=$1; shift; "tpm2_$tool" -Q "$@"; }
# A TPM2B_PUBLIC is a size of two bytes followed by a TPMT_PUBLIC.
area() { tail -c +3 "$1"; }
hex() { od -An -v -tx1 | tr -d ' \n'; }

tpm createek -G ecc -c ek.ctx -u ek.tpm2b
tpm createak -C ek.ctx -c ak.ctx -G "$algorithm" -g sha256 -s "$scheme" -u ak.tpm2b -n ak.name
# Without a resource manager, the TPM's three slots for loaded keys must be freed explicitly.
tpm flushcontext -t
tpm certify -c "$key" -C ak.ctx -g sha256 -o certification -s certification_signature
tpm flushcontext -t
tpm readpublic -c "$key" -o key.tpm2b
tpm readpublic -c "$key" -f der -o key.der
area ak.tpm2b >ak_public
area key.tpm2b >key_public
tail -c 65 key.der >public_key

# The area ends with x and y, each a size of two bytes followed by 32 bytes.
x=$(tail -c 66 ek.tpm2b | head -c 32 | hex)
y=$(tail -c 32 ek.tpm2b | hex)
mkdir -p ca
printf 'statedir = %s\nsigningkey = %s\nissuercert = %s\ncertserial = %s\n' \
    "$PWD/ca" "$PWD/ca/signkey.pem" "$PWD/ca/issuercert.pem" "$PWD/ca/certserial" >ca.conf
: >ca.options
# On Debian, swtpm_localca is not in PATH.
PATH=$PATH:/usr/share/swtpm:/usr/lib/swtpm swtpm_localca --type ek --ek "x=$x,y=$y,id=secp256r1" --dir "$PWD" \
    --tpm-spec-family 2.0 --tpm-spec-level 0 --tpm-spec-revision 164 --tpm-manufacturer id:00001014 \
    --tpm-model swtpm --tpm-version id:20191023 --tpm2 --configfile ca.conf --optsfile ca.options >ca.log 2>&1 ||
    { cat ca.log >&2; exit 1; }
mv ek.cert ek.der
