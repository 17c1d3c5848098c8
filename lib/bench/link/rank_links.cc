#include "bench/link/rank_links.h"

#include "base/error.h"

namespace ps {

namespace {

// Links that limit what each rank sends.  Constant after construction; any thread may use it.
class BucketLinks final : public RankLinks {
 public:
  explicit BucketLinks(double bits_per_second) {
    shape_.bytes_per_second = bits_per_second / 8;
    shape_.one_rate = true;
  }

  std::string name() const override { return "bucket"; }
  std::string description() const override { return "a token bucket in the transport, over loopback"; }
  void enter(int) const override {}
  std::string host(int) const override { return "127.0.0.1"; }
  LinkShape shape() const override { return shape_; }

 private:
  LinkShape shape_;
};

}  // namespace

std::unique_ptr<RankLinks> make_bucket_links(double bits_per_second) {
  return std::make_unique<BucketLinks>(bits_per_second);
}

std::vector<std::string> link_choices() {
  return {kAnyLink, "namespaces", "bucket"};
}

// Only kAnyLink falls back, and only where namespaces are not allowed: a user who asked for them should not
// get other links without notice.
std::unique_ptr<RankLinks> make_rank_links(const std::string& choice, int ranks, double bits_per_second,
                                           Log& log) {
  if (choice == "bucket") return make_bucket_links(bits_per_second);
  try {
    return make_namespace_links(ranks, bits_per_second);
  } catch (const Error& error) {
    if (choice != kAnyLink || error.code() != Code::kUnavailable) throw;
    log.info(cat(error.message(), "; a token bucket in the transport stands in"));
    return make_bucket_links(bits_per_second);
  }
}

}  // namespace ps
