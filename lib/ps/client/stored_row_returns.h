// StoredRowReturns: sends rows of sparse parameters that a trainer has trained itself back to the shards, which
// store them.  Used by RemoteLender.
#ifndef PS_PS_CLIENT_STORED_ROW_RETURNS_H_
#define PS_PS_CLIENT_STORED_ROW_RETURNS_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ps/client/shard_links.h"
#include "ps/wire/batch_router.h"
#include "ps/wire/stored_rows.h"
#include "table/row_block.h"

namespace ps {

// Messages reach a shard in the order in which they were sent, between pushes and other requests.  One owner thread.
class StoredRowReturns {
 public:
  // Both arguments outlive this.
  StoredRowReturns(ShardLinks& links, const std::vector<ParameterSpec>& specs);

  // Sends rows of one parameter.
  void send(size_t parameter, const RowBlock& rows);

  // Sends the keys of the next step of a parameter that has a row policy, which ascend, with their counts.  With
  // the answers, keys that have no row are appended to `absent`, which must live until then.
  void send_counts(size_t parameter, std::span<const uint64_t> keys, std::span<const KeyCount> counts,
                   std::vector<uint64_t>& absent);

  // Tells all shards that this trainer has rows.
  void announce();

  // Returns the number of messages that were not answered yet.  Answers come in a wait or poll of the links.
  size_t on_their_way() const { return on_their_way_; }

  // Returns true if a message with the row was not answered yet.
  bool is_on_its_way(size_t parameter, uint64_t key) const { return messages_of_[parameter].contains(key); }

 private:
  void send_slices(size_t shard, std::vector<ReturnedRows::Slice> slices);
  void forget(size_t parameter, std::span<const uint64_t> keys);

  ShardLinks& links_;
  BatchRouter router_;
  std::vector<uint64_t> numbers_;  // by shard: number of the last message to it
  size_t on_their_way_ = 0;
  std::vector<std::unordered_map<uint64_t, uint32_t>>
      messages_of_;  // by parameter and key: unanswered messages
};

}  // namespace ps

#endif  // PS_PS_CLIENT_STORED_ROW_RETURNS_H_
