#include <algorithm>
#include <cmath>
#include <vector>

#include "math/blocks.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct LocalResponseNormOptions : LayerOptions, ImageKeys {
  int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, k = 2;

  static const ObjectSpec<LocalResponseNormOptions>& spec() {
    static const ObjectSpec<LocalResponseNormOptions> spec = [] {
      ObjectSpec<LocalResponseNormOptions> s;
      s.include(LayerOptions::spec());
      s.include(ImageKeys::spec());
      s.field("size", &LocalResponseNormOptions::size, "channels summed over, centred on each; odd")
          .at_least(1);
      s.field("alpha", &LocalResponseNormOptions::alpha, "factor of the sum of squares").at_least(0);
      s.field("beta", &LocalResponseNormOptions::beta, "power of the divisor").at_least(0);
      s.field("k", &LocalResponseNormOptions::k, "what is added to the sum").above(0);
      s.check([](const LocalResponseNormOptions& norm, std::string_view path) {
        if (norm.size % 2 == 0)
          fail(Code::kUsage, json_path(path, "size"), ": ", norm.size, " is even, expected an odd number");
      });
      return s;
    }();
    return spec;
  }
};

// output_c = x_c / s_c^beta, with s_c = k + alpha x sum of x_j² over the `size` channels j around c, at each
// pixel.  Krizhevsky et al., NIPS 2012, section 3.3.
template <class T>
class LocalResponseNorm final : public Layer<T> {
 public:
  LocalResponseNorm(const LocalResponseNormOptions& options, LayerSetup& setup)
      : reach_(options.size / 2),
        alpha_(static_cast<T>(options.alpha)),
        beta_(static_cast<T>(options.beta)),
        k_(static_cast<T>(options.k)),
        image_(require_image(options, setup, "local_response_norm")) {
    setup.set_image_output(image_);
  }

  void forward(LayerRun<T>& run) override {
    const Matrix<const T> images = run.input(0);
    const Matrix<T> output = run.output();
    sums_.resize(static_cast<size_t>(output.size()));
    for_channels(run, [&](int64_t b, int64_t c) {
      T* sums = at(sums_.data(), b, c);
      std::fill_n(sums, image_.plane(), k_);
      for_neighbours(c, [&](int64_t j) {
        const T* x = at(images.data, b, j);
        for (int64_t p = 0; p < image_.plane(); ++p) sums[p] += alpha_ * x[p] * x[p];
      });
      const T* x = at(images.data, b, c);
      T* y = at(output.data, b, c);
      for (int64_t p = 0; p < image_.plane(); ++p) y[p] = x[p] * std::pow(sums[p], -beta_);
    });
  }

  // dx_c = dy_c / s_c^beta - 2 alpha beta x_c x sum over j around c of dy_j x_j / s_j^(beta + 1)
  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (!below) return;
    const Matrix<const T> images = run.input(0), gradient = run.output_gradient();
    ratios_.resize(sums_.size());
    for_channels(run, [&](int64_t b, int64_t c) {
      const T *x = at(images.data, b, c), *slope = at(gradient.data, b, c), *sums = at(sums_.data(), b, c);
      T *to = at(below.data, b, c), *ratios = at(ratios_.data(), b, c);
      for (int64_t p = 0; p < image_.plane(); ++p) {
        const T direct = slope[p] * std::pow(sums[p], -beta_);
        to[p] += direct;
        ratios[p] = direct * x[p] / sums[p];
      }
    });
    for_channels(run, [&](int64_t b, int64_t c) {
      const T* x = at(images.data, b, c);
      T* to = at(below.data, b, c);
      for_neighbours(c, [&](int64_t j) {
        const T* ratios = at(ratios_.data(), b, j);
        for (int64_t p = 0; p < image_.plane(); ++p) to[p] -= 2 * alpha_ * beta_ * x[p] * ratios[p];
      });
    });
  }

 private:
  template <class U>
  U* at(U* images, int64_t b, int64_t c) const {
    return images + (b * image_.channels + c) * image_.plane();
  }

  template <class Body>
  void for_neighbours(int64_t c, Body&& body) const {
    const int64_t end = std::min(image_.channels, c + reach_ + 1);
    for (int64_t j = std::max<int64_t>(0, c - reach_); j < end; ++j) body(j);
  }

  // Calls body(image, channel).
  template <class Body>
  void for_channels(LayerRun<T>& run, Body&& body) const {
    constexpr int64_t kWorkOfPower = 32;
    run.device().for_each(run.output().rows * image_.channels,
                          block_items((kWorkOfPower + 2 * reach_) * image_.plane()),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t i = begin; i < end; ++i)
                              body(i / image_.channels, i % image_.channels);
                          });
  }

  const int64_t reach_;  // channels on each side
  const T alpha_, beta_, k_;
  const ImageShape image_;
  std::vector<T> sums_;    // [B, C, H, W], s of the last forward
  std::vector<T> ratios_;  // [B, C, H, W], of backward: dy x / s^(beta + 1)
};

}  // namespace

extern const LayerEntry kLocalResponseNormLayer = layer_entry<LocalResponseNormOptions, LocalResponseNorm>(
    "local_response_norm",
    "divides each value of an image by a power of the sum of squares over the channels beside it");

}  // namespace ps
