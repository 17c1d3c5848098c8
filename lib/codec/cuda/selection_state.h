// The memory of a selection on a device, as its kernels see it.  Used by DeviceSelector and its kernels.
//
// The values are divided into tiles of equal size, one for each warp.  A tile has a count of the values that
// were collected in it, and a stash for the first `capacity` of them.  When there were more, the kernels that
// follow read the tile's values again instead: so the memory of a selection depends on `count`, and every
// input gives the right result.
#ifndef PS_CODEC_CUDA_SELECTION_STATE_H_
#define PS_CODEC_CUDA_SELECTION_STATE_H_

#include <cstdint>

namespace ps::device_selection {

constexpr unsigned kThreads = 256;          // threads of all other blocks
constexpr unsigned kScanThreads = 1024;     // threads of the block that adds up the counts of tiles
constexpr uint32_t kBins = 2048;            // bins of a histogram: one for each value of a digit
constexpr uint32_t kNothing = 0xffffffff;   // a size that no value has
constexpr uint32_t kInfinite = 0x7f800000;  // the size of infinity; those of NaNs are larger

// A size has 31 bits: two digits of 11 bits, and one of 9.
constexpr int kDigits = 3;
struct Digit {
  uint32_t shift, bits;
};
constexpr Digit digit_of(int pass) {
  return pass == 0 ? Digit{20, 11} : pass == 1 ? Digit{9, 11} : Digit{0, 9};
}

// The results that the kernels of a selection leave to those that follow.  Only the last block of a kernel writes the fields that
// other blocks of it read.
struct State {
  uint32_t least;      // sizes of at least this are collected
  uint32_t collected;  // number of values collected
  uint32_t again;      // 1: there were too few, so values are collected once more
  uint32_t largest;    // the largest size of all values, where they are computed
  uint32_t prefix;     // the digits that a search has found so far
  uint32_t
      rank;  // the rank that is left within them; after the last digit, the values with this size to keep
  uint32_t done;  // blocks of the running kernel that have added their histogram
  uint32_t bins[kBins];
};

struct alignas(8) Candidate {
  uint32_t index;
  float value;
};

// The values of a tile that the selection keeps for certain, and those of the least size, of which it keeps the
// first; then, the sums of these over all tiles before.
struct Kept {
  uint32_t above, equal;
};

struct Search {
  State* state;
  uint32_t* collected;  // [num_tiles]
  Kept* kept;           // [num_tiles]
  Candidate* stash;     // [num_tiles, capacity]
  uint32_t size, count;
  uint32_t enough;  // if fewer are collected, values are collected once more
  uint32_t tile_size, num_tiles, capacity;
};

}  // namespace ps::device_selection

#endif  // PS_CODEC_CUDA_SELECTION_STATE_H_
