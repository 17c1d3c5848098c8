#!/bin/bash
# The example that reads models from Python: numpy predicts what ps-train does.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "numpy is not installed"
PYTHON=/usr/bin/python3 "$PS_SOURCE/examples/read_model.sh" "$scratch/read_model" | tee "$scratch/out"
[[ $(grep -c '1000 predictions, at most' "$scratch/out") == 4 ]] || fail "$(cat "$scratch/out")"

echo "it says that numpy is missing, and builds the programs that are"
mkdir "$scratch/shims" "$scratch/bin"
printf '#!/bin/bash\nexit 1\n' >"$scratch/shims/python_without_numpy"
# In place of a build: the programs are there already.
printf '#!/bin/bash\nln -s "%s/${!#}" "%s/"\n' "$PS_BIN" "$scratch/bin" >"$scratch/shims/cmake"
chmod +x "$scratch/shims/"*
PYTHON=$scratch/shims/python_without_numpy expect_status 1 "$PS_SOURCE/examples/read_model.sh" "$scratch/none"
expect_text "$scratch/err" 'numpy is missing: apt-get install python3-numpy'
PATH=$scratch/shims:$PATH PS_BIN=$scratch/bin PYTHON=/usr/bin/python3 "$PS_SOURCE/examples/read_model.sh" "$scratch/built" >"$scratch/out"
[[ $(cd "$scratch/bin" && echo *) == "ps-ckpt2model ps-datagen ps-train" ]] || fail "it built $(ls "$scratch/bin")"
[[ $(grep -c '1000 predictions, at most' "$scratch/out") == 4 ]] || fail "$(cat "$scratch/out")"
