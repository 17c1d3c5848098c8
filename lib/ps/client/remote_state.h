// What a remote store remembers of what is asked and sent.  Used by RemoteStore's own sources alone.
#ifndef PS_PS_CLIENT_REMOTE_STATE_H_
#define PS_PS_CLIENT_REMOTE_STATE_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/residual_rows.h"
#include "ps/client/remote_store.h"
#include "ps/wire/trainer_state_chunks.h"

namespace ps {

struct RemoteStore::Held {
  std::vector<float*> rows;           // by keys: of the plan's keys, in the frames
  std::vector<float> whole;           // put together from the shards' blocks
  float* in_frame = nullptr;          // the whole parameter in one piece, where the frame put it
  std::vector<Buffer> decoded;        // rows that the frames have in another type
  std::shared_ptr<Buffer> gradients;  // lives on while a push needs it
};

// The rows of a piece, as they came.
struct RemoteStore::ArrivedRows {
  char* bytes;
  RowType type;
  int64_t cols;

  // When they are f32.
  float* floats() const { return reinterpret_cast<float*>(bytes); }

  // out [count, cols] <- rows from `first` on
  void copy(int64_t first, int64_t count, float* out) const {
    const int64_t row_bytes = static_cast<int64_t>(encoded_row_bytes(type, cols));
    row_codec(type).decode(bytes + first * row_bytes, count, cols, out);
  }
};

// What rounding took from the gradients of one parameter.
struct RemoteStore::Errors {
  std::unique_ptr<ResidualRows> by_key;
  std::vector<float*> rows;  // of the running step, in the plan's order
  std::vector<float> whole;  // of what is pushed whole
};

// What a push tells of the trainer: its state, to the first shard; and what it alone has, in pieces that are
// dealt over the shards, which need not have the rows themselves.
struct RemoteStore::Told {
  size_t rank, num_shards;
  bool state = false;
  std::vector<std::unique_ptr<StateChunkSource>> kept = {};  // none: that is not told

  bool has_state(size_t shard) const { return state && shard == 0; }
  size_t size() const {
    size_t size = 0;
    for (const auto& source : kept) size += source->size();
    return size;
  }
  std::string encode(size_t piece) const {
    auto source = kept.begin();
    for (; piece >= (*source)->size(); ++source) piece -= (*source)->size();
    return (*source)->encode(piece);
  }
  size_t shard_of(size_t piece) const { return (rank + piece) % num_shards; }

  // Messages to a shard; one says that there are no more pieces, or none at all.
  size_t num_messages(size_t shard) const {
    const size_t first = (shard + num_shards - rank % num_shards) % num_shards;
    const size_t pieces = kept.empty() ? 0 : (size() + num_shards - 1 - first) / num_shards + 1;
    return pieces + (has_state(shard) ? 1 : 0);
  }
};

// Where the rows of a message come from: those of piece p begin at begin(p).
struct RemoteStore::Source {
  std::function<const float*(const Piece&)> begin;
  bool gradients = false;  // of the running step, which stay where they are until the message is sent
};

// An answer to a pull.
struct RemoteStore::Arrived {
  size_t shard;
  const Bundle* bundle;
  Frame frame;
};

// What is asked of all shards together.
struct RemoteStore::Exchange {
  Exchange(std::span<const ParameterSpec> specs, const std::vector<ShardPlace>& places)
      : router(specs, places) {}

  BatchRouter router;
  const KeyPlan* plans = nullptr;  // of begin_pull
  RowType type = RowType::kF32;    // of the answers
  size_t asked = 0;
  std::vector<Arrived> arrived;  // of the last pull: the rows lie in them
};

// Copies that a message consists of, and the gradients it points into.
struct RemoteStore::Outgoing {
  std::shared_ptr<const void> head;
  std::vector<Buffer> copies;
  std::vector<std::shared_ptr<Buffer>> gradients;
};

// Calls body(own, row, count) for runs of the holder's own rows [first, first + count) that are neighbours in
// the parameter too.
template <class Body>
void for_each_run(const BlockCyclicRows& deal, int64_t first, int64_t rows, Body&& body) {
  for (int64_t own = first; own < first + rows;) {
    int64_t block_end = (own / deal.block_rows + 1) * deal.block_rows;
    int64_t count = deal.holders == 1 ? first + rows - own : std::min(block_end, first + rows) - own;
    body(own, deal.global(own), count);
    own += count;
  }
}

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_STATE_H_
