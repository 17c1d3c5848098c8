#include "math/pooling.h"

#include <algorithm>

#include "math/blocks.h"
#include "math/convolution.h"

namespace ps {

namespace {

// Returns the number of windows along `size` values.
int64_t count_windows(int64_t size, const PoolShape& shape, bool ceil_mode) {
  const int64_t windows = window_positions(size, shape.kernel, shape.stride, shape.padding);
  const int64_t next = windows * shape.stride - shape.padding;  // where another window would begin
  const bool left = next - shape.stride + shape.kernel < size + shape.padding;
  return windows + (ceil_mode && left && next < size ? 1 : 0);
}

// The values [begin, end) of one side of the image that a window covers.
struct WindowSide {
  int64_t begin, end;
};

WindowSide window_side(int64_t window, int64_t size, const PoolShape& shape) {
  const int64_t begin = window * shape.stride - shape.padding;
  return {std::max<int64_t>(0, begin), std::min(size, begin + shape.kernel)};
}

// One window: its plane among all images, the index of its value in the output, its rows and columns.
struct PoolWindow {
  int64_t plane, out;
  WindowSide rows, cols;

  template <class T>
  T count() const {
    return static_cast<T>((rows.end - rows.begin) * (cols.end - cols.begin));
  }
};

// Calls body(window) for every window of `examples` images.  Planes are independent; the windows of a plane
// are visited in order.
template <class Body>
void for_windows(Device& device, const PoolShape& shape, int64_t examples, const Body& body) {
  const int64_t out_plane = shape.out_height * shape.out_width;
  const int64_t work = out_plane * shape.kernel * shape.kernel;
  for_items(device, examples * shape.channels, work, [=](int64_t plane) {
    for (int64_t i = 0; i < out_plane; ++i) {
      body(PoolWindow{plane, plane * out_plane + i, window_side(i / shape.out_width, shape.height, shape),
                      window_side(i % shape.out_width, shape.width, shape)});
    }
  });
}

}  // namespace

PoolShape make_pool_shape(PoolShape sizes, bool ceil_mode) {
  PoolShape shape = sizes;
  shape.out_height = count_windows(shape.height, shape, ceil_mode);
  shape.out_width = count_windows(shape.width, shape, ceil_mode);
  return shape;
}

template <class T>
void max_pool(Device& device, const PoolShape& shape, Matrix<const T> images, Matrix<T> output,
              int64_t* argmax) {
  const int64_t width = shape.width, plane = shape.height * width;
  for_windows(device, shape, images.rows, [=](const PoolWindow& window) {
    const T* image = images.data + window.plane * plane;
    int64_t best = window.rows.begin * width + window.cols.begin;
    for (int64_t y = window.rows.begin; y < window.rows.end; ++y) {
      for (int64_t x = window.cols.begin; x < window.cols.end; ++x) {
        if (image[y * width + x] > image[best]) best = y * width + x;
      }
    }
    output.data[window.out] = image[best];
    argmax[window.out] = best;
  });
}

template <class T>
void add_max_pool_gradients(Device& device, const PoolShape& shape, Matrix<const T> gradient,
                            const int64_t* argmax, Matrix<T> image_gradients) {
  const int64_t plane = shape.height * shape.width;
  for_windows(device, shape, gradient.rows, [=](const PoolWindow& window) {
    image_gradients.data[window.plane * plane + argmax[window.out]] += gradient.data[window.out];
  });
}

template <class T>
void average_pool(Device& device, const PoolShape& shape, Matrix<const T> images, Matrix<T> output) {
  const int64_t width = shape.width, plane = shape.height * width;
  for_windows(device, shape, images.rows, [=](const PoolWindow& window) {
    const T* image = images.data + window.plane * plane;
    T sum = 0;
    for (int64_t y = window.rows.begin; y < window.rows.end; ++y) {
      for (int64_t x = window.cols.begin; x < window.cols.end; ++x) sum += image[y * width + x];
    }
    output.data[window.out] = sum / window.count<T>();
  });
}

template <class T>
void add_average_pool_gradients(Device& device, const PoolShape& shape, Matrix<const T> gradient,
                                Matrix<T> image_gradients) {
  const int64_t width = shape.width, plane = shape.height * width;
  for_windows(device, shape, gradient.rows, [=](const PoolWindow& window) {
    T* image = image_gradients.data + window.plane * plane;
    const T slope = gradient.data[window.out] / window.count<T>();
    for (int64_t y = window.rows.begin; y < window.rows.end; ++y) {
      for (int64_t x = window.cols.begin; x < window.cols.end; ++x) image[y * width + x] += slope;
    }
  });
}

#define PS_INSTANTIATE(T)                                                                          \
  template void max_pool(Device&, const PoolShape&, Matrix<const T>, Matrix<T>, int64_t*);         \
  template void add_max_pool_gradients(Device&, const PoolShape&, Matrix<const T>, const int64_t*, \
                                       Matrix<T>);                                                 \
  template void average_pool(Device&, const PoolShape&, Matrix<const T>, Matrix<T>);               \
  template void add_average_pool_gradients(Device&, const PoolShape&, Matrix<const T>, Matrix<T>);
PS_INSTANTIATE(float)
PS_INSTANTIATE(double)
#undef PS_INSTANTIATE

}  // namespace ps
