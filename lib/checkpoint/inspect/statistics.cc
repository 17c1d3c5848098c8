#include <array>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "checkpoint/inspect/quantiles.h"
#include "checkpoint/inspect/report.h"
#include "checkpoint/inspect/table_rows.h"

namespace ps {

namespace {

constexpr std::array<double, 9> kQuantiles = {0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1};
constexpr std::array<const char*, 9> kNames = {"min", "p1", "p5", "p25", "p50", "p75", "p95", "p99", "max"};

// Computes the figures of one table in two passes over its rows.  One owner thread.
class TableStatistics {
 public:
  TableStatistics(ModelSource& source, size_t table)
      : source_(source),
        index_(table),
        table_(source.tables()[table]),
        weights_(kQuantiles),
        norms_(kQuantiles),
        compares_(!table_.sparse && source.knows_untrained_rows(table)),
        untrained_(static_cast<size_t>(table_.width)) {}

  // Figures of weights need at least one finite weight, and those of norms one finite row; they are left
  // out otherwise.
  Json json() {
    go_through_once();
    go_through_again();
    Json out = {{"table", table_.name}, {"rows", table_.count}, {"width", table_.width}};
    out["never_updated"] = never_updated();
    out["zeros"] = zeros_;
    out["not_finite"] = not_finite_;
    if (finite_ > 0) {
      out["mean"] = mean_;
      out["deviation"] = std::sqrt(squared_deviations_ / static_cast<double>(finite_));
      out["norm"] = std::sqrt(squares_);
      out["weights"] = quantiles(weights_);
    }
    if (finite_rows_ > 0) out["row_norms"] = quantiles(norms_);
    return out;
  }

 private:
  // The first pass sums weights and squares, and counts for the quantiles.  A row whose squares are not
  // finite has no norm, so finite_rows_ leaves it out.
  void go_through_once() {
    each_weights([&](uint64_t key, std::span<const float> row) {
      double squares = 0;
      for (float weight : row) {
        squares += double{weight} * double{weight};
        add(weight);
      }
      if (std::isfinite(squares)) {
        norms_.add(static_cast<float>(std::sqrt(squares)));
        ++finite_rows_;
      }
      if (compares_ && is_untrained(key, row)) ++unchanged_;
    });
    mean_ = sum_ / static_cast<double>(finite_);
  }

  void add(float weight) {
    if (!std::isfinite(weight)) {
      ++not_finite_;
      return;
    }
    ++finite_;
    zeros_ += weight == 0 ? 1 : 0;
    sum_ += double{weight};
    squares_ += double{weight} * double{weight};
    weights_.add(weight);
  }

  // The second pass computes the deviation from the mean that the first one found, sum (w - mean)^2, which
  // loses no digits as sum w^2 - n mean^2 does.  It also gives the quantiles the same numbers again.
  void go_through_again() {
    weights_.begin_second();
    norms_.begin_second();
    each_weights([&](uint64_t, std::span<const float> row) {
      double squares = 0;
      for (float weight : row) {
        squares += double{weight} * double{weight};
        if (!std::isfinite(weight)) continue;
        weights_.add_again(weight);
        const double difference = double{weight} - mean_;
        squared_deviations_ += difference * difference;
      }
      if (std::isfinite(squares)) norms_.add_again(static_cast<float>(std::sqrt(squares)));
    });
  }

  template <class Body>
  void each_weights(Body&& body) {
    const size_t width = static_cast<size_t>(table_.width);
    each_row(source_, index_,
             [&](uint64_t key, std::span<const float> values) { body(key, values.first(width)); });
  }

  bool is_untrained(uint64_t key, std::span<const float> row) {
    source_.untrained_row(index_, key, untrained_.data());
    return std::memcmp(untrained_.data(), row.data(), row.size_bytes()) == 0;
  }

  // In a sparse table with a bound the keys without a row were never updated.  A dense table has all rows,
  // so those that still have their initial values, bit for bit, are counted.
  Json never_updated() const {
    if (table_.sparse && table_.rows > 0) return table_.rows - table_.count;
    return compares_ ? Json(unchanged_) : Json();
  }

  static Json quantiles(const Quantiles& counted) {
    Json out;
    for (size_t i = 0; i < kQuantiles.size(); ++i) out[kNames[i]] = counted.value(i);
    return out;
  }

  ModelSource& source_;
  const size_t index_;
  const ModelTable table_;
  Quantiles weights_, norms_;
  const bool compares_;  // rows are compared with their initial values
  std::vector<float> untrained_;
  uint64_t finite_ = 0, zeros_ = 0, not_finite_ = 0, finite_rows_ = 0, unchanged_ = 0;
  double sum_ = 0, squares_ = 0, mean_ = 0, squared_deviations_ = 0;
};

std::string number(const Json& value) {
  return value.is_null() ? "-" : value.is_number_float() ? significant(value, 5) : value.dump();
}

}  // namespace

Json model_statistics(ModelSource& source) {
  Json out = Json::array();
  for (size_t t = 0; t < source.tables().size(); ++t) out.push_back(TableStatistics(source, t).json());
  return out;
}

// Returns two tables: a line of figures for each table of the model, and below them its quantiles, in two
// lines for each.
std::string statistics_text(const Json& tables) {
  std::vector<std::vector<std::string>> figures = {
      {"table", "rows", "width", "never updated", "zeros", "not finite", "mean", "deviation", "norm"}};
  std::vector<std::string> header = {"quantiles of", ""};
  header.insert(header.end(), kNames.begin(), kNames.end());
  std::vector<std::vector<std::string>> quantiles = {header};
  for (const Json& table : tables) {
    std::vector<std::string>& line = figures.emplace_back();
    line.push_back(table["table"]);
    for (const char* key :
         {"rows", "width", "never_updated", "zeros", "not_finite", "mean", "deviation", "norm"}) {
      line.push_back(number(table.value(key, Json())));
    }
    for (const char* of : {"weights", "row_norms"}) {
      if (!table.contains(of)) continue;
      std::vector<std::string>& row = quantiles.emplace_back();
      row = {table["table"], of == std::string_view("weights") ? "weights" : "row norms"};
      for (const Json& value : table[of]) row.push_back(number(value));
    }
  }
  return aligned(figures) + "\n" + aligned(quantiles);
}

}  // namespace ps
