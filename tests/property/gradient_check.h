// Proof of gradients: backward of a double-precision network against central finite differences of its
// forward, for every weight.  Used by the property tests of layers and of costs.
#ifndef PS_TESTS_PROPERTY_GRADIENT_CHECK_H_
#define PS_TESTS_PROPERTY_GRADIENT_CHECK_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "../unit/model/network_bench.h"
#include "base/random.h"
#include "config/json.h"

namespace ps {

// "ids" and "words" (sparse, dims 11 and 7) and "x" (dense, 3).
inline DataSchema gradient_schema() {
  return {{{.name = "ids", .dim = 11}, {.name = "words", .dim = 7}, {.name = "x", .dense = true, .dim = 3}}};
}

struct BatchShape {
  int64_t examples = 7;
  int64_t classes = 2;    // labels are below it; 0: labels are normal numbers
  bool valued = false;    // ids have values; else all 1
  bool weighted = false;  // examples have weights
  bool grouped = false;   // groups of three, for ranking
};

// Examples with 0 to 4 ids a sparse slot: the first example has none, the second has one id three times.
inline Batch gradient_batch(const DataSchema& schema, const BatchShape& shape, uint64_t seed) {
  Random random(seed, 0);
  Batch batch;
  batch.clear(schema);
  for (int64_t b = 0; b < shape.examples; ++b) {
    uint64_t classes = static_cast<uint64_t>(shape.classes);
    batch.labels.push_back(
        static_cast<float>(classes > 0 ? static_cast<double>(random.below(classes)) : random.normal()));
    if (shape.weighted) batch.weights.push_back(static_cast<float>(0.5 + random.uniform()));
    if (shape.grouped) batch.groups.push_back(static_cast<uint64_t>(b / 3));
    for (size_t s = 0; s < schema.slots.size(); ++s) {
      const SlotSchema& slot = schema.slots[s];
      SlotData& data = batch.slots[s];
      auto draw_value = [&] { data.values.push_back(static_cast<float>(random.normal())); };
      if (slot.dense) {
        for (int64_t d = 0; d < slot.dim; ++d) draw_value();
        continue;
      }
      uint64_t count = b == 0 ? 0 : b == 1 ? 3 : random.below(5);
      uint64_t repeated = random.below(static_cast<uint64_t>(slot.dim));
      for (uint64_t k = 0; k < count; ++k) {
        data.keys.push_back(b == 1 ? repeated : random.below(static_cast<uint64_t>(slot.dim)));
        if (shape.valued) draw_value();
      }
      data.offsets.push_back(static_cast<uint32_t>(data.keys.size()));
    }
  }
  return batch;
}

// (cost(w + h) - cost(w - h)) / 2h for weight `index` of parameter p.
inline double finite_difference(NetworkBench<double>& bench, size_t p, size_t index) {
  constexpr double kStep = 1e-5;
  double& weight = bench.weights(p)[index];
  const double start = weight;
  weight = start + kStep;
  double above = bench.forward();
  weight = start - kStep;
  double below = bench.forward();
  weight = start;
  return (above - below) / (2 * kStep);
}

// Expects the gradient of every weight to be its finite difference, to 1e-6 of the larger of that and 1e-2:
// below it the difference of two costs has no more digits.
inline void expect_gradients_match(const Json& model, const DataSchema& schema, const Batch& batch,
                                   int64_t step = 0) {
  constexpr double kTolerance = 1e-6, kSmallest = 1e-2;
  NetworkBench<double> bench(model, schema);
  bench.load(batch, /*training=*/true, step);
  bench.forward();
  bench.backward();
  for (size_t p = 0; p < bench.network().parameters().size(); ++p) {
    const ParameterSpec& spec = bench.network().parameters()[p];
    if (spec.kind == ParameterKind::kStatistic) continue;
    const std::vector<double> gradient = bench.gradient(p);
    for (size_t i = 0; i < gradient.size(); ++i) {
      double expected = finite_difference(bench, p, i);
      double error = std::fabs(gradient[i] - expected) / std::max(kSmallest, std::fabs(expected));
      if (error <= kTolerance) continue;
      ADD_FAILURE() << spec.name << "[" << i << "]: gradient " << gradient[i] << ", finite difference "
                    << expected;
      break;  // one weight a parameter is enough to read
    }
  }
}

// expect_gradients_match over batches with empty slots, repeated ids, one example, values and weights.
// `shape` says what labels the cost takes.
inline void expect_gradients_match(const Json& model, BatchShape shape = {}) {
  DataSchema schema = gradient_schema();
  for (uint64_t variant = 0; variant < 5; ++variant) {
    SCOPED_TRACE(testing::Message() << "variant " << variant << " of " << model.dump());
    BatchShape varied = shape;
    varied.valued = variant == 1 || variant == 3;
    varied.weighted = variant == 2 || variant == 3;
    if (variant == 4) varied.examples = 1;
    expect_gradients_match(model, schema, gradient_batch(schema, varied, 100 + variant));
  }
}

}  // namespace ps

#endif  // PS_TESTS_PROPERTY_GRADIENT_CHECK_H_
