#include "ps/batch_router.h"

#include <algorithm>
#include <bit>

#include "base/radix_sort.h"

namespace ps {

namespace {

constexpr uint64_t kKeyBytes = 20;  // at most, coded, with its counts

uint64_t row_bytes(const ParameterSpec& spec) {
  return static_cast<uint64_t>(spec.cols) * sizeof(float) + kKeyBytes;
}

// The part of a push, in the order of the piece.
void add_counted(const Piece& piece, std::span<const uint64_t> keys, std::span<const KeyCount> counts,
                 std::string& out) {
  if (counts.empty()) return encode_key_part(piece.parameter, keys, out);
  std::vector<KeyCount> ordered;
  for (uint32_t position : piece.positions) ordered.push_back(counts[position]);
  encode_counted_part(piece.parameter, keys, ordered, out);
}

// How a key and its position make an entry.  Both in one word, where they fit, sort twice as fast.
struct PackedCoding {
  using Entry = uint64_t;
  Entry entry(uint64_t key, size_t position) const { return key << position_bits | position; }
  uint64_t key(Entry entry) const { return entry >> position_bits; }
  uint32_t position(Entry entry) const {
    return static_cast<uint32_t>(entry & ((uint64_t{1} << position_bits) - 1));
  }
  int position_bits;
};

template <class WideEntry>
struct WideCoding {
  using Entry = WideEntry;
  Entry entry(uint64_t key, size_t position) const { return {key, static_cast<uint32_t>(position)}; }
  uint64_t key(const Entry& entry) const { return entry.key; }
  uint32_t position(const Entry& entry) const { return entry.position; }
};

}  // namespace

BatchRouter::BatchRouter(std::span<const ParameterSpec> specs, std::vector<ShardPlace> places)
    : specs_(specs),
      places_(std::move(places)),
      bundles_(places_.size()),
      packed_(places_.size()),
      entries_(places_.size()) {
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

RowDeal BatchRouter::deal(size_t p, size_t shard) const {
  const ShardPlace& place = places_[shard];
  return dense_deal(specs_[p], static_cast<int64_t>(p), place.num_dense, place.dense);
}

size_t BatchRouter::shard_of(size_t p, uint64_t key) const {
  if (specs_[p].sparse) {
    return sparse_shards_[static_cast<size_t>(shard_of_key(key, places_[0].num_sparse))];
  }
  RowDeal deal = dense_deal(specs_[p], static_cast<int64_t>(p), places_[0].num_dense, 0);
  int64_t holder = deal.holder_of(static_cast<int64_t>(key));
  return dense_shards_[static_cast<size_t>(dense_shard(deal, static_cast<int64_t>(p), holder))];
}

// Keys go out in ascending order, which takes the fewest bytes.
void BatchRouter::add_keys(size_t p, std::span<const uint64_t> keys, std::span<const KeyCount> counts) {
  const int position_bits = static_cast<int>(std::bit_width(keys.size()));
  uint64_t any = 0;
  for (uint64_t key : keys) any |= key;
  if (any >> (64 - position_bits - 1) >> 1 == 0) {
    return deal_keys(p, keys, counts, PackedCoding{position_bits}, packed_);
  }
  deal_keys(p, keys, counts, WideCoding<Entry>(), entries_);
}

template <class Coding>
void BatchRouter::deal_keys(size_t p, std::span<const uint64_t> keys, std::span<const KeyCount> counts,
                            const Coding& coding, std::vector<std::vector<typename Coding::Entry>>& dealt) {
  for (auto& entries : dealt) entries.clear();
  if (specs_[p].sparse && sparse_shards_.size() == 1) {
    auto& entries = dealt[sparse_shards_[0]];
    entries.resize(keys.size());
    for (size_t n = 0; n < keys.size(); ++n) entries[n] = coding.entry(keys[n], n);
  } else {
    for (size_t n = 0; n < keys.size(); ++n) dealt[shard_of(p, keys[n])].push_back(coding.entry(keys[n], n));
  }
  const size_t most = std::max<size_t>(1, kRowMessageBytes / row_bytes(specs_[p]));
  auto key_of = [&](const auto& entry) { return coding.key(entry); };
  for (size_t shard = 0; shard < dealt.size(); ++shard) {
    auto& entries = dealt[shard];
    size_t begin = 0;
    auto add_sorted = [&](size_t end) {
      while (end - begin >= most || (end == entries.size() && begin < end)) {
        const size_t count = std::min(most, end - begin);
        add_entries(p, shard, {entries.data() + begin, count}, counts, coding);
        begin += count;
      }
    };
    if (!std::ranges::is_sorted(entries, {}, key_of)) {
      entries.size() <= most ? radix_sort(entries, key_of) : radix_sort_in_turn(entries, key_of, add_sorted);
    }
    add_sorted(entries.size());
  }
}

template <class Coding>
void BatchRouter::add_entries(size_t p, size_t shard, std::span<const typename Coding::Entry> entries,
                              std::span<const KeyCount> counts, const Coding& coding) {
  Bundle& bundle = room_for(shard, entries.size() * row_bytes(specs_[p]), kRowMessageBytes);
  Piece& piece = bundle.pieces.emplace_back();
  piece.parameter = static_cast<uint32_t>(p);
  piece.by_keys = true;
  piece.rows = static_cast<int64_t>(entries.size());
  keys_.resize(entries.size());
  piece.positions.resize(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    keys_[i] = coding.key(entries[i]);
    piece.positions[i] = coding.position(entries[i]);
  }
  if (!counts.empty() || !bundle.counted.empty()) {
    if (bundle.counted.empty()) bundle.counted = bundle.parts;
    add_counted(piece, keys_, counts, bundle.counted);
  }
  encode_key_part(piece.parameter, keys_, bundle.parts);
}

void BatchRouter::add_all(size_t p) {
  const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(kMessageBytes / row_bytes(specs_[p])));
  for (size_t shard : dense_shards_) {
    const int64_t rows = deal(p, shard).own_rows();
    for (int64_t first = 0; first < rows; first += most) {
      const int64_t count = std::min(most, rows - first);
      Bundle& bundle = room_for(shard, static_cast<uint64_t>(count) * row_bytes(specs_[p]), kMessageBytes);
      bundle.pieces.push_back({static_cast<uint32_t>(p), false, {}, first, count});
      const size_t at = bundle.parts.size();
      encode_range_part(static_cast<uint32_t>(p), static_cast<uint64_t>(first), static_cast<uint64_t>(count),
                        specs_[p].kind == ParameterKind::kStatistic, bundle.parts);
      if (!bundle.counted.empty()) bundle.counted.append(bundle.parts, at);
    }
  }
}

// The last bundle, or a new one when these bytes would make it larger than `most`.
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
