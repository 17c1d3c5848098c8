// The residuals of gradients and the states of their codecs, as a checkpoint stores them.
#include <cstring>

#include "base/error.h"
#include "optim/synthetic_parameter.h"
#include "ps/client/codec_chunks.h"
#include "ps/client/residual_chunks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ps::ParameterSpec specs[] = {
      ps::synthetic_parameter("table", ps::ParameterKind::kRows, true, 20, 3),
      ps::synthetic_parameter("embedding", ps::ParameterKind::kRows, false, 20, 1),
      ps::synthetic_parameter("matrix", ps::ParameterKind::kMatrix, false, 20, 2)};
  const std::string_view chunk(reinterpret_cast<const char*>(data), size);
  std::vector<float> whole(40);
  ps::ResidualRows keyed(3, 1000);
  try {
    if (ps::is_of_kind(chunk, ps::StateChunkKind::kCodecs)) {
      ps::PushCodecs codecs({{"type", "low_rank"}}, specs, 0);
      ps::CodecStates().restore(chunk, codecs);
      return 0;
    }
    ps::read_error_chunk(chunk, specs,
                         [&](uint32_t p, ps::ErrorRows rows, uint64_t key, std::string_view error) {
                           float* to = nullptr;
                           if (p == 0) to = keyed.put_back(key, rows == ps::ErrorRows::kYoung);
                           if (p == 2) to = &whole[key * 2];
                           if (to != nullptr) std::memcpy(to, error.data(), error.size());
                         });
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() == ps::Code::kCorrupt);
  }
  return 0;
}
