# Helpers of the shell tests.  A test begins with
#   set -euo pipefail; source "$(dirname "$0")/../lib.sh"
# and gets PS_SOURCE (the tree), PS_BIN (the programs) and $scratch, a folder that goes when the test ends.
: "${PS_SOURCE:=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}"
: "${PS_BIN:=$PS_SOURCE/build/release/bin}"
export PS_SOURCE PS_BIN

scratch=$(mktemp -d)
# Removes the folder.  Programs that are ended just before may write there until they are gone.
remove_scratch() {
  local tries
  for ((tries = 0; tries < 100; ++tries)); do
    if rm -rf "$scratch" 2>/dev/null; then return; fi
    sleep 0.1
  done
  rm -rf "$scratch"
}
trap remove_scratch EXIT
# An mpirun that begins clears the folder of sessions that it shares with others: that of this test is its own.
export OMPI_MCA_orte_tmpdir_base=$scratch

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# measure FILE EVALUATOR: prints the value of an evaluator from the test in a result of ps-train --json; needs python3.
measure() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["test"]["evaluators"][sys.argv[2]])' "$1" "$2"; }

# at_least A B: fails the test unless the number A is B or more; needs python3.
at_least() { python3 -c "import sys; sys.exit(not $1 >= $2)" || fail "$1 is less than $2"; }

# Ends the test as skipped, saying why.
skip() {
  echo "skipped: $*"
  exit 77
}

# need TOOL...: skips the test unless all are installed.
need() {
  local tool
  for tool in "$@"; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done
}

# expect_status N COMMAND...: runs it, for 300 seconds at most, with its output in $scratch/out and $scratch/err.
expect_status() {
  local expected=$1 status=0 limit=()
  shift
  if [[ $(type -t "$1") == file ]]; then limit=(timeout 300); fi
  "${limit[@]}" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  [[ $status == "$expected" ]] && return
  cat "$scratch/err" >&2
  fail "'$*' ended with status $status, expected $expected"
}

# expect_text FILE TEXT: FILE holds TEXT.
expect_text() {
  grep -qF -- "$2" "$1" && return
  cat "$1" >&2
  fail "'$2' is not in $1"
}

# self_signed NAME [HOSTS]: NAME.crt and NAME.key in the present folder, a certificate that vouches for itself and, as an
# authority, for others.  HOSTS is a subjectAltName, such as IP:127.0.0.1.
self_signed() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -subj "/CN=$1" -days 2 \
    ${2:+-addext "subjectAltName=$2"} -out "$1.crt" 2>"$scratch/openssl.err" || fail "$(cat "$scratch/openssl.err")"
}

# certificate NAME AUTHORITY [HOSTS] [DAYS]: NAME.crt and NAME.key, for which AUTHORITY.crt vouches.
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -subj "/CN=$1" \
    ${3:+-addext "subjectAltName=$3"} -out "$1.csr" 2>"$scratch/openssl.err" &&
    openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days "${4:-2}" -copy_extensions copy \
      -out "$1.crt" 2>>"$scratch/openssl.err" || fail "$(cat "$scratch/openssl.err")"
}

# Names of the programs that are built.
programs() {
  local program
  for program in "$PS_BIN"/ps-*; do [[ -x $program ]] && basename "$program"; done
  return 0
}

# end_with_supervisors ID...: ends servers by their supervisors.  One that was killed just now need not come again: its
# shell ends with 255 when the signal meets it between fork and exec.
end_with_supervisors() {
  local id status
  kill -TERM "$@"
  for id in "$@"; do
    status=0
    wait "$id" || status=$?
    [[ $status =~ ^(0|137|143|255)$ ]] || fail "a server ended with $status: $(tail -n 5 ./*.err)"
  done
}

# begin_two_servers JOB [flags...]: ${servers[@]}, on the ports of ports.0 and ports.1, if these are there.  serve.*.out has
# their first line, and serve.*.err their messages.
begin_two_servers() {
  local job=$1 s port
  shift
  for s in 0 1; do
    if [[ -s ports.$s ]]; then port=$(head -1 "ports.$s"); else port=$(free_ports 2); fi
    rm -f "ready.$s"
    mkfifo "ready.$s"
    ps-serve "$job" --host 127.0.0.1 --port "$port" --port-file "ports.$s" "$@" >"ready.$s" 2>>"serve.$s.err" &
    servers[s]=$!
    timeout 60 head -1 "ready.$s" >"serve.$s.out" || true
    [[ -s serve.$s.out ]] || fail "server $s: $(cat "serve.$s.err")"
  done
}

# end_all_servers: ends ${servers[@]}, which end well, and forgets their ports.*; *.err has their messages.
end_all_servers() {
  local id
  kill -TERM "${servers[@]}"
  for id in "${servers[@]}"; do wait "$id" || fail "a server ended with $?: $(tail -n 5 ./*.err)"; done
  servers=()
  rm -f ports.*
}

# write_job NAME CHECKPOINT: job.json, for data of 5000 ids, whose processes are to be killed; CHECKPOINT is that key.
write_job() {
  cat >job.json <<JSON
{
  "job": {"name": "$1"},
  "data": {"format": "paddle_sparse_binary", "dim": 5000, "batch_size": 20},
  "model": {
    "layers": [
      {"name": "hidden", "type": "fc", "input": "features", "size": 8, "activation": "tanh", "sparse_update": true},
      {"name": "output", "type": "fc", "input": "hidden", "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "momentum", "momentum": 0.9, "learning_rate": 0.01, "l2": 0.0001},
  "train": {"log_period": 100000},
  "checkpoint": $2,
  "cluster": {"server_timeout": 30, "trainer_timeout": 30}
}
JSON
}

# slowly ID: so that checkpoints are written before the job is done, a process is halted most of the time, until nobody
# says that it shall be slow any more (removes the file `slow`): for `halt` seconds each time.
halt=0.02
slowly() {
  touch slow
  while [[ -e slow ]] && kill -STOP "$1" 2>/dev/null; do
    sleep "$halt"
    kill -CONT "$1" 2>/dev/null || true
    sleep 0.005
  done &
}

# until_true COMMAND...: runs it, in slower and slower jobs, until it is true.
until_true() {
  for halt in 0.02 0.05 0.1 0.2; do ! "$@" || return 0; done
  fail "it never came about: $*"
}

# killed_after STEP FOLDER COMMAND...: runs the command, which writes checkpoints into FOLDER, and kills it soon after it has
# written one of STEP or later; its messages go to `err`.  Returns 1 if it has ended well before.
killed_after() {
  local least=$1 folder=$2 id step status=0
  shift 2
  "$@" 2>err &
  id=$!
  for _ in {1..3000}; do
    step=0
    if [[ -e $folder/LATEST ]]; then step=$(sed 's/step-0*\([0-9]*\).*/\1/' "$folder/LATEST"); fi
    if ! kill -0 $id 2>/dev/null || ((step >= least)); then break; fi
    sleep 0.02
  done
  sleep 0.0$((RANDOM % 10))
  kill -KILL $id 2>/dev/null || true
  wait $id || status=$?
  [[ $status == 0 || $status == 137 ]] || fail "it ended with $status: $(cat err)"
  [[ $status == 137 ]]
}
