// The kernels of costs over sampled classes on a device give the bits of the processor, over random classes, examples
// without any among them.
#include "math/sampled_kernels.h"

#include <gtest/gtest.h>

#include <vector>

#include "math/softmax_over_rows.h"
#include "math/sparse_kernels.h"
#include "on_both_devices.h"
#include "test_device.h"

namespace ps {

namespace {

constexpr int64_t kClasses = 9;

// Classes of some examples: of the first seed there are none, and examples may have none.
struct Drawn {
  std::vector<uint32_t> offsets = {0};
  std::vector<uint64_t> keys;
  KeyPlan plan;
};

void draw_classes(Random& random, uint64_t seed, Drawn& drawn) {
  for (int64_t b = seed == 0 ? 0 : 1 + draw_size(random, seed % 10 == 1 ? 60 : 6); b > 0; --b) {
    for (int64_t k = draw_size(random, 5); k > 0; --k) drawn.keys.push_back(random.below(kClasses));
    drawn.offsets.push_back(static_cast<uint32_t>(drawn.keys.size()));
  }
  const KeyList list{drawn.offsets, drawn.keys, /*transposed=*/true};
  KeyPlanner().plan({&list, 1}, drawn.plan);
}

// Pointers to the rows of an array [N, width] on the device.
float** put_rows(Desk& desk, const std::vector<float>& values, int64_t width) {
  const int64_t rows = std::ssize(values) / width;
  float** const pointers = desk.put(std::vector<float*>(static_cast<size_t>(rows)));
  point_to_rows(desk.device, desk.put(values), rows, width, pointers);
  return pointers;
}

}  // namespace

TEST(SampledKernels, ScoresAndGradients) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 0);
    Drawn drawn;
    draw_classes(random, seed, drawn);
    const KeyUse& use = drawn.plan.uses.front();
    const int64_t examples = std::ssize(drawn.offsets) - 1, cols = 1 + draw_size(random, 20);
    const int64_t rows = std::ssize(drawn.plan.keys);
    const std::vector<float> weights = draw(random, rows * cols), biases = draw(random, rows);
    const std::vector<float> inputs = draw(random, examples * cols), outs = draw(random, examples);
    const std::vector<float> scores = draw(random, std::ssize(drawn.keys));
    expect_same_bits(seed, [&](Desk& desk) {
      Device& device = desk.device;
      const Matrix<const float> in{desk.put(inputs), examples, cols};
      const bool biased = seed % 2 == 0;
      const SampledWeights<float> all{&use, put_rows(desk, weights, cols), biased ? &use : nullptr,
                                      biased ? put_rows(desk, biases, 1) : nullptr};
      score_samples<float>(device, all, in, desk.put_result(scores));
      const SampledSlopes<float> slopes{desk.put(scores), desk.put(outs)};
      add_sample_weight_gradients<float>(device, use, in, slopes, desk.put_result(weights));
      add_sample_bias_gradients<float>(device, use, slopes, desk.put_result(biases));
      add_sample_input_gradients<float>(device, all, slopes, {desk.put_result(inputs), examples, cols});
    });
    if (HasFatalFailure()) return;
  }
}

TEST(SampledKernels, Costs) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 1);
    Drawn drawn;
    draw_classes(random, seed, drawn);
    const int64_t examples = std::ssize(drawn.offsets) - 1;
    std::vector<float> scores = draw(random, std::ssize(drawn.keys)), costs = draw(random, examples);
    for (float& score : scores) score *= seed % 4 == 0 ? 40.0f : 2.0f;
    std::vector<float> labels(costs.size());
    for (float& label : labels) label = static_cast<float>(random.below(kClasses));
    std::vector<double> log_noise;
    Device host(1, best_cpu_level());
    log_noise_of(host, drawn.keys, NoiseDistribution::log_uniform(kClasses), 3, log_noise);
    expect_same_functions(seed, [&](Desk& desk) {
      nce_costs<float>(desk.device, drawn.offsets, log_noise, desk.put_result(scores),
                       desk.put_result(costs));
      tree_costs<float>(desk.device, drawn.offsets, labels.data(), kClasses, desk.put_result(scores),
                        desk.put_result(costs));
    });
    if (HasFatalFailure()) return;
  }
}

// The cost over all classes is that of products, whose sums run in another order: within k u of the sum of at most 8 absolute
// products, k of them, u = 2^-24; the larger costs are some 10.
TEST(SampledKernels, ExactCosts) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 2);
    const int64_t examples = draw_size(random, 5), cols = 1 + draw_size(random, 7);
    // Some have several blocks of classes.
    const int64_t classes = seed % 40 == 1 ? 2100 : 1 + draw_size(random, 30);
    const std::vector<float> weights = draw(random, classes * cols), biases = draw(random, classes);
    const std::vector<float> inputs = draw(random, examples * cols), costs = draw(random, examples);
    std::vector<float> labels(costs.size());
    for (float& label : labels) label = static_cast<float>(random.below(static_cast<uint64_t>(classes)));
    std::vector<uint32_t> index(static_cast<size_t>(classes));
    for (uint32_t& row : index) row = static_cast<uint32_t>(random.below(static_cast<uint64_t>(classes)));
    SoftmaxOverRows<float> softmax;
    expect_close(seed, 1e-5f, [&](Desk& desk) {
      const uint32_t* const rows = desk.put(index);
      const ClassRows<float> weight{put_rows(desk, weights, cols), rows};
      const ClassRows<float> bias{seed % 2 == 0 ? nullptr : put_rows(desk, biases, 1), rows};
      softmax.costs(desk.device, {desk.put(inputs), examples, cols}, classes, weight, bias, labels.data(),
                    desk.put_result(costs));
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace ps
