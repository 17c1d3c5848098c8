// Pools: each window of an image becomes one value, its largest or its mean.
#include <algorithm>
#include <vector>

#include "math/blocks.h"
#include "math/convolution.h"
#include "model/layers/image_keys.h"
#include "model/layers/layer_entry.h"

namespace ps {

namespace {

struct PoolOptions : LayerOptions, ImageKeys {
  int64_t kernel = 0, stride = 1, padding = 0;
  bool ceil_mode = false;

  static const ObjectSpec<PoolOptions>& spec() {
    static const ObjectSpec<PoolOptions> spec = [] {
      ObjectSpec<PoolOptions> s;
      s.include(LayerOptions::spec());
      s.include(ImageKeys::spec());
      s.field("kernel", &PoolOptions::kernel, "rows and columns of a window")
          .must()
          .at_least(1)
          .at_most(1024);
      s.field("stride", &PoolOptions::stride, "rows and columns from one window to the next")
          .at_least(1)
          .at_most(1024);
      s.field("padding", &PoolOptions::padding, "how far windows reach over each edge; nothing there counts")
          .at_least(0);
      s.field("ceil_mode", &PoolOptions::ceil_mode,
              "a last window that reaches past the lower or right edge is taken too");
      return s;
    }();
    return spec;
  }
};

// Windows along `size` values.  With ceil_mode, one more where values are left, if it begins before they end.
int64_t count_windows(int64_t size, const PoolOptions& options) {
  const int64_t places = window_places(size, options.kernel, options.stride, options.padding);
  const int64_t next = places * options.stride - options.padding;  // where another window would begin
  const bool left = next - options.stride + options.kernel < size + options.padding;
  return places + (options.ceil_mode && left && next < size ? 1 : 0);
}

// Values [begin, end) of a side of the image that window `place` holds.
struct Span {
  int64_t begin, end;
};

Span window(int64_t place, int64_t size, const PoolOptions& options) {
  const int64_t begin = place * options.stride - options.padding;
  return {std::max<int64_t>(0, begin), std::min(size, begin + options.kernel)};
}

// output [B, C, OH, OW] of images [B, C, H, W], plane by plane.  Derived classes take one window.
template <class T>
class Pool : public Layer<T> {
 public:
  Pool(const PoolOptions& options, LayerSetup& setup, std::string_view layer)
      : options_(options), image_(require_image(options, setup, layer)) {
    check_window(image_, options.kernel, options.padding);
    out_ = {image_.channels, count_windows(image_.height, options), count_windows(image_.width, options)};
    setup.set_image_output(out_);
  }

 protected:
  // Calls body(plane of all images, index of the value out in it, rows, columns) for every window.
  template <class Body>
  void for_windows(LayerRun<T>& run, Body&& body) const {
    const int64_t work = out_.plane() * options_.kernel * options_.kernel;
    run.device().for_each(run.output().rows * out_.channels, block_items(work),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t plane = begin; plane < end; ++plane) {
                              for (int64_t i = 0; i < out_.plane(); ++i) {
                                body(plane, i, window(i / out_.width, image_.height, options_),
                                     window(i % out_.width, image_.width, options_));
                              }
                            }
                          });
  }

  const PoolOptions options_;
  const ImageShape image_;
  ImageShape out_;
};

template <class T>
class MaxPool final : public Pool<T> {
 public:
  MaxPool(const PoolOptions& options, LayerSetup& setup) : Pool<T>(options, setup, "max_pool") {}

  void forward(LayerRun<T>& run) override {
    const T* images = run.input(0).data;
    T* output = run.output().data;
    places_.resize(static_cast<size_t>(run.output().size()));
    this->for_windows(run, [&](int64_t plane, int64_t i, Span rows, Span cols) {
      const T* image = images + plane * this->image_.plane();
      int64_t best = rows.begin * this->image_.width + cols.begin;
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        for (int64_t x = cols.begin; x < cols.end; ++x) {
          const int64_t place = y * this->image_.width + x;
          if (image[place] > image[best]) best = place;
        }
      }
      const int64_t out = plane * this->out_.plane() + i;
      output[out] = image[best];
      places_[static_cast<size_t>(out)] = best;
    });
  }

  // The gradient goes to the largest value, the first of equal ones.
  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (!below) return;
    const T* slopes = run.output_gradient().data;
    this->for_windows(run, [&](int64_t plane, int64_t i, Span, Span) {
      const int64_t out = plane * this->out_.plane() + i;
      below.data[plane * this->image_.plane() + places_[static_cast<size_t>(out)]] += slopes[out];
    });
  }

 private:
  std::vector<int64_t>
      places_;  // [B, C, OH, OW], of the last forward: where in its plane the largest value is
};

// Means are over the values of the image that a window holds: padding is left out.
template <class T>
class AveragePool final : public Pool<T> {
 public:
  AveragePool(const PoolOptions& options, LayerSetup& setup) : Pool<T>(options, setup, "average_pool") {}

  void forward(LayerRun<T>& run) override {
    const T* images = run.input(0).data;
    T* output = run.output().data;
    this->for_windows(run, [&](int64_t plane, int64_t i, Span rows, Span cols) {
      const T* image = images + plane * this->image_.plane();
      T sum = 0;
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        for (int64_t x = cols.begin; x < cols.end; ++x) sum += image[y * this->image_.width + x];
      }
      output[plane * this->out_.plane() + i] = sum / count(rows, cols);
    });
  }

  void backward(LayerRun<T>& run) override {
    const Matrix<T> below = run.input_gradient(0);
    if (!below) return;
    const T* slopes = run.output_gradient().data;
    this->for_windows(run, [&](int64_t plane, int64_t i, Span rows, Span cols) {
      T* image = below.data + plane * this->image_.plane();
      const T slope = slopes[plane * this->out_.plane() + i] / count(rows, cols);
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        for (int64_t x = cols.begin; x < cols.end; ++x) image[y * this->image_.width + x] += slope;
      }
    });
  }

 private:
  static T count(Span rows, Span cols) {
    return static_cast<T>((rows.end - rows.begin) * (cols.end - cols.begin));
  }
};

}  // namespace

extern const LayerEntry kMaxPoolLayer = layer_entry<PoolOptions, MaxPool>(
    "max_pool", "the largest value of each window of an image, channel by channel");
extern const LayerEntry kAveragePoolLayer = layer_entry<PoolOptions, AveragePool>(
    "average_pool", "the mean of each window of an image, channel by channel");

}  // namespace ps
