#include "device/cuda/table_rows.h"
#include "device/row_device.h"

namespace ps {

// Threads run by lane, which is fastest; the tests of device code use other orders.
std::unique_ptr<RowDevice> make_emulated_device() {
  return make_table_device(std::make_unique<gpu::Device>(gpu::emulated::EmulatorOptions()));
}

}  // namespace ps
