// The lines of Criteo, with and without labels.
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::DataOptions options;
  options.format = "criteo";
  options.dim = 1000;
  ps::fuzz_reader(options, data, size);
  return 0;
}
