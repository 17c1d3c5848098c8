// GPUs, of a build with CUDA.  cuda_absent.cc takes the place of this source in others.
#include "base/error.h"
#include "device/cuda/table_rows.h"

namespace ps {

std::unique_ptr<RowDevice> make_cuda_device(int number) {
  try {
    return make_table_device(std::make_unique<gpu::Device>(number));
  } catch (const Error& error) {
    fail(Code::kUsage, "device.type: 'cuda:", number, "': ", error.message());
  }
}

}  // namespace ps
