#include "math/convolution.h"

#include <algorithm>
#include <memory>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/dense_kernels.h"
#include "math/gemm.h"
#include "math/items/convolution_items.h"
#include "math/kernels/kernels.h"

namespace ps {

// The first window begins at -padding; the last one must end at or before size + padding.
int64_t window_positions(int64_t size, int64_t kernel, int64_t stride, int64_t padding) {
  const int64_t room = size + 2 * padding - kernel;
  return room < 0 ? 0 : room / stride + 1;
}

// Returns C/G k k: a filter sees the channels of its own group alone.
static int64_t weights_per_filter(const ConvolutionShape& shape) {
  return shape.channels / shape.groups * shape.kernel * shape.kernel;
}

// A tile is a number of whole rows of the image out, about kTilePixels pixels, whose columns
// math/kernels/convolution.cc unfolds at once.  scratch_size is the size of these columns.
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

namespace {

// The matrices of one part of a convolution on a device with memory of its own, as ConvolutionPart says.
template <class T>
struct PartMatrices {
  ConvolutionPart part;
  Matrix<T> columns, filters;

  template <class W>
  Matrix<W> of_group(W* weight) const {
    return {weight + part.group * part.filters() * part.depth(), part.filters(), part.depth()};
  }
};

// Calls body(matrices) for every part.  A part has the pixels of one group of channels; it has as many pixels as
// fit `most_values` values of columns and products, so that the memory stays bounded for any batch.
template <class T, class Body>
void for_parts(Device& device, const ConvolutionShape& shape, int64_t images, ConvolutionScratch<T>& scratch,
               const Body& body) {
  const int64_t all = images * shape.out_height * shape.out_width;
  const int64_t depth = weights_per_filter(shape), filters = shape.filters / shape.groups;
  const int64_t pixels =
      std::clamp<int64_t>(scratch.most_values / (depth + filters), 1, std::max<int64_t>(1, all));
  scratch.columns.resize(device, depth * pixels);
  scratch.products.resize(device, filters * pixels);
  for (int64_t begin = 0; begin < all; begin += pixels) {
    const int64_t end = std::min(all, begin + pixels);
    for (int64_t group = 0; group < shape.groups; ++group) {
      body(PartMatrices<T>{{shape, group, begin, end},
                           {scratch.columns.data(), depth, end - begin},
                           {scratch.products.data(), filters, end - begin}});
    }
  }
}

// columns [C/G k k, pixels] <- for each pixel of the part, the values of the images that a filter covers
// there, 0 in the padding.
template <class T>
void unfold(Device& device, const PartMatrices<T>& m, Matrix<const T> images) {
  for_items(device, m.columns.size(), 1, UnfoldItems<T>{m.part, images.data, m.columns.data});
}

// filters [F/G, pixels] <- the gradients of the outputs of the group, of all pixels of the part side by
// side.
template <class T>
void copy_filters(Device& device, const PartMatrices<T>& m, Matrix<const T> out_gradients) {
  for_items(device, m.filters.size(), 1, CopyFilterItems<T>{m.part, out_gradients.data, m.filters.data});
}

template <class T>
void clear(Device& device, Matrix<T> matrix) {
  fill_values(device, T(0), matrix.size(), matrix.data);
}

// For each part: unfolds the images into columns, multiplies the weights by them, and adds the product to the
// images out.
template <class T>
void convolve_there(Device& device, const ConvolutionShape& shape, Matrix<const T> images, const T* weight,
                    ConvolutionScratch<T>& scratch, Matrix<T> out) {
  for_parts(device, shape, images.rows, scratch, [&](const PartMatrices<T>& m) {
    unfold(device, m, images);
    clear(device, m.filters);
    add_product<T>(device, m.of_group(weight), m.columns, m.filters);
    for_items(device, m.filters.size(), 1, AddFilterItems<T>{m.part, m.filters.data, out.data});
  });
}

// For each part: copies the gradients of its filters, multiplies the transposed weights by them, and folds the
// columns that result back into the images.  An item of the fold is one value of an image, which gathers from
// all windows that cover it, so that every sum has one writer.
template <class T>
void add_image_gradients_there(Device& device, const ConvolutionShape& shape, Matrix<const T> out_gradients,
                               const T* weight, ConvolutionScratch<T>& scratch, Matrix<T> image_gradients) {
  const int64_t out_plane = shape.out_height * shape.out_width, plane = shape.height * shape.width;
  for_parts(device, shape, image_gradients.rows, scratch, [&](const PartMatrices<T>& m) {
    copy_filters(device, m, out_gradients);
    clear(device, m.columns);
    add_product_transposed_left<T>(device, m.of_group(weight), m.filters, m.columns);
    const int64_t first = m.part.begin / out_plane, last = (m.part.end - 1) / out_plane;
    for_items(device, (last - first + 1) * m.part.channels() * plane, m.part.window(),
              FoldItems<T>{m.part, first, m.columns.data, image_gradients.data});
  });
}

// For each part: multiplies the gradients of its filters by the transposed columns.  Parts add to the weights
// one after the other, in the order of their pixels.
template <class T>
void add_weight_gradient_there(Device& device, const ConvolutionShape& shape, Matrix<const T> images,
                               Matrix<const T> out_gradients, ConvolutionScratch<T>& scratch,
                               T* weight_gradient) {
  for_parts(device, shape, images.rows, scratch, [&](const PartMatrices<T>& m) {
    unfold(device, m, images);
    copy_filters(device, m, out_gradients);
    add_product_transposed_right<T>(device, m.filters, m.columns, m.of_group(weight_gradient));
  });
}

}  // namespace

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
              ConvolutionScratch<T>& scratch, Matrix<T> out) {
  if (device.kernels() != nullptr) return convolve_there(device, shape, images, weight, scratch, out);
  device.for_each(images.rows, block_items(image_work(shape)), [&](int64_t begin, int64_t end) {
    for_images<T>(shape, begin, end, [&](int64_t i, T* columns) {
      math_kernels<T>(device.cpu()).convolve(shape, images.row(i), weight, columns, out.row(i));
    });
  });
}

template <class T>
void add_convolution_image_gradients(Device& device, const ConvolutionShape& shape,
                                     Matrix<const T> out_gradients, const T* weight,
                                     ConvolutionScratch<T>& scratch, Matrix<T> image_gradients) {
  if (device.kernels() != nullptr)
    return add_image_gradients_there(device, shape, out_gradients, weight, scratch, image_gradients);
  device.for_each(image_gradients.rows, block_items(image_work(shape)), [&](int64_t begin, int64_t end) {
    for_images<T>(shape, begin, end, [&](int64_t i, T* columns) {
      math_kernels<T>(device.cpu())
          .convolution_image_gradient(shape, out_gradients.row(i), weight, columns, image_gradients.row(i));
    });
  });
}

// Each group of images gets partial sums of its own.  There are enough groups for the cores of a machine, and
// few enough that the sums take little memory.
static int64_t num_partial_sums(int64_t images, int64_t weights) {
  constexpr int64_t kMost = 16, kMostValues = 8 << 20;
  return std::clamp<int64_t>(kMostValues / weights, 1, std::min(kMost, images));
}

// All images add to the same weights.  So that threads do not write to the same sums, images are divided into
// `groups`, whose number depends on the shapes alone.  First each group is summed, image by image, into an array
// of its own; then the arrays are added to weight_gradient in the order of the groups.
template <class T>
void add_convolution_weight_gradient(Device& device, const ConvolutionShape& shape, Matrix<const T> images,
                                     Matrix<const T> out_gradients, ConvolutionScratch<T>& scratch,
                                     T* weight_gradient) {
  if (images.rows == 0) return;
  if (device.kernels() != nullptr)
    return add_weight_gradient_there(device, shape, images, out_gradients, scratch, weight_gradient);
  const int64_t weights = shape.filters * weights_per_filter(shape);
  const int64_t groups = num_partial_sums(images.rows, weights);
  std::vector<T>& partial_sums = scratch.partial_sums;
  partial_sums.resize(static_cast<size_t>(groups * weights));
  device.run(groups, [&](int64_t group) {
    T* sums = &partial_sums[static_cast<size_t>(group * weights)];
    std::fill_n(sums, weights, T(0));
    const int64_t begin = images.rows * group / groups, end = images.rows * (group + 1) / groups;
    for_images<T>(shape, begin, end, [&](int64_t i, T* columns) {
      math_kernels<T>(device.cpu())
          .convolution_weight_gradient(shape, images.row(i), out_gradients.row(i), columns, sums);
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
  template void convolve(Device&, const ConvolutionShape&, Matrix<const T>, const T*,                        \
                         ConvolutionScratch<T>&, Matrix<T>);                                                 \
  template void add_convolution_image_gradients(Device&, const ConvolutionShape&, Matrix<const T>, const T*, \
                                                ConvolutionScratch<T>&, Matrix<T>);                          \
  template void add_convolution_weight_gradient(Device&, const ConvolutionShape&, Matrix<const T>,           \
                                                Matrix<const T>, ConvolutionScratch<T>&, T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
