// Convolution against loops over its definition, at every level of instruction sets and with any threads.
#include "math/convolution.h"

#include <gmock/gmock.h>

#include "base/cpu.h"
#include "base/random.h"

namespace ps::convolution_test {
namespace {

constexpr int64_t kImages = 19;

std::vector<double> normal_numbers(int64_t count, uint64_t seed) {
  Random random(seed, 0);
  std::vector<double> numbers(static_cast<size_t>(count));
  for (double& number : numbers) number = random.normal();
  return numbers;
}

// Calls body(index in the images, in the weights, in the images out) for every product of the convolution.
template <class Body>
void for_products(const ConvolutionShape& s, const Body& body) {
  const int64_t in = s.channels / s.groups, out = s.filters / s.groups;
  for (int64_t b = 0; b < kImages; ++b)
    for (int64_t f = 0; f < s.filters; ++f)
      for (int64_t y = 0; y < s.out_height; ++y)
        for (int64_t x = 0; x < s.out_width; ++x)
          for (int64_t c = 0; c < in; ++c)
            for (int64_t k = 0; k < s.kernel * s.kernel; ++k) {
              const int64_t row = y * s.stride + k / s.kernel - s.padding;
              const int64_t col = x * s.stride + k % s.kernel - s.padding;
              if (row < 0 || row >= s.height || col < 0 || col >= s.width) continue;
              const int64_t channel = f / out * in + c;
              body(((b * s.channels + channel) * s.height + row) * s.width + col,
                   (f * in + c) * s.kernel * s.kernel + k,
                   ((b * s.filters + f) * s.out_height + y) * s.out_width + x);
            }
}

template <class T>
struct Arrays {
  std::vector<T> images, weights, outs;
};

// The three results, each added to ones.
template <class T>
Arrays<T> plain(const ConvolutionShape& shape, const Arrays<T>& in) {
  Arrays<T> sums{std::vector<T>(in.images.size(), 1), std::vector<T>(in.weights.size(), 1),
                 std::vector<T>(in.outs.size(), 1)};
  for_products(shape, [&](int64_t i, int64_t w, int64_t o) {
    const auto image = static_cast<size_t>(i), weight = static_cast<size_t>(w), out = static_cast<size_t>(o);
    sums.outs[out] += in.images[image] * in.weights[weight];
    sums.images[image] += in.outs[out] * in.weights[weight];
    sums.weights[weight] += in.outs[out] * in.images[image];
  });
  return sums;
}

template <class T>
Arrays<T> computed(const ConvolutionShape& shape, Arrays<T> in, int threads,
                   CpuLevel cpu = best_cpu_level()) {
  Device device(threads, cpu);
  Arrays<T> sums{std::vector<T>(in.images.size(), 1), std::vector<T>(in.weights.size(), 1),
                 std::vector<T>(in.outs.size(), 1)};
  auto matrix = [](std::vector<T>& values) {
    return Matrix<T>{values.data(), kImages, static_cast<int64_t>(values.size()) / kImages};
  };
  ConvolutionScratch<T> scratch;
  convolve<T>(device, shape, matrix(in.images), in.weights.data(), scratch, matrix(sums.outs));
  add_convolution_image_gradients<T>(device, shape, matrix(in.outs), in.weights.data(), scratch,
                                     matrix(sums.images));
  add_convolution_weight_gradient<T>(device, shape, matrix(in.images), matrix(in.outs), scratch,
                                     sums.weights.data());
  return sums;
}

template <class T>
Arrays<T> inputs(const ConvolutionShape& s) {
  auto numbers = [](int64_t count, uint64_t seed) {
    std::vector<double> wide = normal_numbers(count, seed);
    return std::vector<T>(wide.begin(), wide.end());
  };
  return {numbers(kImages * s.channels * s.height * s.width, 1),
          numbers(s.filters * (s.channels / s.groups) * s.kernel * s.kernel, 2),
          numbers(kImages * s.filters * s.out_height * s.out_width, 3)};
}

void expect_close(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-10) << i;
}

class ConvolutionOf : public testing::TestWithParam<ConvolutionShape> {};

TEST_P(ConvolutionOf, IsItsDefinition) {
  const ConvolutionShape shape = make_convolution_shape(GetParam());
  const Arrays<double> in = inputs<double>(shape), expected = plain(shape, in);
  for (CpuLevel level : possible_levels(cpu_features())) {
    SCOPED_TRACE(cpu_level_name(level));
    const Arrays<double> found = computed(shape, in, 1, level);
    expect_close(found.outs, expected.outs);
    expect_close(found.images, expected.images);
    expect_close(found.weights, expected.weights);
  }
}

TEST_P(ConvolutionOf, HasTheSameBitsWithAnyNumberOfThreads) {
  const ConvolutionShape shape = make_convolution_shape(GetParam());
  const Arrays<float> one = computed(shape, inputs<float>(shape), 1);
  for (int threads : {2, 5}) {
    const Arrays<float> many = computed(shape, inputs<float>(shape), threads);
    EXPECT_EQ(one.outs, many.outs);
    EXPECT_EQ(one.images, many.images);
    EXPECT_EQ(one.weights, many.weights);
  }
}

ConvolutionShape sizes(int64_t channels, int64_t height, int64_t width, int64_t filters, int64_t kernel,
                       int64_t stride, int64_t padding, int64_t groups) {
  return {channels, height, width, filters, kernel, stride, padding, groups, 0, 0, 0, 0};
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvolutionOf,
                         testing::Values(sizes(1, 1, 1, 1, 1, 1, 0, 1),    // one value
                                         sizes(3, 9, 7, 5, 3, 1, 1, 1),    // the common case
                                         sizes(4, 8, 5, 6, 3, 2, 1, 2),    // groups, a stride
                                         sizes(2, 11, 12, 3, 5, 3, 4, 1),  // filters that see padding alone
                                         sizes(6, 5, 5, 4, 1, 1, 0, 2),    // the image is its own columns
                                         sizes(6, 5, 6, 4, 1, 2, 0, 1),    // a kernel of 1 with a stride
                                         sizes(2, 3, 300, 2, 2, 1, 0, 1),  // a row is more than a tile
                                         sizes(2, 40, 30, 2, 3, 1, 1, 1),  // several tiles
                                         sizes(2, 4, 4, 2, 4, 1, 0, 1)));  // one place

TEST(Convolution, WindowsFindWholePositions) {
  EXPECT_EQ(window_positions(5, 3, 1, 0), 3);
  EXPECT_EQ(window_positions(6, 3, 2, 0), 2);
  EXPECT_EQ(window_positions(6, 3, 2, 1), 3);
  EXPECT_EQ(window_positions(2, 3, 1, 0), 0);
}

}  // namespace
}  // namespace ps::convolution_test
