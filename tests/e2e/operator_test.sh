#!/bin/bash
# Operators, who have a token for 'admin', ask pages for checkpoints, shrunk tables and the end: of a trainer alone, of one
# with servers, of trainers without, and of servers.  Whatever was ended goes on with the bits of an undisturbed run.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need curl openssl python3
cd "$scratch"
PATH=$PS_BIN:$PATH
umask 077
exec 3>/dev/null 4>/dev/null
trap 'exec 3>&- 4>&-; kill $(jobs -p) 2>/dev/null || true; wait; remove_scratch' EXIT

for role in status admin train; do echo "$role $(openssl rand -hex 32)"; done >tokens
bearer() { echo "Authorization: Bearer $(sed -n "s/^$1 //p" tokens)"; }

# post STATUS PAGE REQUEST [TEXT]: an operator asks, and gets this status, and an answer with the text.
post() {
  local status
  status=$(curl --noproxy '*' -s -o answer -w '%{http_code}' --max-time 60 -X POST -H "$(bearer admin)" "$2/$3") || fail "no answer of $2"
  [[ $status == "$1" ]] || fail "$3: status $status, expected $1: $(cat answer)"
  expect_text answer "${4:-\"asked\":\"$3\"}"
}

# await FILE TEXT: until a program has written it.
await() {
  timeout 120 bash -c 'until grep -qF -- "$0" "$1" 2>/dev/null; do sleep 0.02; done' "$2" "$1" || fail "no '$2': $(cat "$1")"
}

# train NAME DATA [flags...]: starts $trainer, whose page is $page; it writes to NAME.err.
train() {
  local name=$1 data=$2
  shift 2
  ps-train "${job[@]}" --data "$data" --passes 1 --set train.log_period=1 --set checkpoint.period=0 --token-file tokens \
    --status-port 0 --json "$@" >"$name.out" 2>"$name.err" &
  trainer=$!
  await "$name.err" 'The status page is at'
  page=$(sed -n 's/^.*The status page is at \(.*\)\/$/\1/p' "$name.err")
}
job=(quickstart)

# ends STATUS NAME PID: it ends with that status.
ends() {
  local status=0
  wait "$3" || status=$?
  [[ $status == "$1" ]] || fail "it ended with $status, expected $1: $(cat "$2.err")"
}

# feed LINES: as many more examples to the file 3, and to fed.txt.
feed() {
  ps-datagen ctr --first "$fed" --samples "$1" --output more.txt
  fed=$((fed + $1))
  tee -a fed.txt <more.txt >&3
}

# feed_until FILE TEXT: batches of examples, one after the other, until a program has written it.
feed_until() {
  until grep -qF -- "$2" "$1"; do
    feed 200
    await "$name.err" "Batch=$((fed / 200)) "
  done
}

# same_bits NAME [flags...]: what goes on with all that was fed, and more, gives the model of a run that nobody has disturbed.
same_bits() {
  local name=$1
  shift
  ps-datagen ctr --first "$fed" --samples 1000 --output more.txt
  cat more.txt >>fed.txt
  ps-train "${job[@]}" --data fed.txt --passes 1 --save-dir "undisturbed.$name" 2>undisturbed.err
  ps-train "${job[@]}" --data fed.txt --passes 1 --save-dir "$name.model" "$@" 2>"$name.err" || fail "$(cat "$name.err")"
  cmp "undisturbed.$name/pass-00000/model.safetensors" "$name.model/pass-00000/model.safetensors"
}

# begin NAME [flags...]: a trainer that has trained three batches, and waits for more of them.
begin() {
  name=$1 fed=0
  rm -f pipe fed.txt
  mkfifo pipe
  train "$name" pipe --save-dir "$name.model" "${@:2}"
  exec 3<>pipe
  feed 600
  await "$name.err" 'Batch=3 '
}

echo "a trainer alone writes a checkpoint after its next batch"
begin alone --checkpoint-dir alone
post 202 "$page" checkpoint
feed 600
await alone.err 'Batch=6 '
expect_text alone.err 'alone/step-'

echo "whoever sends much, or often, takes no memory, and fills no log"
cat >flood.py <<'PY'
import http.client, sys

host, port = sys.argv[1].removeprefix("http://").split(":")
peak = lambda: next(int(line.split()[1]) for line in open(f"/proc/{sys.argv[2]}/status") if line.startswith("VmHWM"))
headers = {"Authorization": sys.argv[3].split(": ")[1]}

def ask(connection, path, body=None):
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status

often = http.client.HTTPConnection(host, int(port), timeout=60)
assert all(ask(often, "/checkpoint") == 202 for _ in range(10))
before = peak()
assert all(ask(often, "/checkpoint") == 202 for _ in range(2000))
refused = 0
for _ in range(20):
    large = http.client.HTTPConnection(host, int(port), timeout=60)
    try:
        assert ask(large, "/end", bytes(4 << 20)) == 413
    except OSError:
        refused += 1  # the end of the connection came before the answer was read
    large.close()
grown = peak() - before
print(f"{grown} KiB for 2000 requests and 20 bodies of 4 MiB, of which {refused} were cut off")
assert grown < 8192, grown
PY
python3 flood.py "$page" "$trainer" "$(bearer admin)" || fail "$(cat alone.err)"
# The first of them may come before the batch of the line that was waited for has ended.
asked=$(grep -c 'An operator at .* asks for a checkpoint$' alone.err)
((asked == 2 || asked == 3)) || fail "$(cat alone.err)"

echo "it ends as by SIGTERM, and goes on with the same bits"
post 202 "$page" end
ends 143 alone "$trainer"
expect_text alone.err ' asks for the end'
[[ -s alone.model/pass-00000-batch-6/model.safetensors ]] || fail "no model: $(cat alone.err)"
[[ -d alone/step-000000006 ]] || fail "$(ls alone)"
same_bits alone --checkpoint-dir alone --resume

echo "tables shrink after the next step"
python3 - "$PS_SOURCE/share/jobs/ctr_rows.json" <<'PY'
import json, sys
job = json.load(open(sys.argv[1]))
job["model"]["layers"][0]["weight"] = {"rows": {"expire": {"below_score": 0.15}, "shrink_passes": 0}}
json.dump(job, open("rows.json", "w"))
PY
job=(rows.json --set data.batch_size=200)
begin rows
post 409 "$page" checkpoint 'checkpoint.directory is empty'
post 202 "$page" shrink
feed 200
await rows.err 'Shrinking tables after this step'
exec 3>&-
ends 0 rows "$trainer"
grep -q '"expired":[1-9]' rows.out || fail "nothing has expired: $(cat rows.out)"

# serve NAME [flags...]: starts a server; $pages[NAME] and $addresses.
declare -A pages servers
serve() {
  mkfifo "$1.ready"
  ps-serve quickstart --port 0 --status-port 0 "${@:2}" >"$1.ready" 2>"$1.err" &
  servers[$1]=$!
  local line
  read -r line <"$1.ready" || fail "$(cat "$1.err")"
  pages[$1]=127.0.0.1:$(sed 's/.*"status_port":\([0-9]*\).*/\1/' <<<"$line")
  addresses+=${addresses:+,}127.0.0.1:$(sed 's/.*"ports":\[\([0-9]*\).*/\1/' <<<"$line")
}

echo "the first of two servers begins a checkpoint once a trainer has come; the other says where to ask"
job=(quickstart)
addresses=
for server in first second; do
  serve $server --token-file tokens --checkpoint-dir served --checkpoint-period 0
  post 409 "${pages[$server]}" checkpoint "the job's first server"
done
begin trained --servers "$addresses" --checkpoint-dir served
post 409 "${pages[second]}" checkpoint "the job's first server"
post 409 "${pages[second]}" shrink 'ask the page of a trainer'
# Shards tell the pages four times a second that a trainer has come.
timeout 60 bash -c 'until curl --noproxy "*" -sf -o answer -X POST -H "$0" "$1/checkpoint"; do sleep 0.05; done' \
  "$(bearer admin)" "${pages[first]}" || fail "$(cat answer)"
feed_until first.err 'Checkpoint at step'

echo "so do both when the page of their trainer is asked"
post 202 "$page" checkpoint
feed_until trained.err 'The servers have written checkpoint step-'
post 202 "$page" end
ends 143 trained "$trainer"
same_bits trained --servers "$addresses" --token-file tokens --checkpoint-dir served
for server in first second; do
  post 202 "${pages[$server]}" end
  ends 0 $server "${servers[$server]}"
  expect_text $server.err ' asks for the end'
done

echo "of two trainers without servers either is asked, and both do it after the same step"
write_job peers '{"period": 0}'
job=(job.json --set train.strategy.type=all_reduce --set model.layers.0.sparse_update=false)
ps-datagen sparse-binary --dim 5000 --samples 400 --output peers.txt
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))
mkfifo pipe.0 pipe.1
ranks=()
for rank in 0 1; do
  train peer.$rank pipe.$rank --peers "$address" --trainers 2 --rank $rank --checkpoint-dir peers --save-dir peers.model
  ranks+=("$trainer")
done
exec 3<>pipe.0 4<>pipe.1
head -n 120 peers.txt | tee /dev/fd/3 >&4
await peer.0.err 'Batch=3 '
post 202 "$page" checkpoint
sed -n 121,200p peers.txt | tee /dev/fd/3 >&4
await peer.0.err 'peers/step-'
await peer.0.err 'Batch=5 '
post 202 "$page" end
sed -n 201,320p peers.txt | tee /dev/fd/3 >&4
ends 143 peer.1 "${ranks[1]}"
ends 0 peer.0 "${ranks[0]}"
[[ $(<peers/LATEST) == step-00000000[67]\ * ]] || fail "$(ls peers)"
exec 3>&- 4>&-
# both NAME [flags...]: two trainers, to the end.
both() {
  local rank ranks=()
  for rank in 0 1; do
    ps-train "${job[@]}" --data peers.txt --passes 1 --peers "$address" --trainers 2 --rank $rank --token-file tokens \
      --save-dir "$1.model" "${@:2}" 2>"$1.$rank.err" &
    ranks+=($!)
  done
  for rank in 0 1; do ends 0 "$1.$rank" "${ranks[rank]}"; done
}
both peers --checkpoint-dir peers --resume
both undisturbed
cmp {peers,undisturbed}.model/pass-00000/model.safetensors

echo "without a token file nobody is an operator, not even here"
addresses=
serve open
post 403 "${pages[open]}" end '--token-file'

echo "nor is who sends the token in the clear from elsewhere"
own=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 '^[0-9]*\.' || true)
if [[ -n $own ]]; then
  serve exposed --token-file tokens --host 0.0.0.0
  post 403 "$own:${pages[exposed]#*:}" end 'in the clear'
  self_signed own "IP:$own"
  serve encrypted --token-file tokens --host 0.0.0.0 --tls-cert own.crt --tls-key own.key
  curl --noproxy '*' -sf -o answer --max-time 60 --cacert own.crt -X POST -H "$(bearer admin)" "https://$own:${pages[encrypted]#*:}/end" ||
    fail "no answer over TLS: $(cat encrypted.err)"
  ends 0 encrypted "${servers[encrypted]}"
  kill -0 "${servers[exposed]}" || fail "$(cat exposed.err)"
else
  echo "left out: this machine has no other address"
fi
kill -0 "${servers[open]}" || fail "$(cat open.err)"
echo passed
