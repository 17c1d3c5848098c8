// The items of the kernels of images: math/image_kernels.h and math/pooling.h.  The processor and devices with memory of
// their own both compile them (math/device_kernels.h).
#ifndef PS_MATH_ITEMS_IMAGE_ITEMS_H_
#define PS_MATH_ITEMS_IMAGE_ITEMS_H_

#include <algorithm>
#include <cstdint>

#include "math/matrix.h"
#include "math/plane_sum.h"

namespace ps {

// Images [channels, height, width] become images [channels, out_height, out_width]: windows of kernel x
// kernel values, `stride` apart, that may extend over the edges by `padding`.  The padding has no values, and
// each window covers part of the image.
struct PoolShape {
  int64_t channels, height, width;
  int64_t kernel, stride, padding;
  int64_t out_height, out_width;
};

// The values [begin, end) of one side of the image that a window covers.
struct WindowSide {
  int64_t begin, end;
};

constexpr WindowSide window_side(int64_t window, int64_t size, const PoolShape& shape) {
  const int64_t begin = window * shape.stride - shape.padding;
  return {std::max<int64_t>(0, begin), std::min(size, begin + shape.kernel)};
}

// One window: its plane among all images, the index of its value in the output, its rows and columns.
struct PoolWindow {
  int64_t plane, out;
  WindowSide rows, cols;

  template <class T>
  constexpr T count() const {
    return static_cast<T>((rows.end - rows.begin) * (cols.end - cols.begin));
  }
};

// Calls body(window) for every window of a plane, in order.
template <class Body>
constexpr void for_windows_of(const PoolShape& shape, int64_t plane, const Body& body) {
  const int64_t out_plane = shape.out_height * shape.out_width;
  for (int64_t i = 0; i < out_plane; ++i) {
    body(PoolWindow{plane, plane * out_plane + i, window_side(i / shape.out_width, shape.height, shape),
                    window_side(i % shape.out_width, shape.width, shape)});
  }
}

// In these, an item is a plane of an image.
template <class T>
struct MaxPoolItems {
  PoolShape shape;
  const T* images;
  T* output;
  int64_t* argmax;

  constexpr void operator()(int64_t plane) const {
    const int64_t width = shape.width;
    const T* image = images + plane * shape.height * width;
    for_windows_of(shape, plane, [&](const PoolWindow& window) {
      int64_t best = window.rows.begin * width + window.cols.begin;
      for (int64_t y = window.rows.begin; y < window.rows.end; ++y) {
        for (int64_t x = window.cols.begin; x < window.cols.end; ++x) {
          if (image[y * width + x] > image[best]) best = y * width + x;
        }
      }
      output[window.out] = image[best];
      argmax[window.out] = best;
    });
  }
};

template <class T>
struct MaxPoolGradientItems {
  PoolShape shape;
  const T* gradient;
  const int64_t* argmax;
  T* image_gradients;

  constexpr void operator()(int64_t plane) const {
    T* image = image_gradients + plane * shape.height * shape.width;
    for_windows_of(shape, plane,
                   [&](const PoolWindow& window) { image[argmax[window.out]] += gradient[window.out]; });
  }
};

template <class T>
struct AveragePoolItems {
  PoolShape shape;
  const T* images;
  T* output;

  constexpr void operator()(int64_t plane) const {
    const int64_t width = shape.width;
    const T* image = images + plane * shape.height * width;
    for_windows_of(shape, plane, [&](const PoolWindow& window) {
      T sum = 0;
      for (int64_t y = window.rows.begin; y < window.rows.end; ++y) {
        for (int64_t x = window.cols.begin; x < window.cols.end; ++x) sum += image[y * width + x];
      }
      output[window.out] = sum / window.count<T>();
    });
  }
};

template <class T>
struct AveragePoolGradientItems {
  PoolShape shape;
  const T* gradient;
  T* image_gradients;

  constexpr void operator()(int64_t plane) const {
    const int64_t width = shape.width;
    T* image = image_gradients + plane * shape.height * width;
    for_windows_of(shape, plane, [&](const PoolWindow& window) {
      const T slope = gradient[window.out] / window.count<T>();
      for (int64_t y = window.rows.begin; y < window.rows.end; ++y) {
        for (int64_t x = window.cols.begin; x < window.cols.end; ++x) image[y * width + x] += slope;
      }
    });
  }
};

// Item i is a plane of one of B images: its mean goes to means[i].
template <class T>
struct PlaneMeanItems {
  const T* images;
  int64_t plane;
  T* means;

  constexpr void operator()(int64_t i) const {
    const T* values = images + i * plane;
    means[i] = plane_sum<T>(plane, [values](int64_t p) { return values[p]; }) / static_cast<T>(plane);
  }
};

template <class T>
struct PlaneMeanGradientItems {
  const T* mean_gradients;
  int64_t plane;
  T* image_gradients;

  constexpr void operator()(int64_t i) const {
    T* values = image_gradients + i * plane;
    for (int64_t p = 0; p < plane; ++p) values[p] += mean_gradients[i] / static_cast<T>(plane);
  }
};

// Item i is a value of out [B, C P].
template <class T>
struct SetPlaneItems {
  const T* values;  // [C], null: zeros
  int64_t plane;
  Matrix<T> out;

  constexpr void operator()(int64_t i) const {
    out.data[i] = values == nullptr ? T(0) : values[i % out.cols / plane];
  }
};

// Item c is a channel, whose sum runs over the images in order.
template <class T>
struct ChannelSumItems {
  Matrix<const T> images;
  int64_t plane;
  T* sums;

  constexpr void operator()(int64_t c) const {
    for (int64_t b = 0; b < images.rows; ++b) {
      const T* values = images.data + b * images.cols + c * plane;
      sums[c] += plane_sum<T>(plane, [values](int64_t p) { return values[p]; });
    }
  }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_IMAGE_ITEMS_H_
