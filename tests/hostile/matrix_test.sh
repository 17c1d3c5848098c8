#!/bin/bash
# Peers with every kind of token and certificate ask servers, of which each asks for tokens, certificates, both or neither,
# for every message and every page: they are served what they were granted, and nothing else.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need openssl
umask 077
source "$PS_SOURCE/tests/hostile/attacked_job.sh"

for role in status read train admin; do echo "$role $(openssl rand -hex 32)"; done >tokens
for authority in ca stranger self-signed; do self_signed "$authority"; done
# Trainers without servers meet at a port that is fixed: nobody else has this address of the loopback network's.
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))
certificate server ca "IP:127.0.0.1,IP:$address"
certificate right ca
certificate expired ca '' -1
certificate other stranger
attack matrix.py "$PS_SOURCE/man/man5/ps-wire.5" \
  "$address" ps-train job.json --data train.txt
