#include "device/row_device.h"

#include "base/error.h"

namespace ps {

void RowDevice::look_up_all(std::span<const RowsLookUp> look_ups) {
  for (const RowsLookUp& each : look_ups) {
    PS_CHECK(each.pointers == nullptr);  // gives_pointers is false
    each.rows->look_up(each.keys, each.found, each.stamps, nullptr);
  }
}

void RowDevice::advance_all(std::span<const RowsAdvance> advances) {
  for (const RowsAdvance& each : advances)
    each.rows->advance(each.keys, each.touched, each.stamp, each.which, each.changes);
}

void RowDevice::read_all(std::span<const RowsRead> reads) {
  for (const RowsRead& read : reads) {
    PS_CHECK(read.pointers == nullptr);  // gives_pointers is false
    read.rows->read(read.keys, read.weights);
  }
}

void RowDevice::step_all(std::span<const RowsStep> steps) {
  for (const RowsStep& step : steps)  // keys say as much as pointers
    step.rows->step(step.keys, step.stamp, step.gradients, step.step, step.scale);
}

}  // namespace ps
