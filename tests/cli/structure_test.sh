#!/bin/bash
# The structure that CONTRIBUTING.md asks for and that a machine can count: how large classes are, and that tests include every
# header of the parameter server.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$PS_SOURCE"
sizes=$PS_SOURCE/tests/cli/class_sizes.py

# The counts of a class that is known.
cat >"$scratch/planted.h" <<'EOF'
class Planted final : public Base {
 public:
  explicit Planted(int a) : a_(a), list_{1, 2} {}
  Planted(const Planted&) = delete;
  int a() const { return a_; }
  std::function<void(int)> call() const;
  template <class Body>
  void each(Body&& body);
  bool operator==(const Planted&) const = default;
  using Name = std::string;

 private:
  struct Inner {
    int x = 0;
    void f();
  };
  int a_;
  const std::map<int, std::function<void(int)>> list_;  // not (a method)
  std::function<void()> called_ = [] {};
  Inner inner_{.x = 1};
};
EOF
python3 "$sizes" --methods 4 --members 4 "$scratch/planted.h" || fail "four methods and four members were counted as more"
for limits in "--methods 3" "--members 3"; do
  # shellcheck disable=SC2086
  if python3 "$sizes" $limits "$scratch/planted.h" >"$scratch/found"; then fail "a class that is too large passes with $limits"; fi
  grep -q "class Planted has 4 methods and 4 members" "$scratch/found" || fail "$(cat "$scratch/found")"
done

mapfile -t headers < <(find lib -name '*.h' | sort)
python3 "$sizes" "${headers[@]}" || fail "the classes above are too large: 40 methods and 20 members at most"

grep -rhoE '^#include "ps/[^"]+"' tests --include='*.cc' --include='*.h' | sort -u >"$scratch/included"
for header in $(find lib/ps -name '*.h' | sort); do
  grep -qx "#include \"${header#lib/}\"" "$scratch/included" || fail "no test includes $header"
done
echo "${#headers[@]} headers"
