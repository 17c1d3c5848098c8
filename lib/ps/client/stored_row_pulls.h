// StoredRowPulls: pulls rows of sparse parameters as the shards store them.  They are asked for early, and taken
// when they come.  Used by AheadStore.
#ifndef PS_PS_CLIENT_STORED_ROW_PULLS_H_
#define PS_PS_CLIENT_STORED_ROW_PULLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "checkpoint/table_layout.h"
#include "ps/client/shard_links.h"
#include "ps/wire/batch_router.h"
#include "table/row_block.h"

namespace ps {

// Throws kUsage with the name of the first sparse table whose stored rows do not fit into a message.
void check_stored_rows(const std::vector<TableLayout>& layouts);

// One owner thread.
class StoredRowPulls {
 public:
  // Called during a wait or poll of the links, with rows that have come for the request with this number.
  using Take = std::function<void(uint64_t number, size_t parameter, const RowBlock& rows)>;

  // `links` and `specs` outlive this. layouts[p] is the layout of the table of parameter p.  Throws as
  // check_stored_rows does.
  StoredRowPulls(ShardLinks& links, const std::vector<ParameterSpec>& specs, std::vector<TableLayout> layouts,
                 Take take);

  // Asks for the rows of keys[p] of each sparse parameter p, which ascend.  Returns the number of the request.
  uint64_t ask(std::vector<std::vector<uint64_t>> keys);

  // Returns true if all existing rows of the requests up to this one have come.
  bool arrived(uint64_t number) const { return waiting_.empty() || waiting_.begin()->first > number; }

  // Returns the seconds from a request to its last row, summed over all requests.
  double seconds() const { return seconds_; }

 private:
  // The requests of one call of ask.
  struct Asked {
    uint64_t number;
    std::vector<std::vector<uint64_t>> keys;  // by parameter
    BatchRouter router;
    double at;  // time of the request, by monotonic_seconds
  };

  void receive(const Asked& asked, const Bundle& bundle, const Frame& frame);

  ShardLinks& links_;
  const std::vector<ParameterSpec>& specs_;
  const std::vector<TableLayout> layouts_;
  const Take on_rows_;
  uint64_t num_asked_ = 0;
  double seconds_ = 0;
  std::map<uint64_t, size_t> waiting_;  // by number of the request: messages without an answer
  RowBlock rows_;                       // memory for the rows of one slice
};

}  // namespace ps

#endif  // PS_PS_CLIENT_STORED_ROW_PULLS_H_
