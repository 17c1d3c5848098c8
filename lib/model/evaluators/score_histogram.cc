#include "model/evaluators/score_histogram.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/radix_sort.h"

namespace ps {

void ScoreHistogram::add(float score, bool positive, float weight) {
  bring_back();
  add(weighted_score(score, positive, weight));
}

void ScoreHistogram::add(const WeightedScore& score) const {
  if (score.weight == 0) return;
  if (pending_.size() == kPending) compact_pending();
  pending_.push_back(score);
}

// The scores of the batch go behind those that are there.
void ScoreHistogram::add_there(Device& device, const MeasuredExamples& examples, int64_t size) {
  if (size == 0) return;
  if (at_ != device.kernels() || num_there_ + size > there_.size()) {
    bring_back();
    there_.resize(device, std::max(size, kMostThere));
    at_ = device.kernels();
  }
  run_there(device, size, WeightedScoreItems{examples, there_.data() + num_there_});
  num_there_ += size;
}

// Adds the examples as add would have, one after the other, so that the sums have the same bits.
void ScoreHistogram::bring_back() const {
  if (at_ == nullptr) return;
  std::vector<WeightedScore> scores(static_cast<size_t>(num_there_));
  at_->receive(scores.data(), there_.data(), scores.size() * sizeof(WeightedScore));
  at_.reset();
  num_there_ = 0;
  for (const WeightedScore& score : scores) add(score);
}

// Takes the other's entries in parts of kPending, as examples come, so that no more memory is needed than
// add needs.
void ScoreHistogram::merge(const ScoreHistogram& other) {
  PS_CHECK(&other != this);
  bring_back();
  other.compact();
  std::span<const Entry> rest(other.entries_);
  while (!rest.empty()) {
    std::span<const Entry> part = rest.first(std::min(rest.size(), kPending));
    absorb(part);
    rest = rest.subspan(part.size());
  }
}

void ScoreHistogram::clear() {
  at_.reset();
  num_there_ = 0;
  entries_.clear();
  pending_.clear();
}

// Sums for each negative example the weight of the positives above it, and half the weight of the positives
// with the same score.
double ScoreHistogram::area() const {
  compact();
  double won = 0, negative_below = 0;
  for (const Entry& entry : entries_) {
    won += entry.positive * (negative_below + entry.negative / 2);
    negative_below += entry.negative;
  }
  Totals all = totals();
  return won / (all.positive * all.negative);
}

// Goes from the highest score down: positive_above and above are the weights of positives and of all
// examples down to this score.  A score adds its share of the positives, the gain of recall, times the
// precision there.
double ScoreHistogram::average_precision() const {
  compact();
  double sum = 0, positive_above = 0, above = 0;
  for (size_t i = entries_.size(); i-- > 0;) {
    const Entry& entry = entries_[i];
    positive_above += entry.positive;
    above += entry.positive + entry.negative;
    sum += entry.positive * positive_above / above;
  }
  return sum / totals().positive;
}

void ScoreHistogram::save(std::string& out) const {
  compact();
  put(out, uint64_t{entries_.size()});
  for (const Entry& entry : entries_) {
    put(out, entry.key);
    put(out, entry.positive);
    put(out, entry.negative);
  }
}

// The bytes come from outside: the count is limited and compared with the bytes that there are before
// memory is taken, and entries have to ascend, since merges rely on it.
void ScoreHistogram::load(ByteReader& in) {
  constexpr size_t kEntryBytes = sizeof(uint32_t) + 2 * sizeof(double);
  uint64_t count = in.get<uint64_t>();
  if (count > max_scores_ || !in.has(count * kEntryBytes)) {
    fail(Code::kCorrupt, "state of auc or pr_auc has ", count, " scores, expected at most ", max_scores_,
         " and their bytes");
  }
  std::vector<Entry> loaded(count);
  for (size_t i = 0; i < count; ++i) {
    loaded[i].key = in.get<uint32_t>();
    loaded[i].positive = in.get<double>();
    loaded[i].negative = in.get<double>();
    bool ordered = i == 0 || loaded[i - 1].key < loaded[i].key;
    bool weighted = loaded[i].positive >= 0 && loaded[i].negative >= 0 &&
                    std::isfinite(loaded[i].positive + loaded[i].negative);
    if (!ordered || !weighted)
      fail(Code::kCorrupt, "state of auc or pr_auc: score ", i, " is out of order or has no weight");
  }
  clear();
  entries_ = std::move(loaded);
}

// Moves all examples into entries_.
void ScoreHistogram::compact() const {
  bring_back();
  compact_pending();
}

// Moves pending examples into entries_: sorts them, adds up those of one score, and merges the result.  A
// weight below 0 marks a negative example.
void ScoreHistogram::compact_pending() const {
  if (pending_.empty()) return;
  radix_sort(pending_, [](const WeightedScore& example) { return example.key; });
  std::vector<Entry> sorted;
  sorted.reserve(pending_.size());
  for (const WeightedScore& example : pending_) {
    if (sorted.empty() || sorted.back().key != example.key) sorted.push_back({example.key, 0, 0});
    (example.weight > 0 ? sorted.back().positive : sorted.back().negative) +=
        std::abs(static_cast<double>(example.weight));
  }
  pending_.clear();
  absorb(sorted);
}

// Merges two sorted arrays from the back, in place: entries_ grows by the size of `sorted`, and the largest
// entry that is left moves to its end, so that no entry is overwritten before it has moved.  Then adds up
// entries of the same key.
void ScoreHistogram::absorb(std::span<const Entry> sorted) const {
  size_t old = entries_.size(), added = sorted.size(), end = old + added;
  if (end > entries_.capacity()) entries_.reserve(std::min(2 * end, max_scores_ + kPending));
  entries_.resize(end);
  while (added > 0) {
    bool from_old = old > 0 && entries_[old - 1].key > sorted[added - 1].key;
    entries_[--end] = from_old ? entries_[--old] : sorted[--added];
  }
  size_t last = 0;
  for (size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].key != entries_[last].key) {
      entries_[++last] = entries_[i];
    } else {
      entries_[last].positive += entries_[i].positive;
      entries_[last].negative += entries_[i].negative;
    }
  }
  entries_.resize(last + 1);
  if (entries_.size() > max_scores_) coarsen();
}

// Merges neighbours while their share of all positives plus their share of all negatives is at most 8 /
// max_scores_.  The shares of any two neighbours in the result exceed that, and all shares sum to 2, so at
// most half of max_scores_ entries remain.  A merged entry has the key of its heaviest part.
void ScoreHistogram::coarsen() const {
  const Totals all = totals();
  const double limit = 8.0 / static_cast<double>(max_scores_);
  auto share = [&](const Entry& entry) {
    return (entry.positive > 0 ? entry.positive / all.positive : 0) +
           (entry.negative > 0 ? entry.negative / all.negative : 0);
  };
  size_t last = 0;
  double together = share(entries_[0]), heaviest = together;
  for (size_t i = 1; i < entries_.size(); ++i) {
    const Entry entry = entries_[i];
    double part = share(entry);
    if (together + part > limit) {
      entries_[++last] = entry;
      together = heaviest = part;
      continue;
    }
    together += part;
    entries_[last].positive += entry.positive;
    entries_[last].negative += entry.negative;
    if (part > heaviest) {
      heaviest = part;
      entries_[last].key = entry.key;
    }
  }
  entries_.resize(last + 1);
}

ScoreHistogram::Totals ScoreHistogram::totals() const {
  Totals all{0, 0};
  for (const Entry& entry : entries_) {
    all.positive += entry.positive;
    all.negative += entry.negative;
  }
  return all;
}

}  // namespace ps
