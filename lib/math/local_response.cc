#include <algorithm>
#include <cmath>

#include "base/reals.h"
#include "math/blocks.h"
#include "math/normalization.h"

namespace ps {

namespace {

// Calls body(the first value of a channel of an image, the channel).  A power takes as long as some 32
// multiplications.
template <class T, class Body>
void for_channels(Device& device, const LocalResponse<T>& norm, int64_t examples, const Body& body) {
  constexpr int64_t kWorkOfPower = 32;
  for_items(device, examples * norm.channels, (kWorkOfPower + 2 * norm.reach) * norm.plane,
            [=](int64_t i) { body(i * norm.plane, i % norm.channels); });
}

// Calls body(first value of channel j) for the channels j around c, in order; `at` is the first value of
// channel c.
template <class T, class Body>
void for_neighbours(const LocalResponse<T>& norm, int64_t at, int64_t c, const Body& body) {
  for (int64_t j = norm.begin(c); j < norm.end(c); ++j) body(at + (j - c) * norm.plane);
}

}  // namespace

// s_c = k + alpha x sum of x_j^2 over the channels j around c, at each pixel of the plane; y_c = x_c /
// s_c^beta.  A channel adds the planes of its neighbours one after the other, so that the loop over the
// pixels is the inner one.
template <class T>
void local_response_norm(Device& device, const LocalResponse<T>& norm, Matrix<const T> images, T* sums,
                         Matrix<T> output) {
  if (run_there(device, images.size(), ResponseItems<T>{norm, images.data, sums, output.data})) return;
  for_channels(device, norm, images.rows, [=](int64_t at, int64_t c) {
    T* s = sums + at;
    std::fill_n(s, norm.plane, norm.k);
    for_neighbours(norm, at, c, [=](int64_t neighbour) {
      const T* x = images.data + neighbour;
      for (int64_t p = 0; p < norm.plane; ++p) s[p] += norm.alpha * x[p] * x[p];
    });
    const T* x = images.data + at;
    T* y = output.data + at;
    for (int64_t p = 0; p < norm.plane; ++p) y[p] = x[p] * std::pow(s[p], -norm.beta);
  });
}

// The formula has a direct part and a sum over the neighbours.  The first pass adds the direct part, and
// stores each channel's addend of the sums, ratios = dy_j x_j / s_j^(beta + 1), once: the second pass reads
// it for all channels around j.  The channels around c are those that have c around them, since the reach
// is the same on both sides.
template <class T>
void add_local_response_gradients(Device& device, const LocalResponse<T>& norm, Matrix<const T> images,
                                  Matrix<const T> output_gradient, const T* sums, T* ratios,
                                  Matrix<T> image_gradients) {
  const ResponseRatioItems<T> own{norm, images.data, output_gradient.data,
                                  sums, ratios,      image_gradients.data};
  if (run_there(device, images.size(), own)) {
    const ResponseGradientItems<T> others{norm, images.data, ratios, image_gradients.data};
    return static_cast<void>(run_there(device, images.size(), others));
  }
  for_channels(device, norm, images.rows, [=](int64_t at, int64_t) {
    const T *x = images.data + at, *slope = output_gradient.data + at, *s = sums + at;
    T *to = image_gradients.data + at, *ratio = ratios + at;
    for (int64_t p = 0; p < norm.plane; ++p) {
      const T direct = slope[p] * std::pow(s[p], -norm.beta);
      to[p] += direct;
      ratio[p] = direct * x[p] / s[p];
    }
  });
  for_channels(device, norm, images.rows, [=](int64_t at, int64_t c) {
    const T* x = images.data + at;
    T* to = image_gradients.data + at;
    for_neighbours(norm, at, c, [=](int64_t neighbour) {
      const T* ratio = ratios + neighbour;
      for (int64_t p = 0; p < norm.plane; ++p) to[p] -= 2 * norm.alpha * norm.beta * x[p] * ratio[p];
    });
  });
}

#define PS_INSTANTIATE(T)                                                                              \
  template void local_response_norm(Device&, const LocalResponse<T>&, Matrix<const T>, T*, Matrix<T>); \
  template void add_local_response_gradients(Device&, const LocalResponse<T>&, Matrix<const T>,        \
                                             Matrix<const T>, const T*, T*, Matrix<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
