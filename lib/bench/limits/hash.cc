// Times checksums of memory.
#include "base/hash.h"
#include "bench/limits/suite.h"
#include "bench/pages.h"

namespace ps {

namespace {

// XXH3 of an array.  One owner thread.
class Hash final : public Workload {
 public:
  explicit Hash(const BenchSettings& settings)
      : pages_(scaled_power(settings.scale, uint64_t{1} << 28, uint64_t{1} << 20), PageKind::kHuge) {
    uint64_t index = 0;
    for (uint64_t& word : pages_.as<uint64_t>()) word = hash_key(index++);
  }

  void run() override { hash_ = hash_bytes(bytes()); }

  // Compares the hash of no bytes with that of the specification of XXH3, and checks that one changed bit
  // changes the hash.
  void check() override {
    expect_equal("XXH3 of nothing", hash_bytes({}), 0x2d06800538d394c2);
    expect_equal("XXH3 of the same bytes", hash_, hash_bytes(bytes()));
    pages_.data()[pages_.size() / 2] ^= 1;
    expect_equal("XXH3 that sees a changed bit", hash_ != hash_bytes(bytes()), 1);
    pages_.data()[pages_.size() / 2] ^= 1;
  }

  Work work() const override { return {.bytes = static_cast<double>(pages_.size())}; }

 private:
  std::string_view bytes() const { return {pages_.data(), pages_.size()}; }

  const Pages pages_;
  uint64_t hash_ = 0;
};

}  // namespace

std::vector<Benchmark> hash_benchmarks() {
  return {{.name = "limits/hash",
           .help = "checksum of memory: XXH3, 64 bits",
           .unit = "B",
           .make = [](const BenchSettings& settings) { return std::make_unique<Hash>(settings); },
           .limit = "limits/read"}};
}

}  // namespace ps
