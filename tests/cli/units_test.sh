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

# load_credentials UNIT NAME: puts the tokens where the unit finds them, as systemd.exec(5) says: a file that is not there is
# no error where SetCredential has a text of the same name, which then stands for it.
load_credentials() {
  local unit=$PS_SOURCE/share/systemd/$1@.service file text
  file=$(sed -n 's/^LoadCredential=tokens://p' "$unit") text=$(sed -n 's/^SetCredential=tokens://p' "$unit")
  file=${file//%i/$2} file=${file//\/etc\/pskit/$scratch/etc}
  rm -f credentials/tokens
  (
    umask 077
    if [[ -e $file ]]; then
      cp "$file" credentials/tokens
    elif [[ $text ]]; then
      echo -n "$text" >credentials/tokens
    else
      fail "$1@$2 does not start: there is no $file"
    fi
  )
}

mkdir etc credentials state
ps-datagen ctr --samples 4000 --output clicks.txt
ps-train --recipe logistic --data "$scratch/clicks.txt" --set train.passes=2 --print-config >etc/clicks.json

echo "a trainer without servers needs no tokens"
load_credentials ps-train clicks
train=$(command_of ps-train clicks)
with_flags() { echo "${train/\$PS_TRAIN_FLAGS/$1}"; }
(cd state && $(with_flags "--save-dir alone --checkpoint-dir alone")) 2>alone || fail "$(<alone)"
[[ -s state/alone/pass-00001/model.safetensors ]] || fail "no model: $(<alone)"

echo "one with servers, or with a page, does not go without"
for flags in "--servers 127.0.0.1:1" "--checkpoint-dir alone --status-port 0"; do
  status=0
  (cd state && $(with_flags "$flags")) 2>err || status=$?
  [[ $status == 2 ]] || fail "$flags: status $status: $(<err)"
  expect_text err 'token'
done
if (load_credentials ps-serve clicks) 2>/dev/null; then fail "a server starts without tokens"; fi

echo "a trainer starts, goes on after its last checkpoint, and ends well when nothing is left"
(umask 077; echo "train $(printf '%064d' 7)" >etc/clicks.tokens)
load_credentials ps-train clicks
(cd state && $(with_flags "--checkpoint-dir checkpoints")) 2>first || fail "$(<first)"
[[ -s state/output/pass-00001/model.safetensors ]] || fail "no model: $(<first)"
(cd state && $(with_flags "--checkpoint-dir checkpoints")) 2>second || fail "$(<second)"
expect_text second 'there is nothing left to train'

echo "statuses that no new start would change keep the unit from it"
unit=$PS_SOURCE/share/systemd/ps-train@.service
status=0
(cd state && $(with_flags --no-such-flag)) 2>err || status=$?
grep -q "^RestartPreventExitStatus=.*\b$status\b" "$unit" || fail "status $status of a wrong flag starts it again"

echo "both units keep a process from what it does not need"
hardening() {
  grep -E '^(NoNewPrivileges|Capability|Private|Protect|Restrict[A-Z]|Lock|Memory|SystemCall|UMask|DynamicUser)' "$1"
}
cmp <(hardening "$PS_SOURCE/share/systemd/ps-serve@.service") <(hardening "$unit") || fail "the units differ"
