// The text of PaddlePaddle's sparse_binary demo.
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::DataOptions options;
  options.format = "paddle_sparse_binary";
  options.dim = 18182296;
  ps::fuzz_reader(options, data, size);
  return 0;
}
