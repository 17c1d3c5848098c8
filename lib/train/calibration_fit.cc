#include "train/calibration_fit.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace ps {

namespace {

// Returns log(1 + e^x), without an overflow for large x and without losing the small e^x for negative ones.
double log_of_one_plus_exp(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

// The cross entropy of Platt scaling over weighted examples.
class PlattLoss {
 public:
  explicit PlattLoss(const std::vector<CalibrationExample>& examples) {
    double weights[2] = {0, 0};
    for (const CalibrationExample& example : examples)
      weights[example.positive ? 1 : 0] += double{example.weight};
    const double targets[2] = {1 / (weights[0] + 2), (weights[1] + 1) / (weights[1] + 2)};
    for (const CalibrationExample& example : examples) {
      if (example.weight > 0)
        terms_.push_back({bounded_logit(double{example.probability}), targets[example.positive ? 1 : 0],
                          double{example.weight}});
    }
  }

  // The loss of an example with target t and score s = scale * logit + offset: log(1 + e^s) - t s, times
  // its weight.
  double value(double scale, double offset) const {
    double sum = 0;
    for (const Term& term : terms_) {
      const double score = scale * term.logit + offset;
      sum += term.weight * (log_of_one_plus_exp(score) - term.target * score);
    }
    return sum;
  }

  struct Derivatives {
    double scale = 0, offset = 0;                                 // of the first order
    double scale_scale = 0, scale_offset = 0, offset_offset = 0;  // of the second order
  };

  // With p = 1 / (1 + e^-s), the derivatives of the loss by s are weight (p - t) and weight p (1 - p).  A
  // derivative by scale has a factor of the logit more, since s = scale * logit + offset.
  Derivatives derivatives(double scale, double offset) const {
    Derivatives d;
    for (const Term& term : terms_) {
      const double p = 1 / (1 + std::exp(-(scale * term.logit + offset)));
      const double first = term.weight * (p - term.target), second = term.weight * p * (1 - p);
      d.scale += first * term.logit;
      d.offset += first;
      d.scale_scale += second * term.logit * term.logit;
      d.scale_offset += second * term.logit;
      d.offset_offset += second;
    }
    return d;
  }

 private:
  struct Term {
    double logit, target, weight;
  };
  std::vector<Term> terms_;
};

// A run of examples with the same fitted value.
struct PooledExamples {
  double first, last;  // of their probabilities
  double weight, positive;

  double mean() const { return positive / weight; }
};

}  // namespace

// Newton's method.  The loss is convex; a step that does not lower it as far as its slope lets expect is halved.
Calibration fit_platt(const std::vector<CalibrationExample>& examples) {
  constexpr int kMostSteps = 100;
  constexpr double kRidge = 1e-12, kSmallestPart = 1e-10, kEnough = 1e-4;
  const PlattLoss loss(examples);
  double scale = 1, offset = 0, value = loss.value(scale, offset);
  for (int step = 0; step < kMostSteps; ++step) {
    const PlattLoss::Derivatives d = loss.derivatives(scale, offset);
    // The step solves H (by_scale, by_offset) = -(d.scale, d.offset) by Cramer's rule, with H = [a b; b c].
    // The ridge keeps H invertible when all logits are the same.
    const double a = d.scale_scale + kRidge, c = d.offset_offset + kRidge, b = d.scale_offset;
    const double determinant = a * c - b * b;
    const double by_scale = -(c * d.scale - b * d.offset) / determinant;
    const double by_offset = -(a * d.offset - b * d.scale) / determinant;
    const double slope = d.scale * by_scale + d.offset * by_offset;
    double part = 1;
    while (part >= kSmallestPart &&
           loss.value(scale + part * by_scale, offset + part * by_offset) >= value + kEnough * part * slope)
      part /= 2;
    if (part < kSmallestPart) break;
    scale += part * by_scale;
    offset += part * by_offset;
    value = loss.value(scale, offset);
  }
  Calibration out;
  out.scale = scale;
  out.offset = offset;
  return out;
}

// Equal probabilities are one block from the beginning.  Then a block joins the one before it as long as
// that has a mean that is not smaller.
Calibration fit_isotonic(std::vector<CalibrationExample> examples) {
  std::erase_if(examples, [](const CalibrationExample& example) { return !(example.weight > 0); });
  std::stable_sort(examples.begin(), examples.end(),
                   [](const auto& a, const auto& b) { return a.probability < b.probability; });
  std::vector<PooledExamples> blocks;
  const auto join_last = [&blocks] {
    const PooledExamples last = blocks.back();
    blocks.pop_back();
    PooledExamples& before = blocks.back();
    before = {before.first, last.last, before.weight + last.weight, before.positive + last.positive};
  };
  for (size_t i = 0; i < examples.size(); ++i) {
    const double p = double{examples[i].probability}, weight = double{examples[i].weight};
    blocks.push_back({p, p, weight, examples[i].positive ? weight : 0});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].last == blocks.back().first) join_last();
    // The mean of a block is not known before all examples of this probability are in it, so violators are
    // pooled after that.
    const bool tied = i + 1 < examples.size() && examples[i + 1].probability == examples[i].probability;
    while (!tied && blocks.size() > 1 && blocks[blocks.size() - 2].mean() >= blocks.back().mean())
      join_last();
  }
  Calibration out;
  out.type = "isotonic";
  // A block is a flat piece: two points with the same value, or a single one if it has one probability.
  for (const PooledExamples& block : blocks) {
    out.from.push_back(block.first);
    out.to.push_back(block.mean());
    if (block.last == block.first) continue;
    out.from.push_back(block.last);
    out.to.push_back(block.mean());
  }
  return out;
}

Calibration fit_calibration(const std::string& type, const std::vector<CalibrationExample>& examples) {
  for (bool label : {false, true}) {
    const bool found =
        std::any_of(examples.begin(), examples.end(), [label](const CalibrationExample& example) {
          return example.positive == label && example.weight > 0;
        });
    if (!found) {
      fail(Code::kData, "train.calibrate: no example of the validation data has label ", label ? 1 : 0,
           ": keep more of them by data.validation");
    }
  }
  return type == "platt" ? fit_platt(examples) : fit_isotonic(examples);
}

}  // namespace ps
