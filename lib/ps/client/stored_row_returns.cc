#include "ps/client/stored_row_returns.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "ps/wire/key_list.h"
#include "ps/wire/stored_rows.h"

namespace ps {

namespace {

// Returns the rows of one slice of a message.
RowBlock rows_of(const RoutedRows& routed, const RowBlock& rows) {
  const size_t values = rows.values.size() / rows.size();
  RowBlock own;
  for (int64_t n = 0; n < routed.rows; ++n) {
    const size_t at = static_cast<size_t>(routed.position(n));
    const auto row = rows.values.begin() + static_cast<ptrdiff_t>(at * values);
    own.keys.push_back(rows.keys[at]);
    own.values.insert(own.values.end(), row, row + static_cast<ptrdiff_t>(values));
    if (!rows.stamps.empty()) own.stamps.push_back(rows.stamps[at]);
  }
  return own;
}

// Returns the counted keys of one slice of a message.
RowSlice counted_of(const RoutedRows& routed, std::span<const uint64_t> keys,
                    std::span<const KeyCount> counts) {
  RowSlice slice;
  slice.parameter = routed.parameter;
  for (int64_t n = 0; n < routed.rows; ++n) {
    const size_t at = static_cast<size_t>(routed.position(n));
    slice.keys.push_back(keys[at]);
    slice.counts.push_back(counts[at]);
  }
  return slice;
}

// Appends the keys of an answer, which must be some of those that were asked for.
void add_absent(const std::vector<RowSlice>& counted, const Frame& frame, std::vector<uint64_t>& absent) {
  ByteReader in(std::string_view(frame.body.data(), frame.body.size()));
  std::vector<uint64_t> keys;
  for (const RowSlice& slice : counted) {
    keys.clear();
    decode_keys(in, keys, slice.keys.size());
    if (!std::ranges::includes(slice.keys, keys))
      fail(Code::kData, "a server says that keys have no row which it was not asked for");
    absent.insert(absent.end(), keys.begin(), keys.end());
  }
  if (in.remaining() > 0) fail(Code::kData, "a server gave ", in.remaining(), " bytes of keys too many");
}

}  // namespace

StoredRowReturns::StoredRowReturns(ShardLinks& links, const std::vector<ParameterSpec>& specs)
    : links_(links), router_(specs, links.places()), numbers_(links.size()), messages_of_(specs.size()) {}

void StoredRowReturns::send(size_t parameter, const RowBlock& rows) {
  router_.begin([this, &rows](size_t shard, const Bundle& bundle) {
    std::vector<ReturnedRows::Slice> slices;
    for (const RoutedRows& routed : bundle.routed)
      slices.push_back({routed.parameter, rows_of(routed, rows)});
    send_slices(shard, std::move(slices));
  });
  router_.add_keys(parameter, rows.keys);
  router_.end();
}

// The callback owns the counted keys of its message, against which add_absent checks the answer.
void StoredRowReturns::send_counts(size_t parameter, std::span<const uint64_t> keys,
                                   std::span<const KeyCount> counts, std::vector<uint64_t>& absent) {
  router_.begin([&](size_t shard, const Bundle& bundle) {
    ReturnedRows returned{++numbers_[shard], {}};
    for (const RoutedRows& routed : bundle.routed)
      returned.counted.push_back(counted_of(routed, keys, counts));
    ++on_their_way_;
    Payload payload(encode_returned_rows(returned));
    links_.request(shard, Message::kReturnRows, std::move(payload),
                   [this, &absent, counted = std::move(returned.counted)](const Frame& frame) {
                     --on_their_way_;
                     add_absent(counted, frame, absent);
                   });
  });
  router_.add_keys(parameter, keys);
  router_.end();
}

void StoredRowReturns::announce() {
  for (size_t shard = 0; shard < links_.size(); ++shard) send_slices(shard, {});
}

// Sends one message, and counts it for each of its keys until it is answered.  A count may exceed 1: the
// device may keep a row that it has returned, train it on, and return it again before the first message is
// answered.  Numbers grow by one for each message to a shard, so that the shard knows one that is repeated
// over another connection.
void StoredRowReturns::send_slices(size_t shard, std::vector<ReturnedRows::Slice> slices) {
  ++on_their_way_;
  const ReturnedRows returned{++numbers_[shard], std::move(slices)};
  std::vector<std::pair<size_t, std::vector<uint64_t>>> sent;  // keys by parameter
  for (const ReturnedRows::Slice& slice : returned.slices) {
    for (uint64_t key : slice.rows.keys) ++messages_of_[slice.parameter][key];
    sent.emplace_back(slice.parameter, slice.rows.keys);
  }
  links_.request(shard, Message::kReturnRows, Payload(encode_returned_rows(returned)),
                 [this, sent = std::move(sent)](const Frame&) {
                   --on_their_way_;
                   for (const auto& [parameter, keys] : sent) forget(parameter, keys);
                 });
}

void StoredRowReturns::forget(size_t parameter, std::span<const uint64_t> keys) {
  for (uint64_t key : keys) {
    const auto found = messages_of_[parameter].find(key);
    if (--found->second == 0) messages_of_[parameter].erase(found);
  }
}

}  // namespace ps
