#include "math/convolution.h"

#include <algorithm>
#include <memory>

#include "math/blocks.h"
#include "math/kernels/kernels.h"

namespace ps {

int64_t window_positions(int64_t size, int64_t kernel, int64_t stride, int64_t padding) {
  const int64_t room = size + 2 * padding - kernel;
  return room < 0 ? 0 : room / stride + 1;
}

static int64_t weights_per_filter(const ConvolutionShape& shape) {
  return shape.channels / shape.groups * shape.kernel * shape.kernel;
}

ConvolutionShape make_convolution_shape(ConvolutionShape sizes) {
  // A product of fewer columns would use the packed weights too rarely; more columns do not fit the cache.
  constexpr int64_t kTilePixels = 256;
  ConvolutionShape shape = sizes;
  shape.out_height = window_positions(shape.height, shape.kernel, shape.stride, shape.padding);
  shape.out_width = window_positions(shape.width, shape.kernel, shape.stride, shape.padding);
  shape.rows_per_tile =
      std::clamp<int64_t>(kTilePixels / std::max<int64_t>(1, shape.out_width), 1, shape.out_height);
  shape.scratch_size = weights_per_filter(shape) * shape.rows_per_tile * shape.out_width;
  return shape;
}

// Returns the number of operations that one image takes.
static int64_t image_work(const ConvolutionShape& shape) {
  return shape.filters * weights_per_filter(shape) * shape.out_height * shape.out_width;
}

// Calls body(image, scratch) for every image of [begin, end).
template <class T, class Body>
static void for_images(const ConvolutionShape& shape, int64_t begin, int64_t end, Body&& body) {
  auto scratch = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(shape.scratch_size));
  for (int64_t image = begin; image < end; ++image) body(image, scratch.get());
}

template <class T>
void convolve(Device& device, const ConvolutionShape& shape, Matrix<const T> images, const T* weight,
              Matrix<T> out) {
  device.for_each(images.rows, block_items(image_work(shape)), [&](int64_t begin, int64_t end) {
    for_images<T>(shape, begin, end, [&](int64_t i, T* scratch) {
      math_kernels<T>(device.cpu()).convolve(shape, images.row(i), weight, scratch, out.row(i));
    });
  });
}

template <class T>
void add_convolution_image_gradients(Device& device, const ConvolutionShape& shape,
                                     Matrix<const T> out_gradients, const T* weight,
                                     Matrix<T> image_gradients) {
  device.for_each(image_gradients.rows, block_items(image_work(shape)), [&](int64_t begin, int64_t end) {
    for_images<T>(shape, begin, end, [&](int64_t i, T* scratch) {
      math_kernels<T>(device.cpu())
          .convolution_image_gradient(shape, out_gradients.row(i), weight, scratch, image_gradients.row(i));
    });
  });
}

// Each group of images gets partial sums of its own.  There are enough groups for the cores of a machine, and
// few enough that the sums take little memory.
static int64_t num_partial_sums(int64_t images, int64_t weights) {
  constexpr int64_t kMost = 16, kMostValues = 8 << 20;
  return std::clamp<int64_t>(kMostValues / weights, 1, std::min(kMost, images));
}

template <class T>
void add_convolution_weight_gradient(Device& device, const ConvolutionShape& shape, Matrix<const T> images,
                                     Matrix<const T> out_gradients, std::vector<T>& partial_sums,
                                     T* weight_gradient) {
  if (images.rows == 0) return;
  const int64_t weights = shape.filters * weights_per_filter(shape);
  const int64_t groups = num_partial_sums(images.rows, weights);
  partial_sums.resize(static_cast<size_t>(groups * weights));
  device.run(groups, [&](int64_t group) {
    T* sums = &partial_sums[static_cast<size_t>(group * weights)];
    std::fill_n(sums, weights, T(0));
    const int64_t begin = images.rows * group / groups, end = images.rows * (group + 1) / groups;
    for_images<T>(shape, begin, end, [&](int64_t i, T* scratch) {
      math_kernels<T>(device.cpu())
          .convolution_weight_gradient(shape, images.row(i), out_gradients.row(i), scratch, sums);
    });
  });
  device.for_each(weights, block_items(groups), [&](int64_t begin, int64_t end) {
    for (int64_t group = 0; group < groups; ++group) {
      const T* sums = &partial_sums[static_cast<size_t>(group * weights)];
      for (int64_t i = begin; i < end; ++i) weight_gradient[i] += sums[i];
    }
  });
}

#define PS_INSTANTIATE(T)                                                                                    \
  template void convolve(Device&, const ConvolutionShape&, Matrix<const T>, const T*, Matrix<T>);            \
  template void add_convolution_image_gradients(Device&, const ConvolutionShape&, Matrix<const T>, const T*, \
                                                Matrix<T>);                                                  \
  template void add_convolution_weight_gradient(Device&, const ConvolutionShape&, Matrix<const T>,           \
                                                Matrix<const T>, std::vector<T>&, T*);
PS_INSTANTIATE(float)
PS_INSTANTIATE(double)
#undef PS_INSTANTIATE

}  // namespace ps
