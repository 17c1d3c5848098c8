#include "codec/residual_rows.h"

#include <algorithm>

namespace ps {

ResidualRows::ResidualRows(int64_t width, uint64_t max_bytes)
    : width_(width),
      max_young_(std::max<uint64_t>(1, max_bytes / KeyedRows::row_bytes(width) / 2)),
      young_(std::make_unique<KeyedRows>(width)),
      old_(std::make_unique<KeyedRows>(width)) {}

// When the young rows fill half of the memory, the old rows that were not used since the last time are
// dropped, and the young rows become the old ones.  So a row stays if it is used in each round, with no
// record of its last use.
void ResidualRows::find(std::span<const uint64_t> keys, std::vector<float*>& errors) {
  if (young_->size() >= max_young_) {
    dropped_ += old_->size() - num_moved_;
    num_moved_ = 0;
    old_ = std::move(young_);
    young_ = std::make_unique<KeyedRows>(width_);
  }
  errors.resize(keys.size());
  for (size_t n = 0; n < keys.size(); ++n) errors[n] = find(keys[n]);
}

// A row that is only among the old ones is copied to the young; num_moved_ counts these, since they are not
// lost when the old rows go.
float* ResidualRows::find(uint64_t key) {
  if (float* row = young_->find(key)) return row;
  float* row = young_->add(key);
  if (const float* older = old_->find(key)) {
    std::copy_n(older, width_, row);
    ++num_moved_;
  }
  return row;
}

}  // namespace ps
