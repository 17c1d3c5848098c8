# Three trainers without servers and their processes.  Sourced after lib.sh, in $scratch; $job is their job, $common are
# flags of all.
processes=() held= feeder= common=()
trap 'kill -9 "${processes[@]}" $held $feeder 2>/dev/null || true; remove_scratch' EXIT

# An address of this test alone: nobody else has this one of the loopback network's.
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))

# start NAME RANKS [flags...]: a trainer of three for each rank, whose processes are $processes.
start() {
  local name=$1 ranks=$2 rank
  shift 2
  processes=()
  for rank in $ranks; do
    ps-train "$job" --data train.txt --peers "$address" --trainers 3 --rank "$rank" --save-dir "$name" --json \
      "${common[@]}" "$@" >"$name.$rank.json" 2>"$name.$rank.err" &
    processes+=($!)
  done
}

# end_all NAME STATUS: waits for $processes, which end with this status.
end_all() {
  local process status
  for process in "${processes[@]}"; do
    status=0
    wait "$process" || status=$?
    [[ $status == "$2" ]] || fail "a trainer ended with $status: $(cat "$1".*.err)"
  done
  processes=()
}

# train NAME [flags...]: three trainers, to the end.
train() {
  start "$1" "0 1 2" "${@:2}"
  end_all "$1" 0
}

# number KEY FILE: the last number of this key.
number() { grep -o "\"$1\":[0-9.]*" "$2" | tail -n 1 | cut -d: -f2; }

# feed COMMAND...: sends what the command prints to trainer 1, as far as it reads.
feed() {
  "$@" >&9 &
  feeder=$!
}

# stop_feeding: nobody reads any more.
stop_feeding() {
  exec 9>&-
  kill $feeder 2>/dev/null || true
}

# hold_trainer_1 NAME EXAMPLES [flags...]: three trainers, the second of which waits for data after so many examples.
# Returns when the checkpoint at step 21 is there; $held is its process, and $processes are the others.
hold_trainer_1() {
  local name=$1 examples=$2 others
  shift 2
  rm -rf checkpoints rest
  mkfifo rest
  exec 9<>rest
  start "$name" "0 2" "$@"
  others=("${processes[@]}")
  ps-train "$job" --data rest --peers "$address" --trainers 3 --rank 1 --save-dir "$name" "${common[@]}" "$@" \
    2>"$name.1.err" &
  held=$!
  processes+=("$held")
  feed head -n "$examples" train.txt
  until grep -q step-000000021 checkpoints/LATEST 2>/dev/null; do
    kill -0 "${processes[@]}" || fail "a trainer has ended: $(cat "$name".*.err)"
    sleep 0.05
  done
  processes=("${others[@]}")
}

# kill_trainer_1 NAME: the one that is held; the others end with 4.
kill_trainer_1() {
  kill -9 "$held"
  end_all "$1" 4
  stop_feeding
}
