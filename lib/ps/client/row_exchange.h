// RowExchange: asks for rows from all shards that have some of them, and holds the answers.  Used by
// RemotePulls for batches, and by RemoteModel.
#ifndef PS_PS_CLIENT_ROW_EXCHANGE_H_
#define PS_PS_CLIENT_ROW_EXCHANGE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "codec/row_codec.h"
#include "net/frame.h"
#include "ps/client/shard_links.h"
#include "ps/wire/batch_router.h"
#include "store/parameter_store.h"

namespace ps {

// The rows of one slice of an answer, in the memory of the frame.
struct ArrivedRows {
  char* bytes;
  RowType type;
  int64_t cols;
  CpuLevel cpu;  // level of the loops that decode them

  // Returns the rows themselves, which must be f32.
  float* floats() const { return reinterpret_cast<float*>(bytes); }

  // out [count, cols] <- rows from `first` on
  void copy(int64_t first, int64_t count, float* out) const {
    const int64_t row_bytes = static_cast<int64_t>(encoded_row_bytes(type, cols));
    row_codec(type, cpu).decode(bytes + first * row_bytes, count, cols, out);
  }
};

// Calls body(own, row, count) for runs of the owner's own rows [first, first + rows) that are neighbours in
// the parameter too: `own` counts the owner's rows, `row` the parameter's.
template <class Body>
void for_each_run(const BlockCyclicRows& deal, int64_t first, int64_t rows, Body&& body) {
  for (int64_t own = first; own < first + rows;) {
    int64_t block_end = (own / deal.block_rows + 1) * deal.block_rows;
    int64_t count = deal.num_owners == 1 ? first + rows - own : std::min(block_end, first + rows) - own;
    body(own, deal.global(own), count);
    own += count;
  }
}

// One owner thread.  One request is under way at a time, and its answers stay until the next.
class RowExchange {
 public:
  // Both arguments outlive this.
  RowExchange(ShardLinks& links, const std::vector<ParameterSpec>& specs);

  struct Request {
    PullMode mode;
    uint64_t step;
    RowType type;           // row type of the answers
    uint64_t* last_number;  // number of the last message; null: no push follows
  };
  using AddRowSlices = std::function<void(BatchRouter&)>;
  using OnRows = std::function<void(size_t shard, const RoutedRows& routed, const ArrivedRows& rows)>;

  // Sends the request to the shards that have the rows which add_row_slices names.  The request before must have
  // arrived.
  void ask(const Request& request, const AddRowSlices& add_row_slices);

  // Routes the rows for a push, without a request.
  void route(const AddRowSlices& add_row_slices);

  // Returns true if all answers are here.
  bool arrived() const { return arrived_.size() == asked_; }

  // Calls on_rows for the answers that have come since the last call.  Returns true if all answers have come.  To
  // be called during a wait for the links.
  bool pass_arrived(const OnRows& on_rows);

  BatchRouter& router() { return router_; }

 private:
  struct Arrived {
    size_t shard;
    const Bundle* bundle;
    Frame frame;
  };

  void pass_on(Arrived& arrived, const OnRows& on_rows) const;

  ShardLinks& links_;
  const std::vector<ParameterSpec>& specs_;
  BatchRouter router_;
  RowType type_ = RowType::kF32;       // row type of the answers
  size_t asked_ = 0, num_passed_ = 0;  // numbers of messages
  std::vector<Arrived> arrived_;       // in the order of arrival
};

}  // namespace ps

#endif  // PS_PS_CLIENT_ROW_EXCHANGE_H_
