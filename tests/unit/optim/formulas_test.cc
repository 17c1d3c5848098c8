// Every optimizer against its formula, written out by hand from the papers, element by element in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/catalog.h"
#include "optim/optimizer.h"

namespace ps::formulas_test {
namespace {

constexpr int kSteps = 300;
constexpr double kL1 = 0.003, kL2 = 0.05;

// One weight and what its optimizer remembers.
struct Weight {
  double w;
  double a = 0, b = 0;
  double l2 = kL2;  // of its weight decay
};

double soft(double x, double s) {
  if (x > s) return x - s;
  if (x < -s) return x + s;
  return 0;
}

// Applies the update of an adaptive optimizer, with decay by the global rate.
double decayed(const Weight& x, double move, double eta) {
  return soft((1 - eta * x.l2) * x.w - move, eta * kL1);
}

using Formula = std::function<void(Weight& x, double g, double eta, int t)>;

void sgd(Weight& x, double g, double eta, int) {
  x.w = soft(x.w - eta * (g + kL2 * x.w), eta * kL1);
}

void heavy_ball(Weight& x, double g, double eta, int) {
  x.a = 0.8 * x.a - eta * (g + kL2 * x.w);
  x.w = soft(x.w + x.a, eta * kL1);
}

void nesterov(Weight& x, double g, double eta, int) {
  double gradient = g + kL2 * x.w;
  x.a = 0.8 * x.a - eta * gradient;
  x.w = soft(x.w + 0.8 * x.a - eta * gradient, eta * kL1);
}

void decoupled_heavy_ball(Weight& x, double g, double eta, int) {
  x.a = 0.8 * x.a - eta * g;
  x.w = soft((1 - eta * kL2) * x.w + x.a, eta * kL1);
}

void decoupled_nesterov(Weight& x, double g, double eta, int) {
  x.a = 0.8 * x.a - eta * g;
  x.w = soft((1 - eta * kL2) * x.w + 0.8 * x.a - eta * g, eta * kL1);
}

void adagrad(Weight& x, double g, double eta, int) {
  x.a += g * g;
  x.w = decayed(x, eta * g / std::sqrt(x.a + 1e-6), eta);
}

void decayed_adagrad(Weight& x, double g, double eta, int) {
  x.a = 0.95 * x.a + 0.05 * g * g;
  x.w = decayed(x, eta * g / std::sqrt(x.a + 1e-6), eta);
}

void rmsprop(Weight& x, double g, double eta, int) {
  x.a = 0.95 * x.a + 0.05 * g * g;
  x.b = 0.95 * x.b + 0.05 * g;
  x.w = decayed(x, eta * g / std::sqrt(x.a - x.b * x.b + 1e-6), eta);
}

void adadelta(Weight& x, double g, double eta, int) {
  x.a = 0.95 * x.a + 0.05 * g * g;
  double d = std::sqrt(x.b + 1e-6) / std::sqrt(x.a + 1e-6) * g;
  x.b = 0.95 * x.b + 0.05 * d * d;
  x.w = decayed(x, eta * d, eta);
}

void adam(Weight& x, double g, double eta, int t) {
  x.a = 0.9 * x.a + 0.1 * g;
  x.b = 0.999 * x.b + 0.001 * g * g;
  double first = x.a / (1 - std::pow(0.9, t)), second = x.b / (1 - std::pow(0.999, t));
  x.w = decayed(x, eta * first / (std::sqrt(second) + 1e-8), eta);
}

void adamax(Weight& x, double g, double eta, int t) {
  x.a = 0.9 * x.a + 0.1 * g;
  x.b = std::max(0.999 * x.b, std::fabs(g));
  x.w = decayed(x, eta / (1 - std::pow(0.9, t)) * x.a / (x.b + 1e-8), eta);
}

// L2 regularization, as the papers of adaptive optimizers have it: l2 w is a part of the gradient, and decay is none.
Formula coupled(const Formula& formula) {
  return [formula](Weight& x, double g, double eta, int t) {
    x.l2 = 0;
    formula(x, g + kL2 * x.w, eta, t);
  };
}

// McMahan's algorithm with alpha = 0.1, beta = 1: a is z, b is n.  The rate of a step scales what it adds to
// n.
void ftrl(Weight& x, double g, double eta, int t) {
  constexpr double kAlpha = 0.1;
  if (t == 1) x.a = -(x.w * (1 / kAlpha + kL2) + (x.w > 0 ? kL1 : -kL1));
  double n = x.b + std::pow(g * kAlpha / eta, 2);
  x.a += g - (std::sqrt(n) - std::sqrt(x.b)) / kAlpha * x.w;
  x.b = n;
  x.w = std::fabs(x.a) <= kL1 ? 0 : -(x.a - (x.a > 0 ? kL1 : -kL1)) / ((1 + std::sqrt(n)) / kAlpha + kL2);
}

struct Case {
  std::string type;
  Json options;
  Formula formula;
};

std::vector<Case> cases() {
  Json none = Json::object(), inside = {{"l2_mode", "coupled"}};
  return {
      {"sgd", none, sgd},
      {"momentum", {{"momentum", 0.8}}, heavy_ball},
      {"momentum", {{"momentum", 0.8}, {"nesterov", true}}, nesterov},
      {"sparse_momentum", {{"momentum", 0.8}}, heavy_ball},
      {"momentum", {{"momentum", 0.8}, {"l2_mode", "decoupled"}}, decoupled_heavy_ball},
      {"momentum", {{"momentum", 0.8}, {"l2_mode", "decoupled"}, {"nesterov", true}}, decoupled_nesterov},
      {"adagrad", none, adagrad},
      {"decayed_adagrad", none, decayed_adagrad},
      {"rmsprop", none, rmsprop},
      {"adadelta", none, adadelta},
      {"adam", none, adam},
      {"adamax", none, adamax},
      {"ftrl", none, ftrl},
      {"adagrad", inside, coupled(adagrad)},
      {"decayed_adagrad", inside, coupled(decayed_adagrad)},
      {"rmsprop", inside, coupled(rmsprop)},
      {"adadelta", inside, coupled(adadelta)},
      {"adam", inside, coupled(adam)},
      {"adamax", inside, coupled(adamax)},
  };
}

const OptimizerEntry& entry_of(const std::string& type) {
  return find_entry(optimizer_catalog(), Json{{"type", type}}, "optimizer", "optimizer");
}

// Trains three weights with both and returns the largest difference.
template <class T>
double largest_difference(Optimizer<T>& optimizer, const Formula& formula) {
  constexpr int kWidth = 3;
  std::vector<T> weight = {T(1), T(-0.5), T(0.015625)};
  std::vector<T> state(static_cast<size_t>(optimizer.state_arrays() * kWidth), T(77));
  Row<T> row{weight.data(), state.data(), kWidth, kWidth};
  optimizer.initialize(row);
  std::vector<Weight> expected;
  for (T w : weight) expected.push_back({static_cast<double>(w)});
  Random random(3, 9);
  double worst = 0;
  for (int t = 1; t <= kSteps; ++t) {
    double eta = t < 100 ? 0.02 : 0.005;
    optimizer.begin_step(eta);
    std::vector<T> gradient;
    for (int i = 0; i < kWidth; ++i)
      gradient.push_back(static_cast<T>(static_cast<float>(random.normal() + 0.3)));
    optimizer.update(row, gradient.data(), T(0.5));
    for (int i = 0; i < kWidth; ++i) {
      formula(expected[i], 0.5 * static_cast<double>(gradient[i]), eta, t);
      worst = std::max(worst, std::fabs(expected[i].w - static_cast<double>(weight[i])));
    }
  }
  return worst;
}

TEST(Formulas, AreThoseOfThePapersStepByStep) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.type + c.options.dump());
    Json object = {{"type", c.type}, {"l1", kL1}, {"l2", kL2}};
    object.update(c.options);
    // Weights are about 1: 300 steps round to a few 1e-15 in double, 1e-6 in float.  AdaDelta's division of
    // two small roots, and FTRL's z of about 10, lose a digit more.
    EXPECT_LT(largest_difference(*entry_of(c.type).make_double(object, {}, best_cpu_level()), c.formula),
              1e-12);
    EXPECT_LT(largest_difference(*entry_of(c.type).make_float(object, {}, best_cpu_level()), c.formula),
              1e-5);
  }
}

TEST(Formulas, AreWrittenHereForEveryEntryOfTheCatalogue) {
  std::vector<Case> all = cases();
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Case& c) { return c.type == entry->name; }))
        << entry->name;
  }
}

}  // namespace
}  // namespace ps::formulas_test
