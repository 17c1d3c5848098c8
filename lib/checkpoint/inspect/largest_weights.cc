#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/text.h"
#include "checkpoint/inspect/report.h"
#include "checkpoint/inspect/table_rows.h"

namespace ps {

namespace {

struct Weight {
  float magnitude;
  size_t table;
  uint64_t key;
  size_t column;
  float value;
};

bool comes_before(const Weight& a, const Weight& b) {
  if (a.magnitude != b.magnitude) return a.magnitude > b.magnitude;
  return std::tie(a.table, a.key, a.column) < std::tie(b.table, b.key, b.column);
}

// Keeps the `count` largest of all added weights, in a heap whose top is the smallest of them.  One owner
// thread.
class Largest {
 public:
  explicit Largest(size_t count) : count_(count) {}

  // Most weights are below the top of the full heap, which ends their turn after one comparison.
  void add(const Weight& weight) {
    if (kept_.size() == count_) {
      if (!comes_before(weight, kept_.front())) return;
      std::pop_heap(kept_.begin(), kept_.end(), comes_before);
      kept_.pop_back();
    }
    kept_.push_back(weight);
    std::push_heap(kept_.begin(), kept_.end(), comes_before);
  }

  std::vector<Weight> sorted() {
    std::sort(kept_.begin(), kept_.end(), comes_before);
    return std::move(kept_);
  }

 private:
  const size_t count_;
  std::vector<Weight> kept_;
};

}  // namespace

// All weights of all tables pass through one heap.  Sizes are compared, but the weights are reported with
// their signs.
Json largest_weights(ModelSource& source, const RowNames& names, size_t count) {
  Largest largest(count);
  for (size_t t = 0; t < source.tables().size(); ++t) {
    each_finite_row(source, t, [&](uint64_t key, std::span<const float> weights) {
      for (size_t c = 0; c < weights.size(); ++c) {
        largest.add({std::fabs(weights[c]), t, key, c, weights[c]});
      }
    });
  }
  Json out = Json::array();
  for (const Weight& weight : largest.sorted()) {
    const std::string& table = source.tables()[weight.table].name;
    Json one = {{"table", table}};
    one.update(key_json(names, table, weight.key));
    one["column"] = weight.column;
    one["weight"] = weight.value;
    out.push_back(std::move(one));
  }
  return out;
}

std::string largest_weights_text(const Json& weights) {
  std::vector<std::vector<std::string>> lines = {{"weight", "table", "key", "column", "name"}};
  for (const Json& weight : weights) {
    lines.push_back({cat(weight["weight"].get<float>()), weight["table"].get<std::string>(),
                     cat(weight["key"].get<uint64_t>()), cat(weight["column"].get<uint64_t>()),
                     weight.value("name", "")});
  }
  return aligned(lines);
}

}  // namespace ps
