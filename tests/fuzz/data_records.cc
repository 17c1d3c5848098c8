// The binary stream of examples.
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::DataOptions options;
  options.format = "records";
  ps::fuzz_reader(options, data, size);
  return 0;
}
