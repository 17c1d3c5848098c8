#include "math/pooling.h"

#include <algorithm>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/convolution.h"

namespace ps {

namespace {

// Returns the number of windows along `size` values.  With ceil_mode there is one more if the last window
// ends before the padded end (`left`), and if the further one begins inside the image: a window of padding
// alone would have no value.
int64_t count_windows(int64_t size, const PoolShape& shape, bool ceil_mode) {
  const int64_t windows = window_positions(size, shape.kernel, shape.stride, shape.padding);
  const int64_t next = windows * shape.stride - shape.padding;  // where another window would begin
  const bool left = next - shape.stride + shape.kernel < size + shape.padding;
  return windows + (ceil_mode && left && next < size ? 1 : 0);
}

// Planes are independent; the windows of a plane are visited in order.
template <class Body>
void for_planes(Device& device, const PoolShape& shape, int64_t examples, const Body& body) {
  const int64_t work = shape.out_height * shape.out_width * shape.kernel * shape.kernel;
  for_items(device, examples * shape.channels, work, body);
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
  for_planes(device, shape, images.rows, MaxPoolItems<T>{shape, images.data, output.data, argmax});
}

template <class T>
void add_max_pool_gradients(Device& device, const PoolShape& shape, Matrix<const T> gradient,
                            const int64_t* argmax, Matrix<T> image_gradients) {
  for_planes(device, shape, gradient.rows,
             MaxPoolGradientItems<T>{shape, gradient.data, argmax, image_gradients.data});
}

template <class T>
void average_pool(Device& device, const PoolShape& shape, Matrix<const T> images, Matrix<T> output) {
  for_planes(device, shape, images.rows, AveragePoolItems<T>{shape, images.data, output.data});
}

template <class T>
void add_average_pool_gradients(Device& device, const PoolShape& shape, Matrix<const T> gradient,
                                Matrix<T> image_gradients) {
  for_planes(device, shape, gradient.rows,
             AveragePoolGradientItems<T>{shape, gradient.data, image_gradients.data});
}

#define PS_INSTANTIATE(T)                                                                          \
  template void max_pool(Device&, const PoolShape&, Matrix<const T>, Matrix<T>, int64_t*);         \
  template void add_max_pool_gradients(Device&, const PoolShape&, Matrix<const T>, const int64_t*, \
                                       Matrix<T>);                                                 \
  template void average_pool(Device&, const PoolShape&, Matrix<const T>, Matrix<T>);               \
  template void add_average_pool_gradients(Device&, const PoolShape&, Matrix<const T>, Matrix<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
