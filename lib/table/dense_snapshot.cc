#include "table/dense_snapshot.h"

#include <algorithm>
#include <utility>

namespace ps {

DenseSnapshot::DenseSnapshot(const Parts& parts, DenseSink sink) : parts_(parts), sink_(std::move(sink)) {
  for (size_t part = 0; part < parts.size(); ++part) {
    copies_[part].resize((parts[part].size() + kBlockFloats - 1) / kBlockFloats);
  }
}

// Returns the floats of a block where they lie in the table.
std::span<const float> DenseSnapshot::block(size_t part, uint64_t index) const {
  const std::span<const float> rest = parts_[part].subspan(index * kBlockFloats);
  return rest.first(std::min<uint64_t>(kBlockFloats, rest.size()));
}

void DenseSnapshot::keep(size_t part, uint64_t first, uint64_t count) {
  if (count == 0) return;
  const uint64_t last = (first + count - 1) / kBlockFloats;
  for (uint64_t index = first / kBlockFloats; index <= last; ++index) {
    std::unique_ptr<float[]>& copy = copies_[part][index];
    if (is_given(part, index) || copy != nullptr) continue;
    const std::span<const float> floats = block(part, index);
    copy = std::make_unique_for_overwrite<float[]>(floats.size());
    std::ranges::copy(floats, copy.get());
    ++num_copies_;
  }
}

void DenseSnapshot::keep_all() {
  for (size_t part = 0; part < parts_.size(); ++part) keep(part, 0, parts_[part].size());
}

// The position advances before the sink is called, so that a sink that throws gets no floats twice.
bool DenseSnapshot::sweep(uint64_t floats) {
  for (uint64_t given = 0; next_part_ < parts_.size(); ++next_part_, next_block_ = 0) {
    while (next_block_ < copies_[next_part_].size()) {
      if (given > 0 && given >= floats) return true;
      const size_t part = next_part_;
      const uint64_t index = next_block_++;
      const std::unique_ptr<float[]> copy = std::move(copies_[part][index]);
      num_copies_ -= copy != nullptr;
      const std::span<const float> now = block(part, index);
      given += now.size();
      sink_((part == 0 ? 0 : parts_[0].size()) + index * kBlockFloats,
            copy != nullptr ? std::span<const float>(copy.get(), now.size()) : now);
    }
  }
  return false;
}

}  // namespace ps
