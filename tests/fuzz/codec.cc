// Encoded gradients, by the decoders of all codecs and of sparse vectors.  The first byte says which one, the
// second how many values are expected.
#include <cmath>

#include "base/error.h"
#include "codec/codec.h"
#include "codec/shared_scale.h"
#include "codec/sparse_vector.h"
#include "config/json.h"

namespace {

void decode(uint8_t which, size_t size, std::string_view bytes) {
  const auto codecs = ps::codec_catalog();
  std::vector<float> values(size * 7);
  if (which < codecs.size()) {
    const ps::Json object = {{"type", codecs[which]->name}};
    ps::make_codec(object, "codec", {.rows = 0, .cols = 7})->decode(bytes, values);
  } else if (which - codecs.size() < std::size(ps::kSparseEncodings)) {
    ps::SparseVector part;
    ps::decode_sparse(ps::kSparseEncodings[which - codecs.size()], bytes, size * 1000, part);
    PS_CHECK(part.index.size() == part.value.size());
    for (size_t i = 0; i < part.size(); ++i) {
      PS_CHECK(part.index[i] < size * 1000 && std::isfinite(part.value[i]));
      PS_CHECK(i == 0 || part.index[i - 1] < part.index[i]);
    }
  } else {
    const std::string_view parts[] = {bytes, bytes};
    ps::sum_shared_scale({.chunk = 64, .bits = which % 2 == 0 ? 8 : 16}, parts, values);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  try {
    decode(data[0], data[1], {reinterpret_cast<const char*>(data) + 2, size - 2});
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() == ps::Code::kCorrupt);
  }
  return 0;
}
