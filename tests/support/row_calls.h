// The options of rows on a device, and a step of them.  Used by the tests of several devices as one.
#ifndef PS_TESTS_SUPPORT_ROW_CALLS_H_
#define PS_TESTS_SUPPORT_ROW_CALLS_H_

#include <cstdint>
#include <optional>

#include "device/row_device.h"
#include "optim/current_step.h"

namespace ps {

// Room for `rows` rows, and for calls of so many keys.
inline CachedRowsOptions row_options(uint32_t width, uint32_t arrays, uint32_t most_keys, uint64_t rows) {
  CachedRowsOptions options;
  options.width = width;
  options.arrays = arrays;
  options.rows = rows;
  options.most_keys = most_keys;
  return options;
}

// A step of rows with one array of state.
inline CurrentStep<float> momentum_step() {
  return {MomentumStep<float, false>{0.9f, 0.1f, 0, 0.01f, 0.001f}, 0.75f, std::nullopt};
}

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_ROW_CALLS_H_
