// A safetensors file: every tensor of it is read, and checked against its checksum.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "fuzz/memory_path.h"

static void read_all(const std::string& path) {
  ps::SafetensorsReader reader(path);
  std::array<float, 16> floats;
  for (const ps::TensorInfo& tensor : reader.tensors()) {
    const auto count = static_cast<size_t>(std::min<int64_t>(tensor.elements(), floats.size()));
    try {
      reader.read_floats(tensor, tensor.elements() - static_cast<int64_t>(count),
                         std::span(floats).first(count));
    } catch (const ps::Error&) {
      // It is not of floats, or damaged.
    }
    reader.verify(tensor);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ps::MemoryPath file;
  file.fill(data, size);
  try {
    read_all(file.path());
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() != ps::Code::kInternal);
  }
  return 0;
}
