#!/bin/bash
# The launch scripts: all give the same model, and end what they started.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
launch=$PS_SOURCE/share/launch
cp "$PS_SOURCE/share/jobs/quickstart.json" job.json
job=$scratch/job.json

# same_model FOLDER: its model is that of the first launch, bit for bit.
same_model() {
  cmp local/pass-00000/model.safetensors "$1/pass-00000/model.safetensors"
}

# nothing_left: no process of the job stays; one that was told to end because another failed may need a moment.
nothing_left() {
  JOB=$job timeout 60 bash -c 'while pgrep -f "$JOB" >left; do sleep 0.05; done' || fail "still there: $(cat left)"
}

# killed_meanwhile NAME PATTERN COMMAND...: launches with the command a job of three readers and a compute trainer, kills the
# newest process whose command line matches the pattern when a checkpoint is there, and expects that it is started again
# and that the model is the same.  No trainer can reach the end of its data before: the last file is a pipe until then.
killed_meanwhile() {
  local name=$1 pattern=$2 launched gate
  shift 2
  : >"$name.err"
  rm -f gate
  mkfifo gate
  exec {gate}<>gate
  PS_PORT=$(free_ports 4) PS_COMPUTE_PORT=$(free_ports 1) \
    PS_SERVE_FLAGS="--checkpoint-dir $PWD/checkpoints.$name --set checkpoint.steps=5" "$@" -n 3 -c 1 -r 1 "$job" \
    "${flags[@]}" --data gate --save-dir "$name" --log-level info >/dev/null 2>"$name.err" {gate}>&- &
  launched=$!
  timeout 60 bash -c "until grep -q 'Checkpoint at step' $name.err; do kill -0 $launched || exit; sleep 0.02; done" ||
    fail "$name: no checkpoint: $(cat "$name.err")"
  kill -KILL "$(pgrep -n -f "$pattern")"
  : >no_gate
  mv no_gate gate
  exec {gate}>&-
  wait "$launched" || fail "$name ended with $?: $(cat "$name.err")"
  same_model "$name"
  nothing_left
}

# killed_peer NAME COMMAND...: launches with the command three trainers without servers, kills one when a checkpoint is
# there, and expects that all are started again and that the model is the undisturbed one.  The data end as above.
killed_peer() {
  local name=$1 launched gate
  shift
  rm -f gate
  mkfifo gate
  exec {gate}<>gate
  PS_PORT=$(free_ports 1) "$@" -s 0 -n 3 -r 1 "$peer_job" "${peer_flags[@]}" --data gate --save-dir "$name" \
    --checkpoint-dir "checkpoints.$name" --set checkpoint.steps=5 >/dev/null 2>"$name.err" {gate}>&- &
  launched=$!
  timeout 60 bash -c "until [[ -s checkpoints.$name/LATEST ]]; do kill -0 $launched || exit; sleep 0.02; done" ||
    fail "$name: no checkpoint: $(cat "$name.err")"
  kill -KILL "$(pgrep -n -f "^ps-train.*$job.*--peers")"
  : >no_gate
  mv no_gate gate
  exec {gate}>&-
  wait "$launched" || fail "$name ended with $?: $(cat "$name.err")"
  expect_text "$name.err" 'Going on from step'
  cmp peers/pass-00000/model.safetensors "$name/pass-00000/model.safetensors"
  nothing_left
}

ps-datagen ctr --samples 3000 --output train.txt
flags=(--data train.txt --set data.batch_size=50)

echo "local.sh runs servers and trainers, and what trainer 0 prints comes through"
"$launch/local.sh" -s 2 -n 3 "$job" "${flags[@]}" --save-dir local --json >out.json 2>err
python3 -c 'import json; assert json.load(open("out.json"))["passes"][0]["samples"] == 3000'
nothing_left

echo "with a compute trainer the trainers are its readers"
"$launch/local.sh" -s 2 -n 3 -c 1 "$job" "${flags[@]}" --save-dir heter >/dev/null 2>err
expect_text err 'Reader 2 of 3 has come'
same_model heter
PS_COMPUTE_FLAGS="--device emulated --set device.trains=model" "$launch/local.sh" -s 1 -n 3 -c 1 "$job" "${flags[@]}" \
  --save-dir heter_device >/dev/null 2>err
expect_text err 'on device emulated'
same_model heter_device
nothing_left

echo "a recipe becomes its job once, and gives the model of that job"
recipe=(--recipe fm "${flags[@]}" --passes 1)
ps-train "${recipe[@]}" --print-config >filled.json
"$launch/local.sh" -s 2 -n 3 filled.json "${flags[@]}" --save-dir filled >/dev/null 2>err || fail "$(cat err)"
# same_as_filled FOLDER
same_as_filled() { cmp filled/pass-00000/model.safetensors "$1/pass-00000/model.safetensors"; }
"$launch/local.sh" -s 2 -n 3 "${recipe[@]}" --save-dir by_recipe >/dev/null 2>err || fail "local.sh: $(cat err)"
same_as_filled by_recipe
"$launch/local.sh" "${recipe[0]}=${recipe[1]}" "${recipe[@]:2}" --save-dir by_default >/dev/null 2>err || fail "local.sh: $(cat err)"
[[ -s by_default/pass-00000/model.safetensors ]] || fail "there is no model"
expect_status 2 "$launch/local.sh" --recipe unknown "${flags[@]}"
expect_text err 'unknown'
nothing_left

echo "a trainer that fails ends all, with its status"
expect_status 2 "$launch/local.sh" "$job" --data missing.txt
expect_text err "cannot open 'missing.txt'"
expect_status 2 "$launch/local.sh"
expect_text err 'usage: local.sh'
nothing_left

echo "without servers the trainers find each other, and have the same model; one that is killed comes again with all"
peer_job=$job.dense peer_flags=("${flags[@]}")
sed 's/"sparse_update": true/"sparse_update": false/; s/"batch_size": 200/"hash_bits": 12, "batch_size": 200/' job.json >"$peer_job"
"$launch/local.sh" -s 1 -n 3 "$peer_job" "${peer_flags[@]}" --save-dir served >/dev/null 2>err || fail "$(cat err)"
peer_flags+=(--set train.strategy.type=all_reduce)
"$launch/local.sh" -s 0 -n 3 "$peer_job" "${peer_flags[@]}" --save-dir peers >/dev/null 2>err || fail "$(cat err)"
cmp {served,peers}/pass-00000/model.safetensors
nothing_left
killed_peer peers_killed "$launch/local.sh"
expect_status 2 "$launch/local.sh" -s 0 -n 2 "$peer_job" "${peer_flags[@]}" --data missing.txt
expect_status 2 "$launch/local.sh" -s 0 -c 1 "$job"
expect_text err 'usage: local.sh'
nothing_left

echo "ssh.sh runs what it is told on the hosts, here all the same one"
printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >fake_ssh
chmod +x fake_ssh
PS_SSH=$PWD/fake_ssh PS_PORT=$(free_ports 4) "$launch/ssh.sh" -H localhost -s 2 -n 3 "$job" "${flags[@]}" \
  --save-dir ssh >/dev/null 2>err || fail "ssh.sh: $(cat err)"
same_model ssh
nothing_left

PS_SSH=$PWD/fake_ssh PS_PORT=$(free_ports 4) "$launch/ssh.sh" -H localhost -s 2 -n 3 "${recipe[@]}" \
  --save-dir ssh_recipe >/dev/null 2>err || fail "ssh.sh: $(cat err)"
same_as_filled ssh_recipe

killed_peer ssh_peers env PS_SSH="$PWD/fake_ssh" "$launch/ssh.sh" -H localhost

echo "it starts a compute trainer again that is killed"
killed_meanwhile ssh_killed "^ps-train.*$job.*--role compute" env PS_SSH="$PWD/fake_ssh" "$launch/ssh.sh" -H localhost -s 2

echo "slurm.sh asks srun for a server a node and for trainers, which take their ranks from it"
cat >scontrol <<'SH'
#!/bin/sh
printf '127.0.0.1\nlocalhost\n'
SH
cat >srun <<'SH'
#!/bin/bash
# Runs the tasks here, as srun would on its nodes.
while [[ $1 == -* ]]; do
  case $1 in
    -n) tasks=$2 && shift 2 ;;
    -N | -w) shift 2 ;;
    *) shift ;;
  esac
done
ids=()
trap 'kill -TERM "${ids[@]}"' TERM
for ((task = 0; task < tasks; ++task)); do
  SLURM_PROCID=$task SLURM_STEP_NUM_TASKS=$tasks "$@" &
  ids+=($!)
done
status=0
for id in "${ids[@]}"; do
  wait "$id" || status=$?
  wait "$id" || true # a signal ends the first one
done
exit "$status"
SH
chmod +x scontrol srun
SLURM_JOB_NODELIST=nodes PATH=$PWD:$PATH PS_PORT=$(free_ports 4) "$launch/slurm.sh" -s 1 -n 3 "$job" "${flags[@]}" \
  --save-dir slurm >/dev/null 2>err || fail "slurm.sh: $(cat err)"
same_model slurm
expect_text err "Trainer 1 of 3, as Slurm says"
nothing_left
SLURM_JOB_NODELIST=nodes PATH=$PWD:$PATH PS_PORT=$(free_ports 4) "$launch/slurm.sh" -s 1 -n 3 "${recipe[@]}" \
  --save-dir slurm_recipe >/dev/null 2>err || fail "slurm.sh: $(cat err)"
same_as_filled slurm_recipe
[[ -z $(find . -name '.pskit-token*') ]] || fail "files are left: $(ls -a)"

killed_peer slurm_peers env SLURM_JOB_NODELIST=nodes PATH="$PWD:$PATH" "$launch/slurm.sh"

echo "it starts a server again that is killed, on its node"
killed_meanwhile slurm_killed "^ps-serve.*$job" env SLURM_JOB_NODELIST=nodes PATH="$PWD:$PATH" "$launch/slurm.sh" -s 1

echo "the manifests of Kubernetes start three trainers with the ranks of an indexed job"
if python3 -c 'import yaml' 2>/dev/null; then
  python3 - "$launch/kubernetes.yaml" "$launch/kubernetes-compute.yaml" <<'PY'
import subprocess, sys, yaml
text = open(sys.argv[1]).read()
kinds = {d["kind"]: d for d in yaml.safe_load_all(text)}
train, serve = kinds["Job"]["spec"], kinds["StatefulSet"]
env = {e["name"]: e for e in train["template"]["spec"]["containers"][0]["env"]}
assert train["completions"] == train["parallelism"] == int(env["PS_TRAINERS"]["value"])
servers = env["PS_SERVERS"]["value"].split(",")
name = serve["metadata"]["name"]
assert servers == [f"{name}-{i}.{kinds['Service']['metadata']['name']}:7164" for i in range(serve["spec"]["replicas"])]

# All of them have the tokens, which their users alone can read.
def expect_tokens(spec):
    (container,), (tokens,) = spec["containers"], [v for v in spec["volumes"] if v["name"] == "tokens"]
    (place,) = [m["mountPath"] for m in container["volumeMounts"] if m["name"] == "tokens"]
    assert tokens["secret"] == {"secretName": "pskit-tokens", "defaultMode": 0o400}, tokens
    assert container["args"][container["args"].index("--token-file") + 1] == f"{place}/tokens", container["args"]

# The compute trainers, and the readers that the line at the head of their file makes of the trainers.
compute_text = open(sys.argv[2]).read()
compute = {d["kind"]: d for d in yaml.safe_load_all(compute_text)}
change = compute_text.split("#   sed ")[1].split("\\\n")[0]
readers = subprocess.run(["bash", "-c", "sed " + change], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
(args,) = [d["spec"]["template"]["spec"]["containers"][0]["args"] for d in yaml.safe_load_all(readers) if d["kind"] == "Job"]
name, service = compute["StatefulSet"]["metadata"]["name"], compute["Service"]["metadata"]["name"]
listed = [f"{name}-{i}.{service}:7264" for i in range(compute["StatefulSet"]["spec"]["replicas"])]
assert args[2:6] == ["--role", "reader", "--compute", ",".join(listed)], args
for owner in train, serve["spec"], compute["StatefulSet"]["spec"]: expect_tokens(owner["template"]["spec"])
(container,) = compute["StatefulSet"]["spec"]["template"]["spec"]["containers"]
assert {e["name"]: e["value"] for e in container["env"]} == {"PS_SERVERS": env["PS_SERVERS"]["value"]}
PY
else
  echo "not looked at: python3-yaml is not installed"
fi

echo "mpirun gives the trainers their ranks"
need mpirun
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
PS_PORT=$(free_ports 4) PS_MPIRUN_FLAGS="--mca btl_tcp_if_include lo" "$launch/mpirun.sh" -s 2 -n 3 "$job" "${flags[@]}" \
  --save-dir mpirun >/dev/null 2>err || fail "mpirun.sh: $(cat err)"
same_model mpirun
expect_text err "Trainer 2 of 3, as Open MPI says"
nothing_left
PS_PORT=$(free_ports 4) PS_MPIRUN_FLAGS="--mca btl_tcp_if_include lo" "$launch/mpirun.sh" -s 2 -n 3 "${recipe[@]}" \
  --save-dir mpirun_recipe >/dev/null 2>err || fail "mpirun.sh: $(cat err)"
same_as_filled mpirun_recipe

echo "a server that is killed is started again under mpirun, which sees nothing of it"
killed_meanwhile mpirun_killed "^ps-serve.*$job" env PS_MPIRUN_FLAGS="--mca btl_tcp_if_include lo" "$launch/mpirun.sh" -s 2

echo "so does a line of mpirun with the server and four trainers"
port=$(free_ports 4)
status=0
timeout 60 mpirun --oversubscribe -n 1 sh -c "ps-serve '$job' --host 127.0.0.1 --port $port >/dev/null & id=\$!
  while [ ! -e line/pass-00000/job.json ]; do sleep 0.02; done; kill -TERM \$id; wait \$id" : \
  -n 4 ps-train "$job" "${flags[@]}" --save-dir line --servers "127.0.0.1:$port" >/dev/null 2>err || status=$?
[[ $status == 0 ]] || fail "mpirun ended with $status: $(cat err)"
expect_text err "Trainer 3 of 4, as Open MPI says"
