#include "ps/client/stored_row_pulls.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "ps/wire/protocol.h"
#include "ps/wire/stored_rows.h"

namespace ps {

namespace {

// Returns the keys of one slice of a message.
std::vector<uint64_t> keys_of(const RoutedRows& routed, std::span<const uint64_t> keys) {
  std::vector<uint64_t> own;
  for (int64_t n = 0; n < routed.rows; ++n) own.push_back(keys[static_cast<size_t>(routed.position(n))]);
  return own;
}

}  // namespace

// A message with one row has a head, the number of keys and of their bytes, and one key; the eight bytes that
// the row counts for its key cover these.
void check_stored_rows(const std::vector<TableLayout>& layouts) {
  constexpr uint64_t kPullHeadBytes = 3 * sizeof(uint64_t) + sizeof(uint32_t);
  for (const TableLayout& layout : layouts) {
    const uint64_t bytes = layout.row_bytes() + kPullHeadBytes;
    if (!layout.sparse || bytes <= kMaxMessageBytes) continue;
    fail(Code::kUsage, "a row of ", quote(layout.name), " takes ", bytes,
         " bytes with the state of its optimizer, ", "servers send and take rows of up to ", kMaxMessageBytes,
         ": make the layer narrower, or choose an optimizer with less state");
  }
}

StoredRowPulls::StoredRowPulls(ShardLinks& links, const std::vector<ParameterSpec>& specs,
                               std::vector<TableLayout> layouts, Take take)
    : links_(links), specs_(specs), layouts_(std::move(layouts)), on_rows_(std::move(take)) {
  check_stored_rows(layouts_);
}

// Sends a message as soon as its bundle is full.  The callbacks share `asked`, since they need its keys and
// the bundles of its router until the last answer has come.  A request without keys sends nothing, has no
// entry in waiting_, and so counts as arrived.
uint64_t StoredRowPulls::ask(std::vector<std::vector<uint64_t>> keys) {
  const uint64_t number = ++num_asked_;
  const auto asked = std::make_shared<Asked>(
      Asked{number, std::move(keys), BatchRouter(specs_, links_.places()), monotonic_seconds()});
  asked->router.begin([this, number, &asked](size_t shard, Bundle& bundle) {
    ++waiting_[number];
    links_.request(shard, Message::kStoredRows,
                   Payload(encode_row_slices(bundle.num_row_slices(), bundle.row_slices)),
                   [this, number, asked, &bundle](const Frame& frame) {
                     receive(*asked, bundle, frame);
                     const auto waiting = waiting_.find(number);
                     if (--waiting->second > 0) return;
                     waiting_.erase(waiting);
                     seconds_ += monotonic_seconds() - asked->at;
                   });
  });
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!asked->keys[p].empty()) asked->router.add_keys(p, asked->keys[p]);
  }
  asked->router.end();
  return number;
}

// Passes the rows of an answer on, slice by slice.  A shard leaves out keys that have no row, so that the
// keys of a slice must be some of those that were asked for, in their order.
void StoredRowPulls::receive(const Asked& asked, const Bundle& bundle, const Frame& frame) {
  ByteReader in(std::string_view(frame.body.data(), frame.body.size()));
  for (const RoutedRows& routed : bundle.routed) {
    const size_t p = routed.parameter;
    decode_stored_rows(in, layouts_[p], static_cast<size_t>(routed.rows), rows_);
    if (!std::ranges::includes(keys_of(routed, asked.keys[p]), rows_.keys)) {
      fail(Code::kData, "a server gave rows of ", quote(specs_[p].name), " that were not asked for");
    }
    on_rows_(asked.number, p, rows_);
  }
  if (in.remaining() > 0) fail(Code::kData, "a server gave ", in.remaining(), " bytes of rows too many");
}

}  // namespace ps
