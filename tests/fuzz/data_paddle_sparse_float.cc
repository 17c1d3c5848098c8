// The text of PaddlePaddle's sparse_float demo.
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::DataOptions options;
  options.format = "paddle_sparse_float";
  options.dim = 10000000;
  ps::fuzz_reader(options, data, size);
  return 0;
}
