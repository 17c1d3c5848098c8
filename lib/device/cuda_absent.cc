// A build without CUDA has no GPUs.
#include "base/error.h"
#include "device/row_device.h"

namespace ps {

std::unique_ptr<RowDevice> make_cuda_device(int number) {
  fail(Code::kUsage, "device.type: 'cuda:", number,
       "': this pskit is built without CUDA; 'emulated' runs the same code on the processor, slowly");
}

}  // namespace ps
