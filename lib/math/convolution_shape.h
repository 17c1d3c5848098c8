// The sizes of a convolution, as plain numbers.  Made by make_convolution_shape (math/convolution.h); read by
// the kernels, for which it has no functions.
#ifndef PS_MATH_CONVOLUTION_SHAPE_H_
#define PS_MATH_CONVOLUTION_SHAPE_H_

#include <cstdint>

namespace ps {

// An image is [channels, height, width], channel by channel, row by row.
//   filters [filters, channels / groups * kernel * kernel] of kernel x kernel values, `stride` apart, over
//   the image with `padding` zeros around it, make an image [filters, out_height, out_width].
// With groups, filters [g F/G, (g + 1) F/G) see channels [g C/G, (g + 1) C/G) alone.
struct ConvolutionShape {
  int64_t channels, height, width;
  int64_t filters, kernel, stride, padding, groups;
  int64_t out_height, out_width;
  int64_t rows_per_tile;  // of the image out: a product takes so many at a time
  int64_t scratch_size;   // values of a tile's columns
};

}  // namespace ps

#endif  // PS_MATH_CONVOLUTION_SHAPE_H_
