#include "model/evaluators/grouped_scores.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/error.h"
#include "base/hash.h"

namespace ps {

namespace {

constexpr uint32_t kNoGroup = 64;  // halvings after which nothing is left

bool counts(float weight) {
  return weight > 0 && std::isfinite(weight);
}

// Orders examples by group, then by falling score; among equal scores the less relevant ones come first, so
// that ties never help.  Weights make the order complete, so that it does not depend on the order in which
// examples came.
bool comes_before(const GroupedScore& a, const GroupedScore& b) {
  return std::tuple(a.group, -a.score, a.label, a.weight) < std::tuple(b.group, -b.score, b.label, b.weight);
}

}  // namespace

void GroupedScores::add(Matrix<const float> predictions, const Batch& batch) {
  for (int64_t b = 0; b < predictions.rows; ++b) {
    const size_t example = static_cast<size_t>(b);
    const uint64_t group = batch.groups.empty() ? 0 : batch.groups[example];
    if (!counts(batch.weight(b)) || !keeps(group)) continue;
    const float score = predictions.row(b)[predictions.cols - 1];
    examples_.push_back({group, std::isnan(score) ? -std::numeric_limits<float>::infinity() : score,
                         batch.labels[example], batch.weight(b)});
    if (examples_.size() > max_examples_) sample();
  }
}

// Both sides must have kept the groups of the same sample: that of the side with more halvings, which is a
// part of the other's.
void GroupedScores::merge(const GroupedScores& other) {
  PS_CHECK(&other != this);
  if (other.halvings_ > halvings_) {
    halvings_ = other.halvings_;
    std::erase_if(examples_, [this](const GroupedScore& example) { return !keeps(example.group); });
  }
  for (const GroupedScore& example : other.examples_) {
    if (keeps(example.group)) examples_.push_back(example);
  }
  if (examples_.size() > max_examples_) sample();
}

void GroupedScores::clear() {
  examples_.clear();
  halvings_ = 0;
}

void GroupedScores::for_each_group(const std::function<void(std::span<const GroupedScore>)>& visit) const {
  std::sort(examples_.begin(), examples_.end(), comes_before);
  const std::span<const GroupedScore> all(examples_);
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].group == all[begin].group) ++end;
    visit(all.subspan(begin, end - begin));
  }
}

void GroupedScores::save(std::string& out) const {
  put(out, halvings_);
  put(out, uint64_t{examples_.size()});
  for (const GroupedScore& example : examples_) {
    put(out, example.group);
    put(out, example.score);
    put(out, example.label);
    put(out, example.weight);
  }
}

// The bytes come from outside: counts are limited before memory is taken, and values are those that add
// lets in.
void GroupedScores::load(ByteReader& in) {
  constexpr size_t kExampleBytes = sizeof(uint64_t) + 3 * sizeof(float);
  const uint32_t halvings = in.get<uint32_t>();
  const uint64_t count = in.get<uint64_t>();
  if (halvings > kNoGroup || count > max_examples_ || !in.has(count * kExampleBytes)) {
    fail(Code::kCorrupt, "state of an evaluator of groups has ", count, " examples, expected at most ",
         max_examples_, " and their bytes");
  }
  std::vector<GroupedScore> loaded(count);
  for (GroupedScore& example : loaded) {
    example.group = in.get<uint64_t>();
    example.score = in.get<float>();
    example.label = in.get<float>();
    example.weight = in.get<float>();
    if (!std::isnan(example.score) && std::isfinite(example.label) && counts(example.weight)) continue;
    fail(Code::kCorrupt, "state of an evaluator of groups has an example without score, label or weight");
  }
  halvings_ = halvings;
  examples_ = std::move(loaded);
}

// With h halvings a group is kept if its hash begins with h zeros: one group of 2^h, whole or not at all,
// and the same ones in every process.
bool GroupedScores::keeps(uint64_t group) const {
  return halvings_ < kNoGroup && std::countl_zero(hash_key(group)) >= static_cast<int>(halvings_);
}

// As many halvings as it takes, and no more: the number depends on the set of all examples alone.
void GroupedScores::sample() {
  while (examples_.size() > max_examples_) {
    ++halvings_;
    std::erase_if(examples_, [this](const GroupedScore& example) { return !keeps(example.group); });
  }
}

}  // namespace ps
