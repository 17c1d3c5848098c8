// libsvm text, read as dense values from base 1.
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::DataOptions options;
  options.format = "libsvm";
  options.dim = 16;
  options.dense = true;
  options.index_base = 1;
  ps::fuzz_reader(options, data, size);
  return 0;
}
