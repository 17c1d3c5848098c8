#include "table/dense_snapshot.h"

#include <algorithm>
#include <utility>

namespace ps {

// The number of floats that one call of the sink gets at most.
static constexpr uint64_t kSweptFloats = 64 << 10;

DenseSnapshot::DenseSnapshot(const Parts& parts, uint64_t max_bytes, DenseSink sink)
    : parts_(parts), max_bytes_(max_bytes), sink_(std::move(sink)) {}

// Returns the floats from `first` to the end of its part: weights or state, or their copy.
std::span<const float> DenseSnapshot::from(uint64_t first) const {
  if (is_copied_) return std::span(copy_).subspan(first - copied_from_);
  const uint64_t weights = parts_[0].size();
  return first < weights ? parts_[0].subspan(first) : parts_[1].subspan(first - weights);
}

// The first writer copies all floats that were not given out yet.  If they take more than max_bytes_, it
// gives the first ones out before, until the rest fits.  Later writers find a copy, and do nothing.
void DenseSnapshot::keep() {
  if (is_copied_) return;
  while ((size() - given_) * sizeof(float) > max_bytes_) sweep(kSweptFloats);
  copy_.reserve(size() - given_);
  for (uint64_t first = given_; first < size();) {
    const std::span<const float> rest = from(first);
    copy_.insert(copy_.end(), rest.begin(), rest.end());
    first += rest.size();
  }
  copied_from_ = given_;
  is_copied_ = true;
}

// Gives out floats [given_, end) in pieces of at most kSweptFloats, none of which crosses from the weights
// to the state.  given_ advances before the sink is called, so that a sink that throws gets no floats
// twice.
bool DenseSnapshot::sweep(uint64_t floats) {
  const uint64_t end = floats < size() - given_ ? given_ + floats : size();
  while (given_ < end) {
    const std::span<const float> rest = from(given_);
    const std::span<const float> block = rest.first(std::min({kSweptFloats, end - given_, rest.size()}));
    const uint64_t first = std::exchange(given_, given_ + block.size());
    sink_(first, block);
  }
  return given_ < size();
}

}  // namespace ps
