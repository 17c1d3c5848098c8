// The items of convolutions on devices with memory of their own (math/convolution.h), which multiply matrices of many
// images at once.  The processor has products of tiles instead, math/kernels/convolution.cc.
#ifndef PS_MATH_ITEMS_CONVOLUTION_ITEMS_H_
#define PS_MATH_ITEMS_CONVOLUTION_ITEMS_H_

#include <algorithm>
#include <cstdint>

#include "math/convolution_shape.h"

namespace ps {

// A pixel of the images out.
struct PixelOut {
  int64_t image, y, x;
};

// The pixels [begin, end) of the images out, counted over [B, OH, OW], in the filters of one group.  One product
// computes them:
//   filters [F/G, P] = weight [F/G, C/G k k] columns [C/G k k, P],  with P = end - begin
// where column p holds the values that the filters see at pixel begin + p: zeros outside of the image.
struct ConvolutionPart {
  ConvolutionShape shape;
  int64_t group, begin, end;

  constexpr int64_t pixels() const { return end - begin; }
  constexpr int64_t filters() const { return shape.filters / shape.groups; }
  constexpr int64_t channels() const { return shape.channels / shape.groups; }
  constexpr int64_t window() const { return shape.kernel * shape.kernel; }
  constexpr int64_t depth() const { return channels() * window(); }
  constexpr int64_t out_plane() const { return shape.out_height * shape.out_width; }

  constexpr PixelOut pixel(int64_t p) const {
    const int64_t line = (begin + p) / shape.out_width;
    return {line / shape.out_height, line % shape.out_height, (begin + p) % shape.out_width};
  }

  // The index in the images in, [B, C, H, W], of row y and column x of a channel of the group.
  constexpr int64_t index_in(int64_t image, int64_t channel, int64_t y, int64_t x) const {
    const int64_t plane = image * shape.channels + group * channels() + channel;
    return (plane * shape.height + y) * shape.width + x;
  }

  // The index in the images out, [B, F, OH, OW], of value i of `filters`.
  constexpr int64_t index_out(int64_t i) const {
    const int64_t pixel = begin + i % pixels(), filter = group * filters() + i / pixels();
    return (pixel / out_plane() * shape.filters + filter) * out_plane() + pixel % out_plane();
  }
};

// Item i is a value of `columns`.
template <class T>
struct UnfoldItems {
  ConvolutionPart part;
  const T* images;
  T* columns;

  constexpr void operator()(int64_t i) const {
    const ConvolutionShape& shape = part.shape;
    const PixelOut out = part.pixel(i % part.pixels());
    const int64_t weight = i / part.pixels(), in_window = weight % part.window();
    const int64_t y = out.y * shape.stride - shape.padding + in_window / shape.kernel;
    const int64_t x = out.x * shape.stride - shape.padding + in_window % shape.kernel;
    const bool inside = y >= 0 && y < shape.height && x >= 0 && x < shape.width;
    columns[i] = inside ? images[part.index_in(out.image, weight / part.window(), y, x)] : T(0);
  }
};

// The windows [begin, end) of one side of the image that see its value number `at`.
struct WindowsOver {
  int64_t begin, end;
};

constexpr WindowsOver windows_over(int64_t at, int64_t windows, const ConvolutionShape& shape) {
  const int64_t last = at + shape.padding,
                before = last - shape.kernel;  // a window that begins at `before` ends too early
  const int64_t begin = before < 0 ? 0 : before / shape.stride + 1;
  return {begin, std::min(windows, last / shape.stride + 1)};
}

// The transpose of UnfoldItems.  Item i is a value of the group's channels of images [first_image, ...): it gets the sum of
// the values of `columns` that were copied from it, in the order of their pixels.
template <class T>
struct FoldItems {
  ConvolutionPart part;
  int64_t first_image;
  const T* columns;
  T* images;

  constexpr void operator()(int64_t i) const {
    const ConvolutionShape& shape = part.shape;
    const int64_t x = i % shape.width, y = i / shape.width % shape.height;
    const int64_t plane = i / (shape.width * shape.height), channel = plane % part.channels();
    const int64_t image = first_image + plane / part.channels();
    const WindowsOver rows = windows_over(y, shape.out_height, shape);
    const WindowsOver cols = windows_over(x, shape.out_width, shape);
    T& to = images[part.index_in(image, channel, y, x)];
    T sum = 0;
    for (int64_t v = rows.begin; v < rows.end; ++v) {
      const int64_t ky = y + shape.padding - v * shape.stride;
      for (int64_t u = cols.begin; u < cols.end; ++u) {
        const int64_t kx = x + shape.padding - u * shape.stride;
        const int64_t pixel = (image * shape.out_height + v) * shape.out_width + u;
        if (pixel < part.begin || pixel >= part.end) continue;
        const int64_t weight = channel * part.window() + ky * shape.kernel + kx;
        sum += columns[weight * part.pixels() + pixel - part.begin];
      }
    }
    to += sum;
  }
};

// Item i is a value of `filters`: it is copied from the images out, or added to them.
template <class T>
struct CopyFilterItems {
  ConvolutionPart part;
  const T* images;
  T* filters;

  constexpr void operator()(int64_t i) const { filters[i] = images[part.index_out(i)]; }
};

template <class T>
struct AddFilterItems {
  ConvolutionPart part;
  const T* filters;
  T* images;

  constexpr void operator()(int64_t i) const { images[part.index_out(i)] += filters[i]; }
};

}  // namespace ps

#endif  // PS_MATH_ITEMS_CONVOLUTION_ITEMS_H_
