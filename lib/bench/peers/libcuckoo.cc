#include <libcuckoo/cuckoohash_map.hh>

#include "base/hash.h"
#include "bench/peers/map_rows.h"
#include "bench/peers/maps.h"

namespace ps {

namespace {

// A hash that spreads keys.  std::hash of a number is the number itself, whose low bits alone would choose
// the bucket.
struct Spread {
  size_t operator()(uint64_t key) const { return hash_key(key); }
};

// A map that many threads may change, used as the embedding tables of other toolkits use it: every access is
// a function that runs under the locks of a bucket.
class CuckooTable final : public RowTable {
 public:
  void insert(const KeyPlan& plan) override {
    for (uint64_t key : plan.keys) map_.insert(key, MapRow{});
  }

  uint64_t find(const KeyPlan& plan) override {
    uint64_t found = 0;
    for (uint64_t key : plan.keys) found += map_.contains(key);
    return found;
  }

  double sum(const KeyPlan& plan) override {
    float sums[kBenchWidth] = {};
    for (uint64_t key : plan.keys) map_.find_fn(key, [&](const MapRow& row) { row.add_to(sums); });
    return total(sums);
  }

  void update(const KeyPlan& plan) override {
    for (uint64_t key : plan.keys) map_.update_fn(key, [](MapRow& row) { row.step(); });
  }

  uint64_t size() const override { return map_.size(); }
  float weight(uint64_t key) override { return map_.find(key).weights[0]; }

 private:
  libcuckoo::cuckoohash_map<uint64_t, MapRow, Spread> map_;
};

}  // namespace

std::unique_ptr<RowTable> make_libcuckoo_table() {
  return std::make_unique<CuckooTable>();
}

}  // namespace ps
