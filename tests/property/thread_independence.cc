// Every layer gives the same bits with any number of threads, forward and backward, at each level of
// instruction sets that this processor has.
#include "base/cpu.h"
#include "config/json.h"
#include "gradient_check.h"
#include "layer_cases.h"
#include "support/environment.h"

namespace ps {
namespace {

// All that a step gives: the cost, predictions and gradients.
std::vector<std::vector<float>> results(const Json& model, const Batch& batch, int threads, CpuLevel cpu) {
  NetworkBench<float> bench(model, gradient_schema(), threads, 1, cpu);
  bench.load(batch);
  std::vector<std::vector<float>> out = {{static_cast<float>(bench.forward())}};
  Matrix<const float> predictions = bench.network().predictions();
  out.emplace_back(predictions.data, predictions.data + predictions.size());
  bench.backward();
  for (size_t p = 0; p < bench.network().parameters().size(); ++p) {
    bool trained = bench.network().parameters()[p].kind != ParameterKind::kStatistic;
    out.push_back(trained ? bench.gradient(p) : bench.weights(p));
  }
  return out;
}

// All levels; or one of them, each in turn, if fewer cases are wanted: every model still runs, and every level.
std::vector<CpuLevel> levels_to_try() {
  static size_t turn = 0;
  const std::vector<CpuLevel> levels = possible_levels(cpu_features());
  if (try_every() == 1) return levels;
  return {levels[turn++ % levels.size()]};
}

class ThreadIndependence : public testing::TestWithParam<LayerCase> {};

TEST_P(ThreadIndependence, OneAndFourThreadsGiveTheSameBits) {
  // Enough examples for several blocks in every loop.  In-batch softmax takes each example for each other's negative: 2000
  // make 12 blocks.
  const bool squared = std::string_view(GetParam().layer) == "in_batch_softmax";
  Batch batch = gradient_batch(gradient_schema(),
                               {.examples = squared ? 2000 : 10000, .valued = true, .weighted = true}, 5);
  Json model = model_of(GetParam().layers);
  for (CpuLevel level : levels_to_try()) {
    auto one = results(model, batch, 1, level), four = results(model, batch, 4, level);
    ASSERT_EQ(one.size(), four.size());
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i], four[i]) << "array " << i << " with " << cpu_level_name(level);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, ThreadIndependence, testing::ValuesIn(kLayerCases),
                         [](const auto& test) { return cat(test.param.layer, "_", test.index); });

}  // namespace
}  // namespace ps
