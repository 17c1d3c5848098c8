#!/bin/bash
# Checkpoints that SIGUSR2 asks for, of a process alone, and of servers, which or whose trainers are asked; and those
# that come when it is time.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
programs=()
trap 'kill "${programs[@]}" 2>/dev/null || true; remove_scratch' EXIT
ps-datagen ctr --samples 6000 --output data.txt
mkfifo data.pipe ready.pipe
train=(ps-train "$job" --passes 1 --data data.pipe --save-dir '' --set train.log_period=1 --set checkpoint.period=0)

# until_text FILE TEXT PID: waits until the program has written it.
until_text() {
  while ! grep -q "$2" "$1"; do kill -0 "$3" || fail "$(cat "$1")"; done
}

# begin_training ERRORS [flags...]: starts a trainer, and waits until it has trained on two batches.
begin_training() {
  "${train[@]}" "${@:2}" 2>"$1" &
  trainer=$!
  programs+=($trainer)
  exec 3>data.pipe
  head -1000 data.txt >&3
  until_text "$1" Batch=2 $trainer
}

# end_training ERRORS: the rest of the data, and the trainer's end.
end_training() {
  tail -n +2001 data.txt >&3
  exec 3>&-
  wait $trainer || fail "$(cat "$1")"
}

echo "a process without servers"
begin_training alone.err --checkpoint-dir alone
kill -USR2 $trainer
sed -n 1001,2000p data.txt >&3
until_text alone.err 'Checkpoint .*alone/step-' $trainer
end_training alone.err
[[ $(ls -d alone/step-* | wc -l) == 2 ]] || fail "$(ls alone)"

# feed_until FILE TEXT PID...: goes on giving data, until one of the programs has written it.
feed_until() {
  local id
  while ! grep -q "$2" "$1"; do
    for id in "${@:3}"; do kill -0 "$id" || fail "$(cat ./*.err)"; done
    sed -n 1001,1200p data.txt >&3
    sleep 0.05
  done
}

echo "a process when it is time"
begin_training due.err --checkpoint-dir due --set checkpoint.period=1
feed_until due.err 'Checkpoint .*due/step-' $trainer
end_training due.err

echo "a process without checkpoints says so and goes on"
begin_training none.err
kill -USR2 $trainer
sed -n 1001,2000p data.txt >&3
until_text none.err 'checkpoint.directory is empty' $trainer
end_training none.err

# served WHOM: both of SERVER and TRAINER may be asked; nobody is when it is time.
served() {
  local period=0
  if [[ $1 == time ]]; then period=1; fi
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file port --ports-num 2 --checkpoint-dir "$1" \
    --checkpoint-period $period >ready.pipe 2>"$1.serve.err" &
  server=$!
  programs+=($server)
  head -1 ready.pipe >"$1.out"
  begin_training "$1.err" --servers "127.0.0.1:$(head -1 port)" --checkpoint-dir "$1"
  if [[ $1 == server ]]; then kill -USR2 $server; fi
  if [[ $1 == trainer ]]; then kill -USR2 $trainer; fi
  # It begins after one of the next steps, whenever the signal is seen.
  feed_until "$1.serve.err" 'Checkpoint at step' $server $trainer
  end_training "$1.err"
  [[ $(ls -d "$1"/step-* | wc -l) -ge 1 ]] || fail "$(ls "$1")"
  kill -TERM $server
  wait $server
}
echo "a server"
served server
echo "servers when it is time"
served time
echo "a trainer, whose servers do"
served trainer
expect_text trainer.err 'The servers have written checkpoint step-'
echo passed
