#!/bin/bash
# Peers with every kind of token and certificate ask servers, of which each asks for tokens, certificates, both or neither,
# for every message and every page: they are served what they were granted, and nothing else.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3 openssl
cd "$scratch"
PATH=$PS_BIN:$PATH
umask 077
source "$PS_SOURCE/tests/hostile/attacked_job.sh"

for role in status read train admin; do echo "$role $(openssl rand -hex 32)"; done >tokens
# authority NAME: a certificate that vouches for itself.
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -subj "/CN=$1" -days 2 \
    -out "$1.crt" 2>log
}
# certificate NAME AUTHORITY DAYS
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -subj "/CN=$1" -out "$1.csr" 2>log
  openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days "$3" -out "$1.crt" 2>log
}
authority ca
authority stranger
authority self-signed
certificate server ca 2
certificate right ca 2
certificate expired ca -1
certificate other stranger 2
PYTHONDONTWRITEBYTECODE=1 python3 "$PS_SOURCE/tests/hostile/matrix.py" "$scratch" ps-train job.json --data train.txt
