// StrangerStream: a stream from a peer that says what it was given, and takes all that is written to it.  For harnesses of what
// a stranger may say before it has proven anything.
#ifndef PS_TESTS_FUZZ_STRANGER_STREAM_H_
#define PS_TESTS_FUZZ_STRANGER_STREAM_H_

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "net/transport.h"

namespace ps {

// Gives the bytes in pieces of up to `piece`, with waits between them, and then ends; takes all that is written.
class StrangerStream final : public Stream {
 public:
  StrangerStream(std::string_view bytes, size_t piece) : bytes_(bytes), piece_(piece) {}

  IoResult read(std::span<const MutableBytes> into) override {
    if (std::exchange(waits_, !waits_)) return {.error = EAGAIN};
    const size_t size = std::min({bytes_.size(), piece_, into[0].size()});
    std::copy_n(bytes_.begin(), size, into[0].begin());
    bytes_.remove_prefix(size);
    return {.bytes = size};
  }
  IoResult write(std::span<const ConstBytes> from) override {
    return {.bytes = std::min(from[0].size(), piece_)};
  }
  void wait_readable() override {}
  void wait_writable() override {}
  void shutdown_write() override {}
  void set_events(Events*) override {}
  const std::string& peer() const override { return peer_; }

 private:
  std::string_view bytes_;
  const size_t piece_;
  const std::string peer_ = "stranger";
  bool waits_ = false;
};

}  // namespace ps

#endif  // PS_TESTS_FUZZ_STRANGER_STREAM_H_
