// Script: the bytes of a fuzz input, read as a sequence of decisions.  Used by harnesses whose inputs are not bytes
// of a format.
#ifndef PS_TESTS_FUZZ_SCRIPT_H_
#define PS_TESTS_FUZZ_SCRIPT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ps {

// After its end every decision is 0.
class Script {
 public:
  explicit Script(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool ended() const { return next_ >= bytes_.size(); }
  uint8_t byte() { return ended() ? 0 : bytes_[next_++]; }

  // One of 0 ... choices - 1.
  uint32_t choice(uint32_t choices) { return byte() % choices; }
  bool yes() { return (byte() & 1) != 0; }
  bool rarely() { return byte() % 16 == 15; }

  // A number that is most often small.
  uint64_t number() {
    const uint8_t first = byte();
    if (first < 250) return first % 8;
    if (first == 255) return UINT64_MAX;
    return uint64_t{1} << (byte() % 64);
  }

  std::string bytes(size_t size) {
    std::string out;
    while (out.size() < size) out += static_cast<char>(byte());
    return out;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t next_ = 0;
};

}  // namespace ps

#endif  // PS_TESTS_FUZZ_SCRIPT_H_
