#!/bin/bash
# The attacks of hostile_test.sh on servers that speak TLS, write a log and decode gradients: what they hold for peers stays
# within --max-memory there too, and an honest job beside readers keeps its bits.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need openssl
source "$PS_SOURCE/tests/hostile/attacked_job.sh"
umask 077
self_signed server IP:127.0.0.1
codec=(--set 'train.strategy={"type": "parameter_server", "codec": {"push": "int8"}}')
attack attacks.py ps-train job.json --data train.txt \
  "${codec[@]}" -- "${codec[@]}" --durability log --tls-cert server.crt --tls-key server.key
