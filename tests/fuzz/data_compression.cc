// gzip and zstd around libsvm text.
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::DataOptions options;
  options.format = "libsvm";
  ps::fuzz_reader(options, data, size);
  return 0;
}
