#include "ps/client/residuals.h"

#include <algorithm>
#include <cstring>

#include "ps/client/residual_chunks.h"

namespace ps {

Residuals::Residuals(const std::vector<ParameterSpec>& specs, const RowTypes& types, int rank, CpuLevel cpu)
    : specs_(specs), types_(types), codecs_(types.push_codec, specs, rank, cpu), all_(specs.size()) {}

// Makes the residuals of a parameter when they are first used.  Parameters that are used by keys share the
// memory evenly.
Residuals::Residual& Residuals::made(size_t p) {
  Residual& one = all_[p];
  const ParameterSpec& spec = specs_[p];
  if (spec.kind == ParameterKind::kMatrix) {
    one.whole.resize(static_cast<size_t>(spec.rows * spec.cols));
  } else if (spec.kind == ParameterKind::kRows && !one.by_key) {
    const auto num_keyed = std::ranges::count(specs_, ParameterKind::kRows, &ParameterSpec::kind);
    one.by_key =
        std::make_unique<ResidualRows>(spec.cols, types_.error_bytes / static_cast<uint64_t>(num_keyed));
  }
  return one;
}

void Residuals::find(std::span<const KeyPlan> plans) {
  if (!keeps()) return;
  for (size_t p = 0; p < specs_.size(); ++p) {
    Residual& one = made(p);
    if (one.by_key) one.by_key->find(plans[p].keys, one.rows);
  }
}

uint64_t Residuals::dropped() const {
  uint64_t dropped = 0;
  for (const Residual& one : all_) {
    if (one.by_key) dropped += one.by_key->dropped();
  }
  return dropped;
}

std::unique_ptr<StateChunkSource> Residuals::chunks() const {
  auto chunks = std::make_unique<ResidualChunks>(types_.state_chunk_bytes);
  for (size_t p = 0; p < specs_.size(); ++p) {
    const uint32_t parameter = static_cast<uint32_t>(p);
    if (all_[p].by_key) chunks->add_keyed(parameter, specs_[p].cols, *all_[p].by_key);
    chunks->add_whole(parameter, specs_[p].cols, all_[p].whole);
  }
  return chunks;
}

std::unique_ptr<StateChunkSource> Residuals::codec_chunks() const {
  return std::make_unique<CodecChunks>(codecs_, specs_.size(), types_.state_chunk_bytes);
}

// read_error_chunk has checked that `values` has the width of a row, and the number of a row that is pulled
// whole.  A row by its key goes back to the generation from which it came, so that the same rows are
// dropped next.
void Residuals::restore(std::string_view chunk) {
  if (is_of_kind(chunk, StateChunkKind::kCodecs)) return restored_.restore(chunk, codecs_);
  read_error_chunk(chunk, specs_, [this](uint32_t p, ErrorRows rows, uint64_t key, std::string_view values) {
    Residual& one = made(p);
    float* to = rows == ErrorRows::kWhole ? of_row(p, static_cast<int64_t>(key))
                                          : one.by_key->put_back(key, rows == ErrorRows::kYoung);
    std::memcpy(to, values.data(), values.size());
  });
}

}  // namespace ps
