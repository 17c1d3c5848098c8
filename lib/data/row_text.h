// RowText: appends one line of text to a string.  Used by the writers.
#ifndef PS_DATA_ROW_TEXT_H_
#define PS_DATA_ROW_TEXT_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "data/number_text.h"

namespace ps {

// Reserves the room for the line once, writes through a pointer, and then shortens the string to the end of the
// text.  One owner thread.
class RowText {
 public:
  // Reserves room for so many integers and floats, each with up to three separators, and a little more.
  RowText(std::string& out, size_t integers, size_t floats) : out_(out) {
    size_t begin = out.size();
    out.resize(begin + integers * (kMaxUintText + 3) + floats * (kMaxFloatText + 3) + 64);
    at_ = out.data() + begin;
  }
  ~RowText() { out_.resize(static_cast<size_t>(at_ - out_.data())); }
  RowText(const RowText&) = delete;
  RowText& operator=(const RowText&) = delete;

  void add(char c) { *at_++ = c; }
  void add(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void add_uint(uint64_t value) { at_ = write_uint(at_, value); }
  // Writes for each key: kBefore, its digits, kBetween, "1".
  template <char kBefore, char kBetween>
  void add_ids(std::span<const uint64_t> keys) {
    if (keys.empty()) return;
    // Writes the three characters between the digits of two keys at once.
    constexpr uint32_t kMarks = kBetween | '1' << 8 | kBefore << 16;
    char* at = at_;
    *at++ = kBefore;
    for (uint64_t key : keys) {
      at = write_uint(at, key);
      std::memcpy(at, &kMarks, 4);
      at += 3;
    }
    at_ = at - 1;
  }
  void add_int(int64_t value) {
    if (value < 0) add('-');
    add_uint(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  }
  void add_hex8(uint32_t value) {
    for (int shift = 28; shift >= 0; shift -= 4) add("0123456789abcdef"[value >> shift & 15]);
  }
  void add_float(float value) { at_ = write_float(at_, value); }
  void add_fixed6(float value) { at_ = write_fixed6(at_, value); }

 private:
  std::string& out_;
  char* at_;
};

}  // namespace ps

#endif  // PS_DATA_ROW_TEXT_H_
