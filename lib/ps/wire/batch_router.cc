#include "ps/wire/batch_router.h"

#include <algorithm>
#include <functional>

#include "base/error.h"

namespace ps {

namespace {

constexpr uint64_t kKeyBytes = 20;  // upper bound of an encoded key with its counts

uint64_t row_bytes(const ParameterSpec& spec) {
  return static_cast<uint64_t>(spec.cols) * sizeof(float) + kKeyBytes;
}

// Appends the row slice of a push, with the counts of its keys if there are any.
void add_counted(uint32_t parameter, std::span<const uint64_t> keys, std::span<const KeyCount> counts,
                 std::string& out) {
  counts.empty() ? encode_key_slice(parameter, keys, out)
                 : encode_counted_slice(parameter, keys, counts, out);
}

}  // namespace

// The two lists turn a number among the shards of a kind, which placement computes, into the number of the
// shard.
BatchRouter::BatchRouter(std::span<const ParameterSpec> specs, std::vector<ShardPlace> places)
    : specs_(specs), places_(std::move(places)), bundles_(places_.size()), dealt_(places_.size()) {
  dense_shards_.resize(static_cast<size_t>(places_[0].num_dense));
  sparse_shards_.resize(static_cast<size_t>(places_[0].num_sparse));
  for (size_t s = 0; s < places_.size(); ++s) {
    if (places_[s].dense >= 0) dense_shards_[static_cast<size_t>(places_[s].dense)] = s;
    if (places_[s].sparse >= 0) sparse_shards_[static_cast<size_t>(places_[s].sparse)] = s;
  }
}

void BatchRouter::begin(OnReady on_ready) {
  for (auto& bundles : bundles_) bundles.clear();
  on_ready_ = std::move(on_ready);
}

void BatchRouter::end() {
  for (size_t shard = 0; shard < bundles_.size(); ++shard) finish_last(shard);
  on_ready_ = nullptr;
}

void BatchRouter::finish_last(size_t shard) {
  if (on_ready_ && !bundles_[shard].empty()) on_ready_(shard, bundles_[shard].back());
}

BlockCyclicRows BatchRouter::deal(size_t p, size_t shard) const {
  const ShardPlace& place = places_[shard];
  return dense_blocks(specs_[p], static_cast<int64_t>(p), place.num_dense, place.dense);
}

// Keys of sparse parameters are placed by their hash partition, those of other parameters by the block of
// their row.
size_t BatchRouter::shard_of(size_t p, uint64_t key) const {
  if (specs_[p].sparse) {
    return sparse_shards_[static_cast<size_t>(shard_of_key(key, places_[0].num_sparse))];
  }
  BlockCyclicRows deal = dense_blocks(specs_[p], static_cast<int64_t>(p), places_[0].num_dense, 0);
  int64_t owner = deal.owner_of(static_cast<int64_t>(key));
  return dense_shards_[static_cast<size_t>(dense_shard(deal, static_cast<int64_t>(p), owner))];
}

// Keys must ascend, since ascending keys take the fewest bytes.  If one shard has all rows of the parameter, no
// key is looked at.
void BatchRouter::add_keys(size_t p, std::span<const uint64_t> keys, std::span<const KeyCount> counts) {
  PS_CHECK(std::ranges::adjacent_find(keys, std::greater_equal<>()) == keys.end());
  const bool one_shard = specs_[p].sparse && sparse_shards_.size() == 1;
  one_shard ? add_routed(p, sparse_shards_[0], keys, {}, counts) : deal_keys(p, keys, counts);
}

// Divides the keys among the shards.  Each shard gets its keys in their order, so that they ascend, with
// their positions in `keys`: answers and pushes have rows without keys, and the positions say whose they
// are.  If one shard has all keys, the others have added nothing, and the keys go on without a list of
// positions: rows in sequence can be sent from where they lie.
void BatchRouter::deal_keys(size_t p, std::span<const uint64_t> keys, std::span<const KeyCount> counts) {
  for (Dealt& dealt : dealt_) dealt.keys.clear(), dealt.positions.clear(), dealt.counts.clear();
  for (size_t n = 0; n < keys.size(); ++n) {
    Dealt& dealt = dealt_[shard_of(p, keys[n])];
    dealt.keys.push_back(keys[n]);
    dealt.positions.push_back(static_cast<uint32_t>(n));
    if (!counts.empty()) dealt.counts.push_back(counts[n]);
  }
  for (size_t shard = 0; shard < dealt_.size(); ++shard) {
    const Dealt& dealt = dealt_[shard];
    if (dealt.keys.size() == keys.size()) return add_routed(p, shard, keys, {}, counts);
    add_routed(p, shard, dealt.keys, dealt.positions, dealt.counts);
  }
}

// Adds the keys of one shard, divided into messages.  If `positions` is empty, the position of a key is its
// index in `keys`.  As soon as one slice of a bundle has counts, `counted` has all its slices: those added
// before are copied.
void BatchRouter::add_routed(size_t p, size_t shard, std::span<const uint64_t> keys,
                             std::span<const uint32_t> positions, std::span<const KeyCount> counts) {
  const size_t most = std::max<size_t>(1, kRowMessageBytes / row_bytes(specs_[p]));
  for (size_t begin = 0; begin < keys.size(); begin += most) {
    const size_t count = std::min(most, keys.size() - begin);
    const auto own_keys = keys.subspan(begin, count);
    Bundle& bundle = room_for(shard, count * row_bytes(specs_[p]), kRowMessageBytes);
    RoutedRows& routed = bundle.routed.emplace_back();
    routed.parameter = static_cast<uint32_t>(p);
    routed.by_keys = true;
    routed.rows = static_cast<int64_t>(count);
    if (positions.empty()) {
      routed.first = static_cast<int64_t>(begin);
    } else {
      routed.positions.assign(positions.begin() + begin, positions.begin() + begin + count);
    }
    if (!counts.empty() || !bundle.counted.empty()) {
      if (bundle.counted.empty()) bundle.counted = bundle.row_slices;
      add_counted(routed.parameter, own_keys, counts.empty() ? counts : counts.subspan(begin, count),
                  bundle.counted);
    }
    encode_key_slice(routed.parameter, own_keys, bundle.row_slices);
  }
}

void BatchRouter::add_all(size_t p) {
  for (size_t shard : dense_shards_) {
    add_range(p, shard, 0, deal(p, shard).own_rows(), specs_[p].kind == ParameterKind::kStatistic);
  }
}

// A shard numbers its own rows [0, rows), and the same rows as they are stored [rows, rows + rows (1 +
// state_arrays)), array by array.
void BatchRouter::add_stored(size_t p, int64_t state_arrays) {
  for (size_t shard : dense_shards_) {
    const int64_t rows = deal(p, shard).own_rows();
    add_range(p, shard, rows, rows * (2 + state_arrays), /*exact=*/true);
  }
}

// Adds rows [first, end), by the shard's own numbers, divided into messages.  If the bundle has counted
// slices already, `counted` gets a copy of this slice too, since it replaces all slices in a push.
void BatchRouter::add_range(size_t p, size_t shard, int64_t first, int64_t end, bool exact) {
  const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(kMessageBytes / row_bytes(specs_[p])));
  for (; first < end; first += most) {
    const int64_t count = std::min(most, end - first);
    Bundle& bundle = room_for(shard, static_cast<uint64_t>(count) * row_bytes(specs_[p]), kMessageBytes);
    bundle.routed.push_back({static_cast<uint32_t>(p), false, first, count, {}});
    const size_t at = bundle.row_slices.size();
    encode_range_slice(static_cast<uint32_t>(p), static_cast<uint64_t>(first), static_cast<uint64_t>(count),
                       exact, bundle.row_slices);
    if (!bundle.counted.empty()) bundle.counted.append(bundle.row_slices, at);
  }
}

// Returns the last bundle, or a new one if these bytes would make the last one larger than `most`.
Bundle& BatchRouter::room_for(size_t shard, uint64_t bytes, uint64_t most) {
  std::deque<Bundle>& bundles = bundles_[shard];
  if (bundles.empty() || bundles.back().bytes + bytes > most) {
    finish_last(shard);
    bundles.emplace_back();
  }
  bundles.back().bytes += bytes;
  return bundles.back();
}

}  // namespace ps
