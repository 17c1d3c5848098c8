#include "ps/client/codec_chunks.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

namespace {

constexpr const char* kDamaged = "the state of a gradient's codec is damaged: ";

std::string state_of(const Codec& codec) {
  std::string state;
  codec.save(state);
  return state;
}

}  // namespace

CodecChunks::CodecChunks(const PushCodecs& codecs, size_t num_parameters, uint64_t most_bytes)
    : codecs_(codecs), most_bytes_(most_bytes) {
  for (size_t p = 0; p < num_parameters; ++p) {
    if (!codecs.has(p)) continue;
    const size_t size = state_of(codecs.of(p)).size();
    for (size_t at = 0; at < size; at += most_bytes) begins_.push_back({static_cast<uint32_t>(p), at});
  }
}

// The codec saves its whole state for each chunk, of which one part is sent: a copy of all states would
// take more memory.
std::string CodecChunks::encode(size_t chunk) const {
  const Begin& begin = begins_[chunk];
  const std::string state = state_of(codecs_.of(begin.parameter));
  std::string out;
  put(out, StateChunkKind::kCodecs);
  put(out, begin.parameter);
  put(out, static_cast<uint64_t>(begin.at));
  put(out, static_cast<uint64_t>(state.size()));
  return out + state.substr(begin.at, most_bytes_);
}

// The state of a codec that encodes slices always has the same size, so a new codec tells how large the state in the
// chunks must be.
void CodecStates::restore(std::string_view chunk, PushCodecs& codecs) {
  ByteReader in(chunk);
  const auto kind = in.get<StateChunkKind>();
  const uint32_t parameter = in.get<uint32_t>();
  const uint64_t at = in.get<uint64_t>(), size = in.get<uint64_t>();
  if (!in.ok() || kind != StateChunkKind::kCodecs || !codecs.has(parameter)) {
    fail(Code::kCorrupt, kDamaged, "a chunk of ", chunk.size(), " bytes, of parameter ", parameter);
  }
  Codec& codec = codecs.of(parameter);
  State& gathered = states_[parameter];
  if (gathered.bytes.empty()) gathered.bytes = state_of(codec);
  const uint64_t count = in.remaining();
  if (size != gathered.bytes.size() || count == 0 || at > size || count > size - at ||
      count > size - gathered.taken) {
    fail(Code::kCorrupt, kDamaged, count, " bytes from ", at, " on of ", size, ", expected ",
         gathered.bytes.size());
  }
  std::ranges::copy(in.get_bytes(count), gathered.bytes.begin() + static_cast<ptrdiff_t>(at));
  gathered.taken += count;
  if (gathered.taken < size) return;
  ByteReader state(gathered.bytes);
  codec.load(state);
}

}  // namespace ps
