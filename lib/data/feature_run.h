// Features as nearly all lines hold them, many at a time.  Used by the parsers of formats with one list of
// (id, value) to a line; what is not as plain is for their own, careful code, which also finds what is wrong.
#ifndef PS_DATA_FEATURE_RUN_H_
#define PS_DATA_FEATURE_RUN_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "data/batch.h"
#include "data/scan.h"

namespace ps {

// Some features, on the stack of the parser: they are appended to a slot together, so that a feature costs
// neither a growing array nor a check of its own.
struct FeatureRun {
  static constexpr size_t kMost = 64;

  size_t size = 0;
  bool ones = true;  // all values are 1
  Key largest = 0;
  Key keys[kMost];
  float values[kMost];
};

namespace scan_internal {

inline uint64_t load_bytes(const char* p) {
  uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  return bytes;
}

// Marks, by its high bit, each byte of p[1] to p[8] that is above kBound (kAbove), or that is not.  Less work
// than to look for all that is no digit, and the next feature waits for it; what stands before the mark is
// checked beside.  That the first byte is not asked lets a word of 8 be told from a longer one.
template <bool kAbove, char kBound>
inline uint64_t mark_ends(const char* p) {
  constexpr uint64_t kEach = 0x0101010101010101u;
  uint64_t sums = load_bytes(p + 1) + kEach * static_cast<uint64_t>(0x7f - kBound);
  return (kAbove ? sums : ~sums) & (kEach * 0x80);
}

// The word at p that ends at the lowest of `marks`: '0' taken out, its last byte the highest, zeros below.
inline uint64_t take_word(const char* p, uint64_t marks, const char*& end) {
  int last = std::countr_zero(marks);
  end = p + 1 + last / 8;
  return (load_bytes(p) ^ kZeros) << (63 - last);
}

// A number of digits and at most one point, from take_word.  False when it is anything else, or larger than
// 2^24: up to there integers are floats without error, as is the power of ten, so that one division rounds as
// it should.
//   single: it has one byte, which must not be the point
inline bool join_decimal(uint64_t digits, bool single, float& value) {
  static constexpr float kTens[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f};
  uint64_t others = other_bytes(digits);
  int places = 0;
  if (others != 0) {
    int point = std::countr_zero(others) & 56;
    bool plain = (digits >> point & 0xff) == ('.' ^ '0') && (others & (others - 1)) == 0 && !single;
    if (!plain) return false;
    // The digits before the point move up by one byte, over it.
    uint64_t before = (uint64_t{1} << point) - 1;
    digits = (digits & before) << 8 | (digits & ~before << 8);
    places = 7 - point / 8;
  }
  uint64_t mantissa = join_digits(digits);
  value = static_cast<float>(mantissa) / kTens[places];
  return mantissa <= uint64_t{1} << 24;
}

// The value at p, up to kAfter; p moves past that.
template <char kAfter>
inline bool take_value(const char*& p, float& value) {
  const char* end = p;
  uint64_t marks = mark_ends<false, kAfter>(p), digits = 0;
  if (marks != 0) digits = take_word(p, marks, end);
  if (marks == 0 || !join_decimal(digits, end == p + 1, value)) {
    end = p;
    if (scan_float(end, value) != Scan::kNumber) return false;
  }
  p = end + 1;
  return *end == kAfter;
}

}  // namespace scan_internal

// Fills `run` with the features at p that are "id kBetween value kAfter", `base` taken off their ids; p moves
// past them, and stands where an id should be.  Stops before the first feature that is not of this form, such
// as the last of a line, and when the run is full.
//   kOnes: values are "1", and nothing else is a value
template <char kBetween, char kAfter, bool kOnes>
inline void scan_run(const char*& p, Key base, FeatureRun& run) {
  using namespace scan_internal;
  constexpr bool kAbove = kBetween > '9';
  constexpr char kBound = kAbove ? '9' : '0' - 1;
  constexpr uint32_t kOne = kBetween | '1' << 8 | kAfter << 16;
  const char* at = p;
  size_t size = 0;
  Key largest = 0;
  bool ones = true;
  for (; size < FeatureRun::kMost; ++size) {
    uint64_t marks = mark_ends<kAbove, kBound>(at);
    const char* q;
    Key key;
    if (marks != 0) {
      uint64_t digits = take_word(at, marks, q);
      if (other_bytes(digits) != 0) break;
      key = join_digits(digits);
    } else {
      uint64_t wide;
      if (q = at; !scan_uint(q, wide)) break;
      key = wide;
    }
    uint32_t rest;
    std::memcpy(&rest, q, 4);
    float value = 1;
    if ((rest & 0xffffff) == kOne) {
      q += 3;
    } else {
      if (kOnes || *q++ != kBetween || !take_value<kAfter>(q, value)) break;
      ones = ones && value == 1.0f;
    }
    key -= base;
    run.keys[size] = key;
    run.values[size] = value;
    largest = std::max(largest, key);
    at = q;
  }
  run.size = size;
  run.ones = ones;
  run.largest = largest;
  p = at;
}

// The same for ids without values, "id kAfter", of which it takes up to `most`.
template <char kAfter>
inline void scan_ids(const char*& p, uint64_t most, FeatureRun& run) {
  using namespace scan_internal;
  const char* at = p;
  size_t size = 0, stop = static_cast<size_t>(std::min<uint64_t>(most, FeatureRun::kMost));
  Key largest = 0;
  for (; size < stop; ++size) {
    uint64_t marks = mark_ends<false, '0' - 1>(at), wide;
    const char* q = at;
    if (marks != 0) {
      uint64_t digits = take_word(at, marks, q);
      if (other_bytes(digits) != 0) break;
      wide = join_digits(digits);
    } else if (!scan_uint(q, wide)) {
      break;
    }
    if (*q != kAfter) break;
    run.keys[size] = wide;
    run.values[size] = 1;
    largest = std::max(largest, Key{wide});
    at = q + 1;
  }
  run.size = size;
  run.ones = true;
  run.largest = largest;
  p = at;
}

}  // namespace ps

#endif  // PS_DATA_FEATURE_RUN_H_
