// MultiSlot text.
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::DataOptions options;
  options.format = "multislot";
  options.slots = {
      {"age", "dense", 2}, {"city", "sparse", 1000}, {"click", "dense", 1}, {"words", "sparse", 0}};
  options.label_slot = "click";
  ps::fuzz_reader(options, data, size);
  return 0;
}
