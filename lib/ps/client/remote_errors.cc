// What rounding takes from a remote store's gradients: it goes out with those of the next step.
#include <algorithm>
#include <cstring>

#include "ps/client/remote_state.h"
#include "ps/client/remote_store.h"
#include "ps/client/residual_chunks.h"

namespace ps {

// Made when they are used first: who only reads has none.
RemoteStore::Errors& RemoteStore::errors_of(size_t p) {
  Errors& errors = errors_[p];
  const ParameterSpec& spec = specs_[p];
  if (spec.kind == ParameterKind::kMatrix) {
    errors.whole.resize(static_cast<size_t>(spec.rows * spec.cols));
  } else if (spec.kind == ParameterKind::kRows && !errors.by_key) {
    const auto num_keyed = std::ranges::count(specs_, ParameterKind::kRows, &ParameterSpec::kind);
    errors.by_key =
        std::make_unique<ResidualRows>(spec.cols, types_.error_bytes / static_cast<uint64_t>(num_keyed));
  }
  return errors;
}

// Before the rows of a step are encoded, since what is kept must not depend on how they are spread over the
// shards.
void RemoteStore::find_errors(std::span<const KeyPlan> plans) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    Errors& errors = errors_of(p);
    if (errors.by_key) errors.by_key->find(plans[p].keys, errors.rows);
  }
}

uint64_t RemoteStore::errors_dropped() const {
  uint64_t dropped = 0;
  for (const Errors& errors : errors_) {
    if (errors.by_key) dropped += errors.by_key->dropped();
  }
  return dropped;
}

void RemoteStore::put_error_back(size_t p, ErrorRows rows, uint64_t key, std::string_view error) {
  Errors& errors = errors_of(p);
  float* to = rows == ErrorRows::kWhole ? errors.whole.data() + key * static_cast<uint64_t>(specs_[p].cols)
                                        : errors.by_key->put_back(key, rows == ErrorRows::kYoung);
  std::memcpy(to, error.data(), error.size());
}

}  // namespace ps
