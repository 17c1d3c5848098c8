// A row as the value of a map, and a table over any map like std::unordered_map.  Used by the peers' tables.
#ifndef PS_BENCH_PEERS_MAP_ROWS_H_
#define PS_BENCH_PEERS_MAP_ROWS_H_

#include <cmath>
#include <utility>

#include "base/error.h"
#include "bench/table/row_table.h"

namespace ps {

struct MapRow {
  float weights[kBenchWidth] = {};
  float squares[kBenchWidth] = {};

  // Adds each column to its own sum, so that no addition waits for another column's.
  void add_to(float* sums) const {
    for (int i = 0; i < kBenchWidth; ++i) sums[i] += weights[i];
  }

  void step() {
    for (int i = 0; i < kBenchWidth; ++i) {
      squares[i] += 1;
      weights[i] -= kBenchRate / std::sqrt(squares[i] + kBenchEpsilon);
    }
  }
};

inline double total(const float* sums) {
  double sum = 0;
  for (int i = 0; i < kBenchWidth; ++i) sum += sums[i];
  return sum;
}

// A table whose rows are the values of a map.  One owner thread.
template <class Map>
class MapTable final : public RowTable {
 public:
  void insert(const KeyPlan& plan) override {
    for (uint64_t key : plan.keys) map_.try_emplace(key);
  }

  uint64_t find(const KeyPlan& plan) override {
    uint64_t found = 0;
    for (uint64_t key : plan.keys) found += map_.find(key) != map_.end();
    return found;
  }

  double sum(const KeyPlan& plan) override {
    float sums[kBenchWidth] = {};
    for (uint64_t key : plan.keys) {
      auto entry = map_.find(key);
      if (entry != map_.end()) entry->second.add_to(sums);
    }
    return total(sums);
  }

  void update(const KeyPlan& plan) override {
    for (uint64_t key : plan.keys) {
      auto entry = map_.find(key);
      if (entry != map_.end()) row(entry).step();
    }
  }

  uint64_t size() const override { return map_.size(); }
  float weight(uint64_t key) override { return map_.find(key)->second.weights[0]; }

 private:
  // Returns the row of an entry; a tsl::robin_map gives write access to values through value() alone.
  template <class Iterator>
  static MapRow& row(Iterator& entry) {
    if constexpr (requires { entry.value(); }) {
      return entry.value();
    } else {
      return entry->second;
    }
  }

  Map map_;
};

}  // namespace ps

#endif  // PS_BENCH_PEERS_MAP_ROWS_H_
