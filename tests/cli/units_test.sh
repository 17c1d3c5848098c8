#!/bin/bash
# The commands of the systemd units, run as systemd runs them, but here and as this user.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH

# command_of UNIT NAME: its ExecStart, with the specifiers and folders of this test.
command_of() {
  local line
  line=$(sed -n 's/^ExecStart=//p' "$PS_SOURCE/share/systemd/$1@.service")
  line=${line//%i/$2} line=${line//%d/$scratch/credentials}
  echo "${line//\/etc\/pskit/$scratch/etc}"
}

mkdir etc credentials state
(umask 077; echo "train $(printf '%064d' 7)" >credentials/tokens)
ps-datagen ctr --samples 4000 --output clicks.txt
ps-train --recipe logistic --data "$scratch/clicks.txt" --set train.passes=2 --print-config >etc/clicks.json

echo "a trainer starts, goes on after its last checkpoint, and ends well when nothing is left"
train=$(command_of ps-train clicks)
PS_TRAIN_FLAGS="--checkpoint-dir checkpoints"
(cd state && $(echo "$train" | sed "s|\$PS_TRAIN_FLAGS|$PS_TRAIN_FLAGS|")) 2>first || fail "$(<first)"
[[ -s state/output/pass-00001/model.safetensors ]] || fail "no model: $(<first)"
(cd state && $(echo "$train" | sed "s|\$PS_TRAIN_FLAGS|$PS_TRAIN_FLAGS|")) 2>second || fail "$(<second)"
expect_text second 'there is nothing left to train'

echo "statuses that no new start would change keep the unit from it"
unit=$PS_SOURCE/share/systemd/ps-train@.service
status=0
(cd state && $(echo "$train" | sed 's|$PS_TRAIN_FLAGS|--no-such-flag|')) 2>err || status=$?
grep -q "^RestartPreventExitStatus=.*\b$status\b" "$unit" || fail "status $status of a wrong flag starts it again"

echo "both units keep a process from what it does not need"
hardening() {
  grep -E '^(NoNewPrivileges|Capability|Private|Protect|Restrict[A-Z]|Lock|Memory|SystemCall|UMask|DynamicUser)' "$1"
}
cmp <(hardening "$PS_SOURCE/share/systemd/ps-serve@.service") <(hardening "$unit") || fail "the units differ"
