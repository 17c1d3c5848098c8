// The kernels of models on a device give the bits of the processor, over random shapes, empty ones among them; products
// of matrices within a bound.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "math/activation.h"
#include "math/convolution.h"
#include "math/cost_kernels.h"
#include "math/cross_kernels.h"
#include "math/dense_kernels.h"
#include "math/dropout.h"
#include "math/gemm.h"
#include "math/group_costs.h"
#include "math/image_kernels.h"
#include "math/normalization.h"
#include "math/pooling.h"
#include "math/sparse_kernels.h"
#include "on_both_devices.h"
#include "test_device.h"

namespace ps {

namespace {

// The shapes of a seed: the first ones have no rows, or one column.
struct Shape {
  int64_t rows, cols;
};

Shape draw_shape(Random& random, uint64_t seed) {
  if (seed == 0) return {0, 3};
  return {draw_size(random, seed % 10 == 1 ? 300 : 9), 1 + draw_size(random, seed % 7 == 1 ? 70 : 11)};
}

}  // namespace

TEST(ModelKernels, ArraysAndColumns) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 0);
    const auto [rows, cols] = draw_shape(random, seed);
    const int64_t size = rows * cols, first = draw_size(random, static_cast<uint64_t>(cols - 1));
    const int64_t width = cols - first;
    const std::vector<float> a = draw(random, size), b = draw(random, size), row = draw(random, cols);
    const std::vector<float> scales = draw(random, 2 * rows), sums = draw(random, cols);
    expect_same_bits(seed, [&, rows = rows, cols = cols](Desk& desk) {
      Device& device = desk.device;
      const float *in = desk.put(a), *other = desk.put(b);
      fill_values(device, 1.5f, size, desk.put_result(b));
      copy_values(device, in, size, desk.put_result(b));
      add_scaled_values(device, 0.3f, in, size, desk.put_result(b));
      multiply_values(device, in, other, size, desk.put_result(b));
      add_multiplied_values(device, in, other, size, desk.put_result(b));
      set_rows<float>(device, desk.put(row), {desk.put_result(b), rows, cols});
      const Columns<const float> some = columns(Matrix<const float>{in, rows, cols}, first, width);
      const auto out = [&] { return columns(Matrix<float>{desk.put_result(b), rows, cols}, first, width); };
      copy_columns(device, some, rows, out());
      add_columns(device, some, rows, out());
      add_column_sums<float>(device, some, rows, nullptr, 0, desk.put_result(sums));
      add_column_sums<float>(device, some, rows, desk.put(scales), 2, desk.put_result(sums));
      draw_dropout<float>(device, seed, 0.3, {desk.put_result(b), rows, cols});
    });
    if (HasFatalFailure()) return;
  }
}

TEST(ModelKernels, Activations) {
  constexpr Activation kAll[] = {Activation::kLinear,   Activation::kSigmoid, Activation::kTanh,
                                 Activation::kStanh,    Activation::kRelu,    Activation::kBrelu,
                                 Activation::kSoftplus, Activation::kSoftmax, Activation::kExponential};
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 1);
    const auto [rows, cols] = draw_shape(random, seed);
    std::vector<float> values = draw(random, rows * cols);
    for (float& value : values) value *= seed % 4 == 0 ? 40.0f : 2.0f;
    const std::vector<float> slopes = draw(random, rows * cols);
    expect_same_functions(seed, [&, rows = rows, cols = cols](Desk& desk) {
      for (const Activation activation : kAll) {
        const Matrix<float> output{desk.put_result(values), rows, cols};
        activate(desk.device, activation, output);
        activation_backward<float>(desk.device, activation, output, {desk.put_result(slopes), rows, cols});
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST(ModelKernels, RowsOfIds) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 2);
    const auto [examples, width] = draw_shape(random, seed);
    std::vector<uint32_t> offsets = {0};
    std::vector<uint64_t> keys;
    constexpr int64_t kMostIds = 4;
    for (int64_t b = 0; b < examples; ++b) {
      for (int64_t k = draw_size(random, kMostIds); k > 0; --k) keys.push_back(random.below(7));
      offsets.push_back(static_cast<uint32_t>(keys.size()));
    }
    const int64_t ids = std::ssize(keys);
    KeyPlan plan;
    const KeyList list{offsets, keys, /*transposed=*/true};
    KeyPlanner().plan({&list, 1}, plan);
    const KeyUse& use = plan.uses.front();
    const int64_t num_rows = std::ssize(plan.keys);
    const std::vector<float> weights = draw(random, num_rows * width), values = draw(random, ids);
    const std::vector<float> pooled = draw(random, examples * width),
                             side_by_side = draw(random, kMostIds * examples * width);
    const std::vector<float> each = draw(random, ids * width), slopes = draw(random, examples);
    for (const float* given : {static_cast<const float*>(nullptr), values.data()}) {
      expect_same_bits(seed, [&, examples = examples, width = width](Desk& desk) {
        Device& device = desk.device;
        float** const pointers = desk.put(std::vector<float*>(static_cast<size_t>(num_rows)));
        point_to_rows(device, desk.put(weights), num_rows, width, pointers);
        const auto out = [&] { return Columns<float>{desk.put_result(pooled), width, width}; };
        const Columns<const float> above{desk.put(pooled), width, width};
        const auto gradients = [&] { return desk.put_result(weights); };
        add_bags<float>(device, use, given, pointers, out());
        const Columns<float> sums = out(), squares = out();
        add_bags_and_squares<float>(device, use, given, pointers, sums, squares);
        add_up_pairs<float>(device, sums, squares, examples, desk.put_result(slopes));
        add_pairwise_gradients<float>(device, use, given, pointers, desk.put(slopes), sums, gradients());
        add_bag_gradients(device, use, given, above, gradients());
        divide_by_counts(device, use, out());
        const int64_t whole = kMostIds * width;
        copy_rows<float>(device, use, given, pointers, width, {desk.put_result(side_by_side), whole, whole});
        add_copied_gradients<float>(device, use, given, {desk.put(side_by_side), whole, whole}, width,
                                    gradients());
        gather_rows<float>(device, use, given, pointers, {desk.put_result(each), ids, width});
        add_gathered_gradients<float>(device, use, given, {desk.put(each), ids, width}, gradients());
      });
      if (HasFatalFailure()) return;
    }
  }
}

// Examples in groups of up to five, in a random order.
struct DrawnGroups {
  std::vector<size_t> order, begins, ends;
};

DrawnGroups draw_groups(Random& random, size_t examples) {
  DrawnGroups drawn;
  for (size_t e = 0; e < examples; ++e)
    drawn.order.insert(drawn.order.begin() + static_cast<ptrdiff_t>(random.below(e + 1)), e);
  for (size_t begin = 0, end = 0; begin < examples; begin = end) {
    end = std::min(examples, begin + 1 + static_cast<size_t>(random.below(5)));
    drawn.begins.resize(end, begin);
    drawn.ends.resize(end, end);
  }
  return drawn;
}

TEST(ModelKernels, CostsAndPredictions) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 3);
    const auto [rows, cols] = draw_shape(random, seed);
    const std::vector<float> scores = draw(random, rows * cols), none = draw(random, rows);
    std::vector<float> labels(static_cast<size_t>(rows)), weights = draw(random, rows),
                                                          probabilities = scores;
    for (float& label : labels) label = static_cast<float>(random.below(static_cast<uint64_t>(cols)));
    for (float& p : probabilities) p = 1 / (1 + p * p);
    const CostTargets targets{labels.data(), seed % 2 == 0 ? nullptr : weights.data(),
                              seed % 3 == 0 ? 2.5f : 1.0f};
    std::vector<uint32_t> offsets = {0};  // of sets of labels
    std::vector<uint64_t> classes;
    for (int64_t b = 0; b < rows; ++b) {
      for (uint64_t left = random.below(4); left > 0; --left)
        classes.push_back(random.below(static_cast<uint64_t>(cols)));
      offsets.push_back(static_cast<uint32_t>(classes.size()));
    }
    const std::vector<float> of_class = draw(random, cols);
    CostTargets of_classes = targets;
    of_classes.class_weights = of_class.data();
    const DrawnGroups drawn = draw_groups(random, static_cast<size_t>(rows));
    const RankingGroups groups{drawn.order.data(), drawn.begins.data(), drawn.ends.data()};
    double totals[2] = {0, 0};
    int64_t found[2] = {0, 0};
    int run = 0;
    expect_same_functions(seed, [&, rows = rows, cols = cols](Desk& desk) {
      Device& device = desk.device;
      const float* one = desk.put(none);
      const auto all = [&] { return Matrix<float>{desk.put_result(scores), rows, cols}; };
      const auto each = [&] { return desk.put_result(none); };
      const Matrix<const float> many{desk.put(scores), rows, cols},
          likely{desk.put(probabilities), rows, cols};
      const auto losses = [&](const auto& loss) {
        evaluate_losses<float>(device, loss, {one, rows, 1}, targets, each(), each());
        evaluate_losses<float>(device, loss, {one, rows, 1}, targets, each(), nullptr);
      };
      losses(LogisticLoss());
      losses(SmoothedLogisticLoss{0.1});
      losses(FocalLoss{2, 0.25});
      losses(SquaredLoss());
      losses(AbsoluteLoss());
      losses(HuberLoss{0.7});
      float* const costs = each();
      for (const float smoothing : {0.0f, 0.1f}) {
        softmax_cross_entropy<float>(device, many, targets, smoothing, costs, all());
        softmax_cross_entropy<float>(device, many, targets, smoothing, each(), {});
      }
      cross_entropy<float>(device, likely, targets, each(), all());
      softmax_cross_entropy<float>(device, many, of_classes, 0, each(), all());
      cross_entropy<float>(device, likely, of_classes, each(), all());
      EXPECT_FALSE(find_improbable<float>(device, likely, targets, each()));
      const auto improbable = find_improbable<float>(device, many, targets, each());
      found[run] = improbable ? improbable->example : -1;
      const Matrix<const float> alone{one, rows, 1};
      ranking_costs<float>(device, groups, alone, targets, each(), each());
      ranking_costs<float>(device, groups, alone, targets, each(), nullptr);
      bpr_costs<float>(device, groups, alone, targets, each(), each());
      listwise_softmax_costs<float>(device, groups, alone, targets, each(), each());
      listwise_softmax_costs<float>(device, groups, alone, targets, each(), nullptr);
      for (const float positive : {1.0f, 3.0f})
        label_set_costs<float>(device, many, {offsets.data(), classes.data()}, std::ssize(classes),
                               targets.weights, positive, each(), all());
      sum_costs<float>(device, many, targets, each(), all());
      copy_predictions<float>(device, many, desk.put_result(scores));
      logistic_predictions<float>(device, many, desk.put_result(scores));
      totals[run++] = total_cost<float>(device, costs, rows);
    });
    if (HasFatalFailure()) return;
    EXPECT_EQ(found[0], found[1]) << "seed " << seed;
    // The costs themselves are as close as expect_same_functions has them.
    const double bound = test_device::kSameFunctions
                             ? 0
                             : 0x1p-19 * static_cast<double>(rows) * std::max(1.0, std::fabs(totals[0]));
    ASSERT_NEAR(totals[0], totals[1], bound) << "seed " << seed;
  }
}

TEST(ModelKernels, CrossNetworks) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 4);
    const auto [rows, cols] = draw_shape(random, seed);
    const int64_t depth = 1 + draw_size(random, 3);
    const std::vector<float> weights = draw(random, depth * cols), biases = draw(random, depth * cols);
    const std::vector<float> input = draw(random, rows * cols), states = draw(random, rows * depth * cols);
    const std::vector<float> products = draw(random, rows * depth);
    expect_same_bits(seed, [&, rows = rows, cols = cols](Desk& desk) {
      const float* bias = seed % 2 == 0 ? nullptr : desk.put(biases);
      const CrossWeights<float> parameters{{desk.put(weights), depth, cols}, {bias, depth, cols}};
      const Matrix<const float> x{desk.put(input), rows, cols};
      const CrossStates<float> made{desk.put_result(states), desk.put_result(products)};
      cross_forward<float>(desk.device, parameters, x, made, {desk.put_result(input), rows, cols});
      cross_backward<float>(
          desk.device, parameters, x, made, {desk.put(input), rows, cols},
          {desk.put_result(states), desk.put_result(products), {desk.put_result(input), rows, cols}});
    });
    if (HasFatalFailure()) return;
  }
}

TEST(ModelKernels, PoolsAndPlanes) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 6);
    const int64_t rows = draw_size(random, 3), channels = 1 + draw_size(random, 3);
    const int64_t kernel = 1 + draw_size(random, 2);
    const PoolShape shape = make_pool_shape({.channels = channels,
                                             .height = kernel + draw_size(random, 4),
                                             .width = kernel + draw_size(random, 4),
                                             .kernel = kernel,
                                             .stride = 1 + draw_size(random, 2),
                                             .padding = kernel / 2,
                                             .out_height = 0,
                                             .out_width = 0},
                                            /*ceil_mode=*/seed % 2 == 0);
    const int64_t plane = shape.height * shape.width, cols = channels * plane;
    const int64_t out_cols = channels * shape.out_height * shape.out_width;
    const std::vector<float> images = draw(random, rows * cols), pooled = draw(random, rows * out_cols);
    const std::vector<float> means = draw(random, rows * channels), of_channels = draw(random, channels);
    expect_same_bits(seed, [&](Desk& desk) {
      Device& device = desk.device;
      const Matrix<const float> in{desk.put(images), rows, cols}, above{desk.put(pooled), rows, out_cols};
      const auto out = [&] { return Matrix<float>{desk.put_result(pooled), rows, out_cols}; };
      const auto below = [&] { return Matrix<float>{desk.put_result(images), rows, cols}; };
      int64_t* const argmax = desk.put(std::vector<int64_t>(pooled.size()));
      max_pool(device, shape, in, out(), argmax);
      add_max_pool_gradients(device, shape, above, argmax, below());
      average_pool(device, shape, in, out());
      add_average_pool_gradients(device, shape, above, below());
      average_planes(device, in, {desk.put_result(means), rows, channels});
      add_average_gradients<float>(device, {desk.put(means), rows, channels}, below());
      set_planes(device, desk.put(of_channels), channels, below());
      set_planes<float>(device, nullptr, channels, below());
      add_plane_sums(device, in, channels, desk.put_result(of_channels));
    });
    if (HasFatalFailure()) return;
  }
}

TEST(ModelKernels, BatchNorms) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 7);
    const int64_t rows = draw_size(random, seed % 10 == 1 ? 300 : 9), channels = 1 + draw_size(random, 6);
    const int64_t plane = seed % 2 == 0 ? 1 : 1 + draw_size(random, 20), cols = channels * plane;
    const std::vector<float> x = draw(random, rows * cols), slopes = draw(random, rows * cols);
    const std::vector<float> of_channels = draw(random, channels);
    std::vector<float> variances = of_channels;
    for (float& variance : variances) variance *= variance;
    expect_same_bits(seed, [&](Desk& desk) {
      const auto each = [&] { return desk.put_result(of_channels); };
      const auto all = [&] { return Matrix<float>{desk.put_result(x), rows, cols}; };
      const BatchNormArrays<float> norm = {.channels = channels,
                                           .plane = plane,
                                           .epsilon = 1e-5f,
                                           .momentum = 0.9f,
                                           .weight = desk.put(of_channels),
                                           .bias = seed % 3 == 0 ? nullptr : desk.put(of_channels),
                                           .running_mean = each(),
                                           .running_variance = desk.put_result(variances),
                                           .mean = each(),
                                           .scale = each(),
                                           .normalized = desk.put_result(x)};
      const Matrix<const float> in{desk.put(x), rows, cols}, above{desk.put(slopes), rows, cols};
      const BatchNormGradients<float> gradients = {each(), each(), each(), seed % 3 == 0 ? nullptr : each()};
      batch_norm_training(desk.device, norm, in, all());
      batch_norm_backward(desk.device, norm, above, gradients, all());
      batch_norm_backward(desk.device, norm, above, gradients, {});
      batch_norm(desk.device, norm, in, all());
    });
    if (HasFatalFailure()) return;
  }
}

ConvolutionShape draw_convolution(Random& random) {
  const int64_t groups = 1 + draw_size(random, 2), kernel = 1 + draw_size(random, 3);
  const int64_t padding = draw_size(random, 4), least = std::max<int64_t>(1, kernel - 2 * padding);
  return make_convolution_shape({.channels = groups * (1 + draw_size(random, 2)),
                                 .height = least + draw_size(random, 5),
                                 .width = least + draw_size(random, 5),
                                 .filters = groups * (1 + draw_size(random, 2)),
                                 .kernel = kernel,
                                 .stride = 1 + draw_size(random, 4),
                                 .padding = padding,
                                 .groups = groups,
                                 .out_height = 0,
                                 .out_width = 0,
                                 .rows_per_tile = 0,
                                 .scratch_size = 0});
}

// Their sums are those of products and run in another order on a device, so the numbers are such that no sum is rounded:
// a value in a wrong place shows, and ProductsAreWithinTheirBound has the rounding.
TEST(ModelKernels, Convolutions) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 8);
    const ConvolutionShape shape = draw_convolution(random);
    const int64_t rows = draw_size(random, 4), cols = shape.channels * shape.height * shape.width;
    const int64_t out_cols = shape.filters * shape.out_height * shape.out_width;
    const int64_t weights = shape.filters * shape.channels / shape.groups * shape.kernel * shape.kernel;
    const std::vector<float> images = draw_whole(random, rows * cols), weight = draw_whole(random, weights);
    const std::vector<float> outs = draw_whole(random, rows * out_cols);
    // With room for few pixels, or for one, images are computed in parts.
    constexpr int64_t kRoom[] = {1, 200, 1 << 25};
    const int64_t room = kRoom[seed % 3];
    expect_same_bits(seed, [&](Desk& desk) {
      ConvolutionScratch<float> scratch;
      scratch.most_values = room;
      const Matrix<const float> in{desk.put(images), rows, cols}, above{desk.put(outs), rows, out_cols};
      convolve<float>(desk.device, shape, in, desk.put(weight), scratch,
                      {desk.put_result(outs), rows, out_cols});
      add_convolution_image_gradients<float>(desk.device, shape, above, desk.put(weight), scratch,
                                             {desk.put_result(images), rows, cols});
      add_convolution_weight_gradient<float>(desk.device, shape, in, above, scratch, desk.put_result(weight));
    });
    if (HasFatalFailure()) return;
  }
}

TEST(ModelKernels, LocalResponses) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 9);
    const int64_t rows = draw_size(random, 3);
    const LocalResponse<float> norm = {.channels = 1 + draw_size(random, 6),
                                       .plane = 1 + draw_size(random, seed % 10 == 1 ? 300 : 9),
                                       .reach = draw_size(random, 3),
                                       .alpha = 0.3f,
                                       .beta = 0.75f,
                                       .k = 2};
    const int64_t cols = norm.channels * norm.plane;
    const std::vector<float> x = draw(random, rows * cols), slopes = draw(random, rows * cols);
    expect_same_functions(seed, [&](Desk& desk) {
      const auto all = [&] { return Matrix<float>{desk.put_result(x), rows, cols}; };
      const Matrix<const float> in{desk.put(x), rows, cols}, above{desk.put(slopes), rows, cols};
      float* const sums = all().data;
      local_response_norm(desk.device, norm, in, sums, all());
      add_local_response_gradients<float>(desk.device, norm, in, above, sums, all().data, all());
    });
    if (HasFatalFailure()) return;
  }
}

// Sums of a product run in another order on a device.  With u = 2^-24, a sum of k products in any order is within
// k u / (1 - k u) times the sum of the absolute products of the exact one; so two of them are within twice that, and an
// ulp for what they are added to.
TEST(ModelKernels, ProductsAreWithinTheirBound) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 5);
    const int64_t m = draw_size(random, 40), n = draw_size(random, 40);
    const int64_t k = draw_size(random, seed % 5 == 0 ? 300 : 20);
    const std::vector<float> a = draw(random, m * k), b = draw(random, k * n), start = draw(random, m * n);
    const auto absolute = [](std::vector<float> values) {
      for (float& value : values) value = std::fabs(value);
      return values;
    };
    const auto products = [&](const std::vector<float>& left, const std::vector<float>& right, Desk& desk) {
      const float *x = desk.put(left), *y = desk.put(right);
      add_product<float>(desk.device, {x, m, k}, {y, k, n}, {desk.put_result(start), m, n});
      add_product_transposed_left<float>(desk.device, {x, k, m}, {y, k, n}, {desk.put_result(start), m, n});
      add_product_transposed_right<float>(desk.device, {x, m, k}, {y, n, k}, {desk.put_result(start), m, n});
    };
    const Results results = run_on_both(seed, [&](Desk& desk) { products(a, b, desk); });
    const Results sizes = run_on_both(seed, [&](Desk& desk) { products(absolute(a), absolute(b), desk); });
    const double unit = std::ldexp(1.0, -24), terms = static_cast<double>(k + 1) * unit;
    for (size_t r = 0; r < results.here.size(); ++r) {
      for (size_t i = 0; i < start.size(); ++i) {
        const double size =
            std::fabs(static_cast<double>(sizes.here[r][i])) + 2 * std::fabs(static_cast<double>(start[i]));
        const double bound = 2 * terms / (1 - terms) * size * (1 + terms);
        ASSERT_NEAR(static_cast<double>(results.here[r][i]), static_cast<double>(results.there[r][i]), bound)
            << "seed " << seed << ", product " << r << " of " << m << " x " << k << " x " << n;
      }
    }
  }
}

// A batch at the addresses of the last one is sent again.
TEST(ModelKernels, ANewBatchAtTheAddressesOfTheLastIsSent) {
  const std::shared_ptr<DeviceKernels> kernels = device_kernels(0);
  std::vector<float> values = {1, 2, 3}, received(3);
  for (int batch = 0; batch < 3; ++batch) {
    kernels->begin_batch();
    for (float& value : values) value += 10;
    const void* first = kernels->mirror(values.data(), sizeof(float) * values.size());
    EXPECT_EQ(first, kernels->mirror(values.data(), sizeof(float) * values.size()));
    kernels->receive(received.data(), first, sizeof(float) * received.size());
    EXPECT_EQ(received, values);
  }
}

// Within a batch an array keeps its address; a longer one that is there is another array.
TEST(ModelKernels, ALongerArrayAtAnAddressIsSent) {
  const std::shared_ptr<DeviceKernels> kernels = device_kernels(0);
  std::vector<float> values = {1, 2, 3, 4}, received(4);
  kernels->begin_batch();
  kernels->mirror(values.data(), 2 * sizeof(float));
  values[0] = 9;
  const void* whole = kernels->mirror(values.data(), 4 * sizeof(float));
  kernels->receive(received.data(), whole, 4 * sizeof(float));
  EXPECT_EQ(received, values);
  EXPECT_EQ(kernels->mirror(values.data(), 3 * sizeof(float)), whole);
}

TEST(ModelKernels, ADeviceWithTooLittleMemorySaysSo) {
  Device host(1, best_cpu_level());
  Device small(host, make_gpu_kernels(std::make_unique<gpu::Device>(test_device::with_little_memory())));
  DeviceBuffer<float> buffer;
  buffer.resize(small, 512);
  try {
    buffer.resize(small, test_device::kTooManyFloats);
    FAIL() << "it has no such memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kExhausted) << error.message();
  }
  buffer.resize(small, 512);
}

}  // namespace ps
