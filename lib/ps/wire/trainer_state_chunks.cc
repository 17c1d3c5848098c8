#include "ps/wire/trainer_state_chunks.h"

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

std::string encode_figures(const FiguresChunk& figures) {
  std::string out;
  put(out, StateChunkKind::kFigures);
  put(out, figures.rank);
  out += figures.text;
  return out;
}

FiguresChunk decode_figures(std::string_view chunk) {
  ByteReader in(chunk);
  const auto kind = in.get<StateChunkKind>();
  FiguresChunk figures{in.get<uint32_t>(), {}};
  if (!in.ok() || kind != StateChunkKind::kFigures) {
    fail(Code::kCorrupt, "a trainer's figures are damaged: a chunk of ", chunk.size(), " bytes");
  }
  figures.text = in.get_bytes(in.remaining());
  return figures;
}

}  // namespace ps
