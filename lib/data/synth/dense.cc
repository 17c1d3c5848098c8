// Small square images of a few classes: a smooth pattern of the class, and noise.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "data/synth/example_random.h"
#include "data/synth/generator.h"

namespace ps {
namespace {

constexpr int64_t kMaxPixels = 1 << 20, kMaxPatternPixels = 1 << 26;
constexpr double kPixelNoise = 0.3;
// Deviations of noise from a pattern to the middle between two: the best classifier errs on about 1 % of ten
// classes.
constexpr double kSeparation = 2.9;
constexpr int kWaves = 6;  // a pattern is a sum of six plane waves of at most three periods

// Constant after construction: any thread may generate.
class Dense : public Generator {
 public:
  Dense(const SynthOptions& options, uint64_t seed)
      : seed_(seed),
        pixels_(static_cast<size_t>(*options.dim)),
        classes_(static_cast<size_t>(*options.classes)) {
    traits_.schema.slots = {{"features", true, *options.dim}};
    // Two independent patterns of n pixels and deviation `contrast` lie contrast sqrt(2 n) apart.  The
    // middle between them is to be kSeparation deviations of the noise away from each.
    double contrast = 2 * kSeparation * kPixelNoise / std::sqrt(2 * static_cast<double>(pixels_));
    for (size_t c = 0; c < classes_; ++c) append_pattern(c, contrast);
  }

  const DataTraits& traits() const override { return traits_; }
  TruthKind truth_kind() const override { return TruthKind::kClass; }
  int64_t max_row_values() const override { return static_cast<int64_t>(pixels_); }

  // The truth is the class of the nearest pattern, which the best classifier would choose if values were
  // not clipped.
  void generate(uint64_t first, int64_t count, Sample& out) const override {
    out.batch.clear(traits_.schema);
    out.truth.clear();
    std::vector<float>& values = out.batch.slots[0].values;
    for (uint64_t i = first; i < first + static_cast<uint64_t>(count); ++i) {
      ExampleRandom random(seed_, Purpose::kExample, i);
      size_t label = random.below(classes_);
      append_image(&patterns_[label * pixels_], random, values);
      out.batch.labels.push_back(static_cast<float>(label));
      out.truth.push_back(static_cast<float>(nearest_pattern(&values[values.size() - pixels_])));
    }
  }

 private:
  // Appends the pattern of class c: waves, brought to mean 0.5 and deviation `contrast`.
  // The pixel in column x and row y of a square of `side` columns is the sum over the waves of
  //   height cos(2 pi ((across x + down y) / side + phase))
  // where `across` and `down` are periods within the image, from -3 to 3.
  void append_pattern(size_t c, double contrast) {
    ExampleRandom random(seed_, Purpose::kTruth, c);
    size_t side = static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(pixels_))));
    std::vector<double> pattern(pixels_);
    for (int wave = 0; wave < kWaves; ++wave) {
      double across = 6 * random.uniform() - 3, down = 6 * random.uniform() - 3, phase = random.uniform();
      double height = random.normal();
      for (size_t p = 0; p < pixels_; ++p) {
        double x = static_cast<double>(p % side), y = static_cast<double>(p / side);
        double turns = (across * x + down * y) / static_cast<double>(side) + phase;
        pattern[p] += height * std::cos(2 * std::numbers::pi * turns);
      }
    }
    double mean = 0, squares = 0;
    for (double value : pattern) mean += value / static_cast<double>(pixels_);
    for (double value : pattern) squares += (value - mean) * (value - mean) / static_cast<double>(pixels_);
    double scale = squares > 0 ? contrast / std::sqrt(squares) : 0;
    for (double value : pattern) patterns_.push_back(static_cast<float>(0.5 + scale * (value - mean)));
  }

  // Appends pixels in [0, 1] with two decimals.
  void append_image(const float* pattern, ExampleRandom& random, std::vector<float>& values) const {
    for (size_t p = 0; p < pixels_; p += 2) {
      uint64_t bits = random.next64();
      NormalPair noise = normal_pair(static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32));
      values.push_back(pixel(pattern[p], noise.first));
      if (p + 1 < pixels_) values.push_back(pixel(pattern[p + 1], noise.second));
    }
  }

  static float pixel(float pattern, float noise) {
    float value = std::clamp(pattern + static_cast<float>(kPixelNoise) * noise, 0.0f, 1.0f);
    return std::nearbyint(value * 100) / 100;
  }

  size_t nearest_pattern(const float* image) const {
    size_t nearest = 0;
    float nearest_distance = 0;
    for (size_t c = 0; c < classes_; ++c) {
      float distance = squared_distance(image, &patterns_[c * pixels_]);
      if (c == 0 || distance < nearest_distance) nearest = c, nearest_distance = distance;
    }
    return nearest;
  }

  // Keeps eight sums, so that the processor can add them in parallel.
  float squared_distance(const float* a, const float* b) const {
    std::array<float, 8> sums{};
    size_t p = 0;
    for (; p + 8 <= pixels_; p += 8) {
      for (size_t lane = 0; lane < 8; ++lane)
        sums[lane] += (a[p + lane] - b[p + lane]) * (a[p + lane] - b[p + lane]);
    }
    for (; p < pixels_; ++p) sums[0] += (a[p] - b[p]) * (a[p] - b[p]);
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }

  const uint64_t seed_;
  const size_t pixels_, classes_;
  std::vector<float> patterns_;  // [classes, pixels]
  DataTraits traits_;
};

SynthOptions defaults_dense() {
  SynthOptions options;
  options.dim = 256;
  options.classes = 10;
  return options;
}

std::unique_ptr<Generator> make_dense(const SynthOptions& options, uint64_t seed) {
  if (*options.dim > kMaxPixels) fail(Code::kUsage, "--dim: an image has at most ", kMaxPixels, " pixels");
  if (*options.dim * *options.classes > kMaxPatternPixels) {
    fail(Code::kUsage, "--classes: --dim times --classes is at most ", kMaxPatternPixels);
  }
  return std::make_unique<Dense>(options, seed);
}

}  // namespace

extern const GeneratorEntry kDenseGenerator = {
    "dense", "images of --dim pixels: a smooth pattern of the class, and noise", "libsvm", defaults_dense,
    make_dense};

}  // namespace ps
