// Gradients of the parts of a batch, added up, are those of the whole batch to rounding, for every layer that looks at each
// example by itself.
#include "train/accumulated_computation.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "config/json.h"
#include "gradient_check.h"
#include "layer_cases.h"

namespace ps {
namespace {

// The examples of a batch matter to each other here, or its number does.
const std::set<std::string> kOfWholeBatches = {"batch_norm", "dropout", "in_batch_softmax"};

bool takes_whole_batches(const Json& model) {
  return std::any_of(model["layers"].begin(), model["layers"].end(), [](const Json& layer) {
    return kOfWholeBatches.count(layer["type"].get<std::string>()) > 0;
  });
}

void expect_near(std::span<const float> parts, std::span<const float> whole, const std::string& name) {
  ASSERT_EQ(parts.size(), whole.size()) << name;
  float largest = 1;
  for (float value : whole) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < whole.size(); ++i)
    ASSERT_NEAR(parts[i], whole[i], 1e-5f * largest) << name << " [" << i << "]";
}

// Compares the parts of two batches with the whole: the second has fewer parts, and the last is a short one.
void expect_same(const Json& model, int64_t examples_of_part) {
  NetworkBench<float> whole(model, gradient_schema()), parts(model, gradient_schema());
  AccumulatedComputation computation(parts.network(), parts.device(), 8, examples_of_part);
  for (int64_t examples : {int64_t{23}, int64_t{9}}) {
    const Batch batch = gradient_batch(gradient_schema(),
                                       {.examples = examples, .valued = examples > 10, .weighted = true}, 7);
    whole.load(batch);
    parts.load(batch);
    const double cost = whole.forward();
    EXPECT_NEAR(computation.run(parts.prepared(), parts.views()), cost,
                1e-5 * std::max(1.0, std::fabs(cost)));
    const Matrix<const float> a = computation.predictions(), b = whole.network().predictions();
    expect_near({a.data, static_cast<size_t>(a.size())}, {b.data, static_cast<size_t>(b.size())},
                "predictions");
    std::set<size_t> final;
    computation.finish_gradients(parts.prepared(), parts.views(), [&](size_t p) { final.insert(p); });
    whole.backward();
    for (size_t p = 0; p < whole.network().parameters().size(); ++p) {
      const ParameterSpec& spec = whole.network().parameters()[p];
      if (spec.kind == ParameterKind::kStatistic) continue;
      EXPECT_TRUE(final.contains(p)) << spec.name;
      expect_near(parts.gradient(p), whole.gradient(p), spec.name);
    }
  }
}

class Accumulation : public testing::TestWithParam<LayerCase> {};

TEST_P(Accumulation, OfPartsIsTheGradientOfTheWhole) {
  const Json model = model_of(GetParam().layers);
  if (takes_whole_batches(model)) return;
  for (int64_t examples_of_part : {3, 8, 23}) {
    SCOPED_TRACE(cat("parts of ", examples_of_part));
    expect_same(model, examples_of_part);
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, Accumulation, testing::ValuesIn(kLayerCases),
                         [](const auto& test) { return cat(test.param.layer, "_", test.index); });

}  // namespace
}  // namespace ps
