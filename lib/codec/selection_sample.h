// The sample from which a selection estimates its threshold: the same on the processor and on a device.  Used
// by codec/selection.h and by codec/cuda/device_selection.h.
//
// Stratified sampling: the values are divided into as many ranges as the sample has lines, and one line is
// drawn from each range.
#ifndef PS_CODEC_SELECTION_SAMPLE_H_
#define PS_CODEC_SELECTION_SAMPLE_H_

#include <cstdint>

#include "base/hash.h"

namespace ps {

struct SelectionSample {
  static constexpr uint64_t kLine = 16;  // floats of a cache line

  uint64_t num_lines = 0;  // 0: the selection looks at all values instead
  uint64_t stretch = 0;    // lines of a range

  constexpr uint64_t size() const { return num_lines * kLine; }

  // Returns the index of the first value of line `n`.
  constexpr uint64_t line(uint64_t draw, uint64_t n) const {
    return (n * stretch + hash_key(draw + n) % stretch) * kLine;
  }
};

// Returns the sample for a selection of `count` of `size` values.  The threshold is set such that 256 values of
// the sample are above it: the share of all values above it then has a relative error of 1 / sqrt(256), 6 %, if
// neighbouring values are independent.
constexpr SelectionSample selection_sample(uint64_t size, uint64_t count) {
  constexpr uint64_t kHits = 256, kLeastSize = 4096;
  if (count == 0) return {};
  const uint64_t for_hits = kHits * size / count, wanted = for_hits < kLeastSize ? kLeastSize : for_hits;
  if (wanted * 4 > size) return {};
  const uint64_t num_lines = wanted / SelectionSample::kLine;
  return {num_lines, size / SelectionSample::kLine / num_lines};
}

// Returns the rank, among the sample's sizes, of the least size to collect; it may be above the sample's size,
// and then all values but zeros are collected.  It makes a selection collect 1.25 times as many values as it
// needs: three to four times the error above.
constexpr uint64_t selection_sample_rank(const SelectionSample& sample, uint64_t size, uint64_t count) {
  constexpr double kMargin = 1.25;
  if (sample.size() == 0) return 0;
  const double share = static_cast<double>(count) / static_cast<double>(size);
  const double rank = share * kMargin * static_cast<double>(sample.size());
  const uint64_t whole = static_cast<uint64_t>(rank);
  return whole + (static_cast<double>(whole) < rank ? 1 : 0);
}

}  // namespace ps

#endif  // PS_CODEC_SELECTION_SAMPLE_H_
