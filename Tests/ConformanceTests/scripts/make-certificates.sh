#!/usr/bin/env bash
# make-certificates.sh DIR: creates a certificate authority (ca.pem), and a server certificate for localhost and
# 127.0.0.1 signed by it (server.pem, server.key). pin.txt contains the server's public key in the form of RFC 7469.
set -euo pipefail
cd "$1"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=test authority" \
    -keyout ca.key -out ca.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=localhost" \
    -keyout server.key -out server.csr
printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' >extensions
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem
printf 'sha256//%s\n' "$(openssl pkey -in server.key -pubout -outform DER | openssl dgst -sha256 -binary | base64)" >pin.txt
