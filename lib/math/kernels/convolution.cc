// Convolution of one image as products of matrices, by Eigen.  A tile of rows of the image out is unfolded
// into columns [C/G k k, pixels]: column p holds the values that filters see at pixel p, so that
//   out [F/G, pixels] += weight [F/G, C/G k k] columns
// A tile's columns fit the cache; those of a whole image would not.  Chellapilla et al., 2006.
#include "base/reals.h"
#include "math/kernels/eigen.h"
#include "math/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

namespace {

template <class T>
using Strided = Eigen::Map<Dense<T>, 0, Eigen::OuterStride<>>;
template <class T>
using ConstStrided = Eigen::Map<const Dense<T>, 0, Eigen::OuterStride<>>;

int64_t weights_per_filter(const ConvolutionShape& shape) {
  return shape.channels / shape.groups * shape.kernel * shape.kernel;
}

// Returns true if the columns of the image are the image itself.
bool is_pointwise(const ConvolutionShape& shape) {
  return shape.kernel == 1 && shape.stride == 1 && shape.padding == 0;
}

// Returns the range of pixels x of an output row at which column kx of the filter lies on the image: those
// with
//   0 <= x stride + kx - padding < width
// The range is cut to [0, out_width), and empty if kx never meets the image.
Block covered(const ConvolutionShape& shape, int64_t kx) {
  const int64_t before = shape.padding - kx, last = shape.width - 1 + before;
  const int64_t begin = before > 0 ? (before + shape.stride - 1) / shape.stride : 0;
  const int64_t end = last < 0 ? 0 : last / shape.stride + 1;
  const int64_t stop = end < shape.out_width ? end : shape.out_width;
  return {begin < stop ? begin : stop, stop};
}

// Calls body(line of columns, values of the image, first and last pixel) for every row of every plane of the
// columns; the values are null where that row of the filter lies above or below the image.
template <class Image, class T, class Body>
[[gnu::always_inline]] inline void for_column_rows(const ConvolutionShape& shape, Image* planes, Block rows,
                                                   T* columns, const Body& body) {
  T* line = columns;
  for (int64_t c = 0; c < shape.channels / shape.groups; ++c) {
    Image* plane = planes + c * shape.height * shape.width;
    for (int64_t k = 0; k < shape.kernel * shape.kernel; ++k) {
      const int64_t ky = k / shape.kernel, kx = k % shape.kernel;
      const Block pixels = covered(shape, kx);
      for (int64_t y = rows.begin; y < rows.end; ++y, line += shape.out_width) {
        const int64_t from = y * shape.stride + ky - shape.padding;
        const bool inside = from >= 0 && from < shape.height;
        body(line, inside ? plane + from * shape.width + kx - shape.padding : nullptr, pixels);
      }
    }
  }
}

// columns [C/G k k, rows of the tile x OW] <- the values of the image, row by row of the columns: row (c,
// ky, kx) has, for every pixel of the tile, the value of channel c that the filter's weight (ky, kx) meets,
// 0 in the padding.  With stride 1, the values of a row lie side by side in the image too; the loop for it
// stands by itself, so that it becomes a copy.
template <class T>
void unfold(const ConvolutionShape& shape, const T* planes, Block rows, T* columns) {
  const int64_t width = shape.out_width, stride = shape.stride;
  for_column_rows(shape, planes, rows, columns, [=](T* line, const T* values, Block pixels) {
    const Block copied = values ? pixels : Block{width, width};
    for (int64_t x = 0; x < copied.begin; ++x) line[x] = T(0);
    if (stride == 1) {
      for (int64_t x = copied.begin; x < copied.end; ++x) line[x] = values[x];
    } else {
      for (int64_t x = copied.begin; x < copied.end; ++x) line[x] = values[x * stride];
    }
    for (int64_t x = copied.end; x < width; ++x) line[x] = T(0);
  });
}

// The transpose of unfold: adds every value of the columns to the pixel from which it was copied.
template <class T>
void fold(const ConvolutionShape& shape, T* columns, Block rows, T* planes) {
  const int64_t stride = shape.stride;
  for_column_rows(shape, planes, rows, columns, [=](const T* line, T* values, Block pixels) {
    if (!values) return;
    for (int64_t x = pixels.begin; x < pixels.end; ++x) values[x * stride] += line[x];
  });
}

// Calls body(group, output rows) for every group and tile.
template <class Body>
[[gnu::always_inline]] inline void for_tiles(const ConvolutionShape& shape, const Body& body) {
  fix_order_of_sums();
  for (int64_t group = 0; group < shape.groups; ++group) {
    for (int64_t y = 0; y < shape.out_height; y += shape.rows_per_tile) {
      const int64_t end = y + shape.rows_per_tile;
      body(group, Block{y, end < shape.out_height ? end : shape.out_height});
    }
  }
}

// One tile of one group.
template <class T>
struct Tile {
  Tile(const ConvolutionShape& s, int64_t group, Block r)
      : shape(s),
        rows(r),
        filters(s.filters / s.groups),
        depth(weights_per_filter(s)),
        pixels((r.end - r.begin) * s.out_width),
        image_begin(group * (s.channels / s.groups) * s.height * s.width),
        out_begin(group * filters * s.out_height * s.out_width + r.begin * s.out_width),
        weight_begin(group * filters * depth) {}

  Eigen::Map<const Dense<T>> weight(const T* data) const { return {data + weight_begin, filters, depth}; }
  Eigen::Map<Dense<T>> weight(T* data) const { return {data + weight_begin, filters, depth}; }
  ConstStrided<T> out(const T* data) const { return {data + out_begin, filters, pixels, out_stride()}; }
  Strided<T> out(T* data) const { return {data + out_begin, filters, pixels, out_stride()}; }

  // The columns of a pointwise convolution are the image itself.
  Strided<T> image(T* data) const {
    return {data + image_begin + rows.begin * shape.width, depth, pixels, out_stride()};
  }
  ConstStrided<T> columns(const T* data, T* scratch) const {
    if (is_pointwise(shape))
      return {data + image_begin + rows.begin * shape.width, depth, pixels, out_stride()};
    unfold(shape, data + image_begin, rows, scratch);
    return {scratch, depth, pixels, Eigen::OuterStride<>(pixels)};
  }

  Eigen::OuterStride<> out_stride() const { return Eigen::OuterStride<>(shape.out_height * shape.out_width); }

  const ConvolutionShape& shape;
  const Block rows;
  const int64_t filters, depth, pixels, image_begin, out_begin, weight_begin;
};

}  // namespace

// Tile by tile: unfolds the tile into `columns`, and adds weight x columns to the rows of the tile in `out`.
template <class T>
void convolve(const ConvolutionShape& shape, const T* image, const T* weight, T* columns, T* out) {
  for_tiles(shape, [&](int64_t group, Block rows) {
    const Tile<T> tile(shape, group, rows);
    tile.out(out).noalias() += tile.weight(weight) * tile.columns(image, columns);
  });
}

// Tile by tile: columns = weightᵀ x the gradient of the tile; fold adds them to the image.  Neighbouring tiles
// overlap on the image, so one thread does all tiles of an image.
template <class T>
void convolution_image_gradient(const ConvolutionShape& shape, const T* out_gradient, const T* weight,
                                T* columns, T* image_gradient) {
  for_tiles(shape, [&](int64_t group, Block rows) {
    const Tile<T> tile(shape, group, rows);
    if (is_pointwise(shape)) {
      tile.image(image_gradient).noalias() += tile.weight(weight).transpose() * tile.out(out_gradient);
      return;
    }
    Eigen::Map<Dense<T>>(columns, tile.depth, tile.pixels).noalias() =
        tile.weight(weight).transpose() * tile.out(out_gradient);
    fold(shape, columns, rows, image_gradient + tile.image_begin);
  });
}

// Tile by tile: adds the gradient of the tile x columnsᵀ to the weights, in the order of the tiles.
template <class T>
void convolution_weight_gradient(const ConvolutionShape& shape, const T* image, const T* out_gradient,
                                 T* columns, T* weight_gradient) {
  for_tiles(shape, [&](int64_t group, Block rows) {
    const Tile<T> tile(shape, group, rows);
    tile.weight(weight_gradient).noalias() +=
        tile.out(out_gradient) * tile.columns(image, columns).transpose();
  });
}

#define PS_INSTANTIATE(T)                                                                        \
  template void convolve(const ConvolutionShape&, const T*, const T*, T*, T*);                   \
  template void convolution_image_gradient(const ConvolutionShape&, const T*, const T*, T*, T*); \
  template void convolution_weight_gradient(const ConvolutionShape&, const T*, const T*, T*, T*);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps::PS_CPU_NAMESPACE
