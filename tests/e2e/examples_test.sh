#!/bin/bash
# Every example runs, in a copy of the tree beside the programs under test, and prints what it promises.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
mkdir -p tree/build/release/bin tools
cp -r "$PS_SOURCE/examples" "$PS_SOURCE/share" tree
cp "$PS_BIN"/ps-* tree/build/release/bin
# There is nothing to install or to build.
printf '#!/bin/sh\nexit 0\n' | tee tools/cmake >tree/examples/setup.sh
chmod +x tools/cmake tree/examples/setup.sh
PATH=$scratch/tools:$PS_BIN:$PATH

# run NAME TEXT...: the example ends well, and says each of the texts.
run() {
  local name=$1 text
  shift
  echo "examples/$name"
  tree/examples/"$name" >"$name.out" 2>&1 || fail "$name ended with $?: $(tail -n 20 "$name.out")"
  for text in "$@"; do expect_text "$name.out" "$text"; done
}

run quickstart.sh '"auc"' 'Eval: auc='
run recipe.sh 'Looked at 100000 examples of multislot' '20000 predictions' '"auc"'
run cluster.sh 'the weights are equal' 'the weights of one trainer are equal, bit for bit'
run all_reduce.sh 'the same model'
if command -v mpirun >/dev/null; then
  echo "examples/all_reduce.sh, under mpirun"
  models=tree/build/all_reduce
  python3 "$PS_SOURCE/tests/e2e/close_models.py" $models/{peers,mpi}/pass-00001/model.safetensors ||
    fail "under mpirun the model is another: $(tail -n 20 all_reduce.sh.out)"
fi
run hybrid.sh 'the same model' 'to the other trainers went'
run device.sh 'rows evicted' 'the same model'
run dgc.sh 'times fewer bytes'
run wide_deep_heter.sh 'AUC of one trainer on cpu: 0.7' 'AUC of two readers and a compute trainer on cpu: 0.7'
echo "examples/wide_deep_heter.sh, on an emulated device and as much on the processor"
for device in emulated cpu; do
  tree/examples/wide_deep_heter.sh $device 600 >$device.out 2>&1 || fail "it ended with $?: $(tail -n 20 $device.out)"
  grep -o "AUC of .* on $device: 0.*" $device.out | sed 's/.*: //' >$device.auc
done
# The rounding of products moves few examples past each other.
paste emulated.auc cpu.auc | awk '{ if (($1 - $2) ^ 2 > 1e-6) exit 1 } END { exit NR != 2 }' || fail "$(cat {emulated,cpu}.out)"
expect_text emulated.out 'Rows are trained on device emulated'
expect_text emulated.out 'on device emulated with '
run local_steps.sh 'times fewer bytes with sparse_diloco'
run sequences.sh 'the order of words tells more than their sum'
echo "examples/sequences.sh, on a text"
ps-datagen language --dim 60 --samples 300 --output words.txt
tree/examples/sequences.sh words.txt 250 >text.out 2>&1 || fail "it ended with $?: $(tail -n 20 text.out)"
for model in sums gru lstm attention; do grep -qE "^$model +has a perplexity of [0-9]+\.[0-9] " text.out || fail "$(cat text.out)"; done
run resume.sh 'the same model'
run kill_and_resume.sh 'the same model'
run more_servers.sh 'the same model'
echo "examples/bandwidth.sh, of a small net"
tree/examples/bandwidth.sh bandwidth --model lenet --compute 5ms >bandwidth.sh.out 2>&1 ||
  fail "bandwidth.sh ended with $?: $(tail -n 20 bandwidth.sh.out)"
expect_text bandwidth.sh.out 'over overlapped'
expect_text bandwidth.sh.out "$(command -v gnuplot >/dev/null && echo bandwidth.png || echo 'no picture')"
if command -v openssl >/dev/null; then
  run secure_cluster.sh 'the first stranger ended with status 7' 'the second stranger ended with status 7' \
    'the weights are equal, bit for bit'
else
  echo "examples/secure_cluster.sh is left out: openssl is not installed" | tee secure_cluster.sh.out
fi
if command -v etcd >/dev/null; then
  run find_servers.sh 'the same model' 'ended with status 8'
else
  echo "examples/find_servers.sh is left out: etcd is not installed" | tee find_servers.sh.out
fi
# setup.sh is what installs; read_model.sh has a test of its own; find_servers.sh needs etcd.
for script in tree/examples/*.sh; do
  name=${script##*/}
  [[ $name == setup.sh || $name == read_model.sh || $name == find_servers.sh || -e $name.out ]] || fail "$name is not tried here"
done
