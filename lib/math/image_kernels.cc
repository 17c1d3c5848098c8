#include "math/image_kernels.h"

#include <algorithm>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/items/image_items.h"

namespace ps {

template <class T>
void set_planes(Device& device, const T* values, int64_t channels, Matrix<T> out) {
  const int64_t plane = out.cols / channels;
  if (run_there(device, out.size(), SetPlaneItems<T>{values, plane, out})) return;
  for_items(device, out.rows, out.cols, [=](int64_t b) {
    for (int64_t c = 0; c < channels; ++c)
      std::fill_n(out.row(b) + c * plane, plane, values ? values[c] : T(0));
  });
}

template <class T>
void add_plane_sums(Device& device, Matrix<const T> images, int64_t channels, T* sums) {
  const int64_t plane = images.cols / channels;
  for_items(device, channels, images.rows * plane, ChannelSumItems<T>{images, plane, sums});
}

template <class T>
void average_planes(Device& device, Matrix<const T> images, Matrix<T> means) {
  const int64_t plane = images.cols / means.cols;
  for_items(device, means.size(), plane, PlaneMeanItems<T>{images.data, plane, means.data});
}

template <class T>
void add_average_gradients(Device& device, Matrix<const T> mean_gradients, Matrix<T> image_gradients) {
  const int64_t plane = image_gradients.cols / mean_gradients.cols;
  for_items(device, mean_gradients.size(), plane,
            PlaneMeanGradientItems<T>{mean_gradients.data, plane, image_gradients.data});
}

#define PS_INSTANTIATE(T)                                              \
  template void set_planes(Device&, const T*, int64_t, Matrix<T>);     \
  template void add_plane_sums(Device&, Matrix<const T>, int64_t, T*); \
  template void average_planes(Device&, Matrix<const T>, Matrix<T>);   \
  template void add_average_gradients(Device&, Matrix<const T>, Matrix<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
