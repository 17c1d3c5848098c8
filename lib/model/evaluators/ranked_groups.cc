// Evaluators of rankings: a group, such as the candidates of a query or of a user, is ranked by its scores,
// and a measure of the ranking is averaged over the groups that have both kinds of examples: relevant ones,
// whose label is more than 0, and others.
//
// Among equal scores, examples that are less relevant come first, so that ties never help.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "math/compensated_sum.h"
#include "model/evaluators/evaluator_entry.h"
#include "model/evaluators/grouped_scores.h"
#include "model/labels.h"

namespace ps {

namespace {

using GroupRanking = std::span<const GroupedScore>;  // the examples of a group, the best score first

struct FirstOptions : EvaluatorOptions {
  int64_t k = 10;

  static const ObjectSpec<FirstOptions>& spec();
};

const ObjectSpec<FirstOptions>& FirstOptions::spec() {
  static const ObjectSpec<FirstOptions> spec = [] {
    ObjectSpec<FirstOptions> s;
    s.include(EvaluatorOptions::spec());
    s.field("k", &FirstOptions::k, "examples of each group, those of the best scores, that count")
        .at_least(1)
        .at_most(1 << 20);
    return s;
  }();
  return spec;
}

// A mean over groups.
class GroupMean : public Evaluator {
 public:
  GroupMean(std::string name, int64_t cols) : name_(std::move(name)) {
    if (cols == 1 || cols == 2) return;
    fail(Code::kUsage, name_, " takes one or two predictions per example, found ", cols);
  }

  void add(Matrix<const float> predictions, const Batch& batch) override { groups_.add(predictions, batch); }

  void merge(const Evaluator& other) override {
    const auto* same = dynamic_cast<const GroupMean*>(&other);
    PS_CHECK(same != nullptr && same->name_ == name_);
    groups_.merge(same->groups_);
  }

  void reset() override { groups_.clear(); }

  std::vector<std::pair<std::string, double>> values() const override {
    CompensatedSum total, weights;
    groups_.for_each_group([&](GroupRanking ranking) {
      if (!has_both_kinds(ranking)) return;
      const double weight = share(ranking);
      total.add(weight * measure(ranking));
      weights.add(weight);
    });
    return {{name_, total.value() / weights.value()}};
  }

  void save(std::string& out) const override { groups_.save(out); }
  void load(ByteReader& in) override { groups_.load(in); }

 private:
  virtual double measure(GroupRanking ranking) const = 0;

  // Returns the weight in the mean of a group with examples of both kinds.
  virtual double share(GroupRanking) const { return 1; }

  static bool has_both_kinds(GroupRanking ranking) {
    const auto positives = std::count_if(ranking.begin(), ranking.end(), [](const GroupedScore& example) {
      return is_positive(example.label);
    });
    return positives > 0 && positives < static_cast<std::ptrdiff_t>(ranking.size());
  }

  const std::string name_;
  GroupedScores groups_;
};

// Zhu et al., "Optimized cost per click in Taobao display advertising", KDD 2017: the area under the ROC curve of each
// user's examples, weighed by their number.
class GroupAuc final : public GroupMean {
 public:
  GroupAuc(const NoEvaluatorOptions&, int64_t cols) : GroupMean("gauc", cols) {}

 private:
  // Sums for each positive example the weight of the negatives below it, and half of those with the same score.
  double measure(GroupRanking ranking) const override {
    double won = 0, positive = 0, negative = 0;
    for (size_t begin = 0, end = 0; begin < ranking.size(); begin = end) {
      double positive_here = 0, negative_here = 0;
      for (; end < ranking.size() && ranking[end].score == ranking[begin].score; ++end)
        (is_positive(ranking[end].label) ? positive_here : negative_here) +=
            static_cast<double>(ranking[end].weight);
      won += negative_here * (positive + positive_here / 2);
      positive += positive_here;
      negative += negative_here;
    }
    return won / (positive * negative);
  }

  double share(GroupRanking ranking) const override {
    double weight = 0;
    for (const GroupedScore& example : ranking) weight += static_cast<double>(example.weight);
    return weight;
  }
};

// Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002, with the gain 2^label - 1 of
// Burges et al. 2005.
class Ndcg final : public GroupMean {
 public:
  Ndcg(const FirstOptions& options, int64_t cols)
      : GroupMean(cat("ndcg_at_", options.k), cols), k_(static_cast<size_t>(options.k)) {}

 private:
  double measure(GroupRanking ranking) const override {
    std::vector<float> labels;
    for (const GroupedScore& example : ranking) labels.push_back(example.label);
    // The labels have the order of the scores here; sorted, they give the highest gain that a ranking of
    // the group can have.
    const double found = discounted_gain(labels);
    std::sort(labels.begin(), labels.end(), std::greater<>());
    return found / discounted_gain(labels);
  }

  // Returns the sum over the first k ranks r, from 0, of (2^label - 1) / log2(r + 2).
  double discounted_gain(const std::vector<float>& labels) const {
    constexpr float kMostLabel = 60;  // the gains of larger labels would exceed all others anyway
    double sum = 0;
    for (size_t rank = 0; rank < std::min(k_, labels.size()); ++rank) {
      if (!is_positive(labels[rank])) continue;
      const double gain = std::exp2(static_cast<double>(std::min(labels[rank], kMostLabel))) - 1;
      sum += gain / std::log2(static_cast<double>(rank) + 2);
    }
    return sum;
  }

  const size_t k_;
};

// Measures the share of the relevant examples of a group that are among its first k.
class RecallAtK final : public GroupMean {
 public:
  RecallAtK(const FirstOptions& options, int64_t cols)
      : GroupMean(cat("recall_at_", options.k), cols), k_(static_cast<size_t>(options.k)) {}

 private:
  double measure(GroupRanking ranking) const override {
    double found = 0, all = 0;
    for (size_t rank = 0; rank < ranking.size(); ++rank) {
      if (!is_positive(ranking[rank].label)) continue;
      all += 1;
      found += rank < k_;
    }
    return found / all;
  }

  const size_t k_;
};

// A group has a relevant example (has_both_kinds), at which the loop of measure ends.
class MeanReciprocalRank final : public GroupMean {
 public:
  MeanReciprocalRank(const NoEvaluatorOptions&, int64_t cols) : GroupMean("mrr", cols) {}

 private:
  double measure(GroupRanking ranking) const override {
    size_t rank = 0;
    while (rank < ranking.size() && !is_positive(ranking[rank].label)) ++rank;
    return 1 / static_cast<double>(rank + 1);
  }
};

// Averages, over the relevant examples of a group, the precision down to each: `relevant` / (rank + 1) when
// the loop meets it.
class MeanAveragePrecision final : public GroupMean {
 public:
  MeanAveragePrecision(const NoEvaluatorOptions&, int64_t cols) : GroupMean("map", cols) {}

 private:
  double measure(GroupRanking ranking) const override {
    double sum = 0, relevant = 0;
    for (size_t rank = 0; rank < ranking.size(); ++rank) {
      if (!is_positive(ranking[rank].label)) continue;
      relevant += 1;
      sum += relevant / static_cast<double>(rank + 1);
    }
    return sum / relevant;
  }
};

}  // namespace

extern const EvaluatorEntry kGroupAucEvaluator =
    evaluator_entry<NoEvaluatorOptions, GroupAuc>("gauc",
                                                  "area under the ROC curve within each group, such as a "
                                                  "user, averaged by the weights of their examples; groups "
                                                  "of one class are left out");

extern const EvaluatorEntry kNdcgEvaluator =
    evaluator_entry<FirstOptions, Ndcg>("ndcg",
                                        "normalised discounted cumulative gain of the first k of each group, "
                                        "with gain 2^label - 1: a mean over groups");

extern const EvaluatorEntry kRecallAtKEvaluator = evaluator_entry<FirstOptions, RecallAtK>(
    "recall_at_k",
    "share of the examples of positive label that are among the first k of their group: a mean over groups");

extern const EvaluatorEntry kMeanReciprocalRankEvaluator =
    evaluator_entry<NoEvaluatorOptions, MeanReciprocalRank>(
        "mrr", "mean over groups of 1 / the rank of the first example of positive label");

extern const EvaluatorEntry kMeanAveragePrecisionEvaluator =
    evaluator_entry<NoEvaluatorOptions, MeanAveragePrecision>(
        "map",
        "mean average precision: in each group, the mean precision down to each example of positive label; "
        "averaged over groups");

}  // namespace ps
