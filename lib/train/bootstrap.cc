#include "train/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "config/json.h"

namespace ps {

namespace {

constexpr size_t kMostPredictions = size_t{1} << 28;

using NamedValues = std::vector<std::pair<std::string, double>>;

// Returns a quantile of sorted numbers; between two neighbours it is in proportion to its place.
double quantile_of(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Returns the values of all evaluators of one replica, in their order.
NamedValues values_of(const Bootstrap::Evaluators& evaluators) {
  NamedValues all;
  for (const auto& evaluator : evaluators) {
    for (auto& value : evaluator->values()) all.push_back(std::move(value));
  }
  return all;
}

// Takes the values of all replicas.  A replica may lack a name that another has, such as a bucket without
// examples; its interval is undefined then.
std::vector<Interval> intervals_of(const std::vector<NamedValues>& replicas) {
  std::map<std::string, std::vector<double>> values;
  std::vector<Interval> out;
  for (const NamedValues& replica : replicas) {
    for (const auto& [name, value] : replica) {
      if (!values.contains(name)) out.push_back({name, std::nan(""), std::nan("")});
      values[name].push_back(value);
    }
  }
  for (Interval& interval : out) {
    std::vector<double>& all = values[interval.name];
    const bool defined = std::none_of(all.begin(), all.end(), [](double value) { return std::isnan(value); });
    if (!defined || all.size() < replicas.size()) continue;
    std::sort(all.begin(), all.end());
    interval.low = quantile_of(all, 0.025);
    interval.high = quantile_of(all, 0.975);
  }
  return out;
}

// A copy of a group is a group of its own.
uint64_t group_of_copy(uint64_t group, int copy) {
  return copy == 0 ? group : hash_key(hash_key(group) + static_cast<uint64_t>(copy));
}

}  // namespace

// Compares a uniform number with the sums of the law: 1/e, 1/e + 1/e, 1/e + 1/e + 1/2e and so on.
int poisson_count(uint64_t seed, int replica, uint64_t item) {
  const uint64_t key = hash_key(hash_key(seed + 1) + static_cast<uint64_t>(replica));
  const double uniform = static_cast<double>(hash_key(key + hash_key(item)) >> 11) * 0x1p-53;
  constexpr int kMost = 20;  // larger counts have less than 2^-53 of the law
  double probability = std::exp(-1.0), sum = probability;
  int count = 0;
  while (uniform >= sum && count < kMost) {
    probability /= ++count;
    sum += probability;
  }
  return count;
}

// Copies of the batch what evaluators read: labels, weights, groups, and the slots of labels.  Other slots
// stay empty, since the features of a whole test would not fit into memory.
void Bootstrap::add(Matrix<const float> predictions, std::span<const float> log_losses, const Batch& batch) {
  const auto size = static_cast<size_t>(predictions.rows * predictions.cols);
  num_predictions_ += size;
  if (num_predictions_ > kMostPredictions) {
    fail(Code::kExhausted, "--intervals: the data have more than ", kMostPredictions,
         " predictions, which are kept: test on a part of them");
  }
  Block block{{predictions.data, predictions.data + size},
              {log_losses.begin(), log_losses.end()},
              predictions.cols,
              {},
              num_examples_};
  block.batch.labels = batch.labels;
  block.batch.weights = batch.weights;
  block.batch.groups = batch.groups;
  for (size_t slot : label_slots_) {
    block.batch.slots.resize(std::max(block.batch.slots.size(), slot + 1));
    block.batch.slots[slot] = batch.slots[slot];
  }
  blocks_.push_back(std::move(block));
  num_examples_ += batch.labels.size();
}

// Returns how often each example of the block counts in this replica.  All examples of a group have the
// count of their group, also if they are in several blocks.
std::vector<int> Bootstrap::draw(const Block& block, int replica) const {
  const std::vector<uint64_t>& groups = block.batch.groups;
  std::vector<int> counts;
  for (size_t b = 0; b < block.batch.labels.size(); ++b)
    counts.push_back(poisson_count(seed_, replica, groups.empty() ? block.place + b : groups[b]));
  return counts;
}

// Measures of single examples count an example by its weight.  Measures of groups take the mean over groups, so that a
// group that was drawn several times must come as several groups.
void Bootstrap::measure(int replica, const Evaluators& evaluators) const {
  Batch drawn;
  for (const Block& block : blocks_) {
    const std::vector<int> counts = draw(block, replica);
    const bool grouped = !block.batch.groups.empty();
    const int copies = grouped ? *std::max_element(counts.begin(), counts.end()) : 1;
    drawn = block.batch;
    drawn.weights.resize(counts.size());
    for (int copy = 0; copy < copies; ++copy) {
      for (size_t b = 0; b < counts.size(); ++b) {
        const int times = !grouped ? counts[b] : counts[b] > copy ? 1 : 0;
        drawn.weights[b] = static_cast<float>(times) * block.batch.weight(static_cast<int64_t>(b));
        if (grouped) drawn.groups[b] = group_of_copy(block.batch.groups[b], copy);
      }
      for (const auto& evaluator : evaluators) {
        if (!block.log_losses.empty() && evaluator->wants_log_losses()) {
          evaluator->add_log_losses(block.log_losses, drawn);
        } else {
          evaluator->add({block.predictions.data(), std::ssize(counts), block.cols}, drawn);
        }
      }
    }
  }
}

// Each thread measures a replica by itself, so that as many evaluators hold examples as there are threads.
std::vector<Interval> Bootstrap::intervals(const std::function<Evaluators()>& make, Device& device,
                                           int replicas) const {
  std::vector<NamedValues> values(static_cast<size_t>(replicas));
  for (int first = 0; first < replicas; first += device.threads()) {
    const int end = std::min(replicas, first + device.threads());
    std::vector<Evaluators> evaluators;
    for (int r = first; r < end; ++r) evaluators.push_back(make());
    device.run(end - first, [&](int64_t i) {
      const Evaluators& own = evaluators[static_cast<size_t>(i)];
      measure(first + static_cast<int>(i), own);
      values[static_cast<size_t>(first + i)] = values_of(own);
    });
  }
  return intervals_of(values);
}

Json intervals_json(const std::vector<Interval>& intervals) {
  Json out = Json::object();
  for (const Interval& interval : intervals) {
    const bool finite = std::isfinite(interval.low) && std::isfinite(interval.high);
    out[interval.name] = finite ? Json::array({interval.low, interval.high}) : Json();
  }
  return out;
}

}  // namespace ps
