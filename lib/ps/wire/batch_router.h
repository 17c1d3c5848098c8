// BatchRouter: divides the rows of a batch among the shards that own them, and among messages of bounded size.  Used by
// RemoteStore, for the pull and for the push of a batch.
#ifndef PS_PS_WIRE_BATCH_ROUTER_H_
#define PS_PS_WIRE_BATCH_ROUTER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ps/wire/protocol.h"
#include "store/placement.h"

namespace ps {

// The rows of one slice of a message, as the trainer sees them.
struct RoutedRows {
  uint32_t parameter;
  bool by_keys;
  // The rows [first, first + rows) by the shard's own numbers.  If by_keys, they are indices into the keys that
  // were added, unless `positions` lists these indices one by one.
  int64_t first = 0, rows = 0;
  std::vector<uint32_t> positions;

  bool in_sequence() const { return positions.empty(); }
  int64_t position(int64_t row) const {
    return in_sequence() ? first + row : static_cast<int64_t>(positions[static_cast<size_t>(row)]);
  }
};

// The row slices of one message.
struct Bundle {
  std::string row_slices;  // encoded
  std::string counted;     // the same slices with counts of keys, for a push; empty: no counts
  std::vector<RoutedRows> routed;
  uint64_t bytes = 0;   // approximate size of the slices and their rows
  uint64_t number = 0;  // the number of the message that pulled these rows; 0: they were not pulled

  uint32_t num_row_slices() const { return static_cast<uint32_t>(routed.size()); }
  const std::string& push_slices() const { return counted.empty() ? row_slices : counted; }
};

// One owner thread.
class BatchRouter {
 public:
  // `specs` outlives this; `places` has one element for each shard.
  BatchRouter(std::span<const ParameterSpec> specs, std::vector<ShardPlace> places);

  // Called with each bundle as soon as it is full, so that it can be sent while the other rows are routed.
  using OnReady = std::function<void(size_t shard, Bundle& bundle)>;

  // Drops all rows that were added before.  end() must be called after the last rows were added.
  void begin(OnReady on_ready = nullptr);
  void end();

  // Add rows of parameter p: those with these keys, which ascend, with the counts that a push sends for them,
  // if any; or all its rows.
  void add_keys(size_t p, std::span<const uint64_t> keys, std::span<const KeyCount> counts = {});
  void add_all(size_t p);

  // Adds the rows of a dense parameter as they are stored: weights and `state_arrays` state arrays.  The numbers
  // of such rows begin after those of the shard's own rows.
  void add_stored(size_t p, int64_t state_arrays);

  size_t num_shards() const { return places_.size(); }
  std::deque<Bundle>& bundles(size_t shard) { return bundles_[shard]; }
  BlockCyclicRows deal(size_t p, size_t shard) const;

 private:
  // The keys that one shard gets.
  struct Dealt {
    std::vector<uint64_t> keys;
    std::vector<uint32_t> positions;  // indices into the keys that were added
    std::vector<KeyCount> counts;
  };

  size_t shard_of(size_t p, uint64_t key) const;
  void deal_keys(size_t p, std::span<const uint64_t> keys, std::span<const KeyCount> counts);
  void add_routed(size_t p, size_t shard, std::span<const uint64_t> keys, std::span<const uint32_t> positions,
                  std::span<const KeyCount> counts);
  void add_range(size_t p, size_t shard, int64_t first, int64_t end, bool exact);
  Bundle& room_for(size_t shard, uint64_t bytes, uint64_t most);
  void finish_last(size_t shard);

  const std::span<const ParameterSpec> specs_;
  const std::vector<ShardPlace> places_;
  std::vector<size_t> dense_shards_, sparse_shards_;  // by number among the shards of this kind: the shard
  std::vector<std::deque<Bundle>> bundles_;           // by shard; bundles do not move in memory
  OnReady on_ready_;
  std::vector<Dealt> dealt_;  // by shard: its keys among those that are being added
};

}  // namespace ps

#endif  // PS_PS_WIRE_BATCH_ROUTER_H_
