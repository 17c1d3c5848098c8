#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "checkpoint/inspect/report.h"
#include "checkpoint/inspect/table_rows.h"

namespace ps {

namespace {

struct Neighbour {
  double value;
  uint64_t key;
};

// Computes the measure between a fixed row and others.  Sums run in the order of columns, in doubles.  One owner
// thread.
class Nearness {
 public:
  Nearness(Metric metric, std::span<const float> row) : metric_(metric), row_(row), norm_(norm(row)) {}

  //   l2: |row - other|      dot: row · other      cosine: row · other / (|row| |other|), 0 if one of them is 0
  double operator()(std::span<const float> other) const {
    if (metric_ == Metric::kL2) return distance(other);
    const double product = dot(other);
    if (metric_ == Metric::kDot) return product;
    const double norms = norm_ * norm(other);
    return norms > 0 ? product / norms : 0;
  }

  bool comes_before(const Neighbour& a, const Neighbour& b) const {
    if (a.value != b.value) return (a.value > b.value) != (metric_ == Metric::kL2);
    return a.key < b.key;
  }

 private:
  static double norm(std::span<const float> row) {
    double sum = 0;
    for (float value : row) sum += double{value} * double{value};
    return std::sqrt(sum);
  }
  double dot(std::span<const float> other) const {
    double sum = 0;
    for (size_t c = 0; c < row_.size(); ++c) sum += double{row_[c]} * double{other[c]};
    return sum;
  }
  double distance(std::span<const float> other) const {
    double sum = 0;
    for (size_t c = 0; c < row_.size(); ++c) {
      const double difference = double{row_[c]} - double{other[c]};
      sum += difference * difference;
    }
    return std::sqrt(sum);
  }

  const Metric metric_;
  const std::span<const float> row_;
  const double norm_;
};

// Goes through all rows and keeps the `count` nearest in a heap, so that memory does not grow with the
// table.
std::vector<Neighbour> neighbours(ModelSource& source, const FoundRow& row, Metric metric, size_t count) {
  const size_t width = static_cast<size_t>(source.tables()[row.table].width);
  const Nearness nearness(metric, std::span(row.values).first(width));
  auto before = [&](const Neighbour& a, const Neighbour& b) { return nearness.comes_before(a, b); };
  std::vector<Neighbour> kept;  // a heap whose top is the farthest
  each_finite_row(source, row.table, [&](uint64_t key, std::span<const float> weights) {
    if (key == row.key) return;
    kept.push_back({nearness(weights), key});
    std::push_heap(kept.begin(), kept.end(), before);
    if (kept.size() <= count) return;
    std::pop_heap(kept.begin(), kept.end(), before);
    kept.pop_back();
  });
  std::sort(kept.begin(), kept.end(), before);
  return kept;
}

}  // namespace

Json nearest_rows(ModelSource& source, const RowNames& names, const std::string& row, Metric metric,
                  size_t count) {
  Json out = Json::array();
  for (const FoundRow& found : find_rows(source, names, row)) {
    const std::string& table = source.tables()[found.table].name;
    Json one = {{"table", table}};
    one.update(key_json(names, table, found.key));
    one["nearest"] = Json::array();
    for (const Neighbour& neighbour : neighbours(source, found, metric, count)) {
      Json other = key_json(names, table, neighbour.key);
      other["value"] = neighbour.value;
      one["nearest"].push_back(std::move(other));
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::string nearest_text(const Json& tables) {
  std::string out;
  for (const Json& table : tables) {
    out += cat(table["table"].get<std::string>(), " ", key_text(table), ":\n");
    std::vector<std::vector<std::string>> lines;
    for (const Json& other : table["nearest"]) {
      lines.push_back({"", significant(other["value"].get<double>(), 6), key_text(other)});
    }
    out += aligned(lines);
  }
  return out;
}

}  // namespace ps
