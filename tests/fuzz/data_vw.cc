// Vowpal Wabbit's text: all namespaces in one slot, and each in a slot of its own.
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::DataOptions options;
  options.format = "vw";
  ps::fuzz_reader(options, data, size);
  options.slots = {{"user", "sparse", 1000}, {"item", "sparse", 0}, {"features", "sparse", 0}};
  ps::fuzz_reader(options, data, size);
  return 0;
}
