#include "math/dropout.h"

#include <cstdint>

#include "base/random.h"
#include "base/reals.h"
#include "math/blocks.h"
#include "math/device_kernels.h"

namespace ps {

// A value is dropped if its 32 random bits, as a number, are below rate 2^32.  The others are divided by
// the probability to stay, which keeps the mean, so that tests need no factors ("inverted dropout").
template <class T>
void draw_dropout(Device& device, uint64_t seed, double rate, Matrix<T> factors) {
  if (DeviceKernels* there = device.kernels().get()) {
    const uint64_t bytes = static_cast<uint64_t>(factors.size()) * sizeof(T);
    const Upload drawn = there->upload(bytes);
    draw_dropout<T>(device.host(), seed, rate, {static_cast<T*>(drawn.here), factors.rows, factors.cols});
    return there->copy(factors.data, drawn.there, bytes);
  }
  constexpr int64_t kWorkPerNumber = 8;
  const T factor = static_cast<T>(1 / (1 - rate));
  const double dropped = rate * 0x1p32;  // random numbers below it drop a value
  for_items(device, factors.rows, kWorkPerNumber * factors.cols, [=](int64_t b) {
    Random random(seed, static_cast<uint64_t>(b));
    T* row = factors.row(b);
    for (int64_t d = 0; d < factors.cols; ++d) row[d] = random.next32() < dropped ? T(0) : factor;
  });
}

#define PS_INSTANTIATE(T) template void draw_dropout(Device&, uint64_t, double, Matrix<T>);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
