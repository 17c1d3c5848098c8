#include "store/sparse_all_reduce.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "collective/fused.h"

namespace ps {

namespace {

// Marks an element for which no trainer has sent a value: x + -0 is x, also if x is -0.  No selected value is
// -0.
constexpr float kNobodySent = -0.0f;

using SparseVectors = std::vector<SparseVector>;

// packed := { length:u32 vector[length] }...
void pack(SparseEncoding encoding, const SparseVector& vector, std::string& out) {
  std::string bytes;
  encode_sparse(encoding, vector, bytes);
  put(out, static_cast<uint32_t>(bytes.size()));
  out += bytes;
}

// Takes the next vector, whose indices are in [0, size), from `rest`, which rank `from` has sent.
SparseVector unpack(SparseEncoding encoding, uint64_t size, size_t from, std::string_view& rest) {
  ByteReader reader(rest);
  const uint32_t length = reader.get<uint32_t>();
  const std::string_view bytes = reader.get_bytes(length);
  if (!reader.ok()) fail(Code::kCorrupt, "the sparse gradients of rank ", from, " are cut short");
  SparseVector vector;
  decode_sparse(encoding, bytes, size, vector);
  rest.remove_prefix(sizeof length + length);
  return vector;
}

void check_no_rest(std::span<const std::string_view> rest) {
  for (size_t rank = 0; rank < rest.size(); ++rank) {
    if (!rest[rank].empty()) fail(Code::kCorrupt, "rank ", rank, " has sent more than its sparse gradients");
  }
}

// Every trainer gets the vectors of all, and adds them up in the order of ranks.
void reduce_by_all_gather(Communicator& communicator, SparseEncoding encoding,
                          std::span<SparseShare* const> shares) {
  std::string own;
  for (const SparseShare* share : shares) pack(encoding, share->vector, own);
  const std::vector<std::string> all = communicator.gather(std::move(own));
  std::vector<std::string_view> rest(all.begin(), all.end());
  for (SparseShare* share : shares) {
    SparseVectors vectors;
    for (size_t rank = 0; rank < rest.size(); ++rank) {
      vectors.push_back(unpack(encoding, share->elements, rank, rest[rank]));
    }
    share->vector = add_vectors(vectors);
  }
  check_no_rest(rest);
}

// Shifts the indices.  They are counted from the beginning of the owner's share, so that no run becomes long
// because of it.
void shift(SparseVector& vector, int64_t by) {
  for (uint32_t& index : vector.index) index = static_cast<uint32_t>(index + by);
}

// The share of the elements that one trainer owns.
struct Owned {
  Owned(uint64_t elements, int trainers, int rank)
      : begin(owner_begin(elements, trainers, rank)),
        size(owner_begin(elements, trainers, rank + 1) - begin) {}
  uint64_t begin, size;
};

// Each owner gets the entries of its share from all trainers, adds them up in the order of ranks, and sends
// the sum to all.  Indices on the way are counted from the beginning of the share.
void reduce_by_owners(Communicator& communicator, SparseEncoding encoding,
                      std::span<SparseShare* const> shares) {
  const int trainers = communicator.size(), rank = communicator.rank();
  const SparseEncoding of_sums = encoding_of_sums(encoding);
  std::vector<std::string> to_owners(static_cast<size_t>(trainers));
  for (const SparseShare* share : shares) {
    SparseVectors vectors = split_by_owner(share->vector, share->elements, trainers);
    for (int owner = 0; owner < trainers; ++owner) {
      SparseVector& vector = vectors[static_cast<size_t>(owner)];
      shift(vector, -static_cast<int64_t>(owner_begin(share->elements, trainers, owner)));
      pack(encoding, vector, to_owners[static_cast<size_t>(owner)]);
    }
  }
  const std::vector<std::string> mine = communicator.all_to_all(std::move(to_owners));
  std::vector<std::string_view> rest(mine.begin(), mine.end());
  std::string sums;
  for (const SparseShare* share : shares) {
    const Owned owned(share->elements, trainers, rank);
    SparseVectors vectors;
    for (size_t from = 0; from < rest.size(); ++from) {
      vectors.push_back(unpack(encoding, owned.size, from, rest[from]));
    }
    pack(of_sums, add_vectors(vectors), sums);
  }
  check_no_rest(rest);
  const std::vector<std::string> all = communicator.gather(std::move(sums));
  rest.assign(all.begin(), all.end());
  for (SparseShare* share : shares) {
    SparseVectors vectors;
    for (int owner = 0; owner < trainers; ++owner) {
      const Owned owned(share->elements, trainers, owner);
      const size_t from = static_cast<size_t>(owner);
      vectors.push_back(unpack(of_sums, owned.size, from, rest[from]));
      shift(vectors.back(), static_cast<int64_t>(owned.begin));
    }
    share->vector = join_vectors(vectors);
  }
  check_no_rest(rest);
}

// Exchanges the vectors as dense arrays, and then takes the elements that some trainer has sent.
void reduce_dense(Communicator& communicator, std::span<SparseShare* const> shares) {
  std::vector<std::vector<float>> whole;
  for (const SparseShare* share : shares) {
    std::vector<float>& values = whole.emplace_back(share->elements, kNobodySent);
    for (size_t i = 0; i < share->vector.size(); ++i) values[share->vector.index[i]] = share->vector.value[i];
  }
  std::vector<Elements> arrays(whole.begin(), whole.end());
  all_reduce_fused(communicator, arrays);
  for (size_t n = 0; n < shares.size(); ++n) {
    SparseVector& vector = shares[n]->vector;
    vector.clear();
    for (size_t i = 0; i < whole[n].size(); ++i) {
      if (std::bit_cast<uint32_t>(whole[n][i]) == std::bit_cast<uint32_t>(kNobodySent)) continue;
      vector.index.push_back(static_cast<uint32_t>(i));
      vector.value.push_back(whole[n][i]);
    }
  }
}

// Returns the largest number of bytes of an encoded vector: its values with indices, and the words that long
// runs add. index32 has 8 bytes for a value, run16 6 and 2 for each 65535 values without one, the varints at
// most 9.
uint64_t most_part_bytes(uint64_t elements, uint64_t selected) {
  return 9 * selected + 2 * (elements / 65535) + 16;
}

// Returns how many of the first shares fit into one message.
size_t num_together(std::span<SparseShare* const> shares) {
  uint64_t bytes = 0;
  size_t count = 0;
  for (const SparseShare* share : shares) {
    bytes += most_part_bytes(share->elements, share->selected);
    if (count > 0 && bytes > kMostPartBytes) break;
    ++count;
  }
  return count;
}

}  // namespace

// Groups the shares by the exchange that suits each, and makes one call for each exchange, in a fixed
// order.  All trainers choose alike, since elements, selected and the encoding are the same on all of them.
// A share that may not fit into one message goes as a dense array, even if another exchange is named.
void sparse_all_reduce(Communicator& communicator, std::optional<SparseExchange> named,
                       SparseEncoding encoding, std::span<SparseShare> shares) {
  auto exchange_of = [&](const SparseShare& share) {
    if (most_part_bytes(share.elements, share.selected) > kMostPartBytes) return SparseExchange::kDense;
    return named.value_or(cheapest_exchange({.elements = share.elements,
                                             .selected = share.selected,
                                             .num_trainers = communicator.size(),
                                             .encoding = encoding}));
  };
  for (const SparseExchange exchange :
       {SparseExchange::kAllGather, SparseExchange::kOwnerSplit, SparseExchange::kDense}) {
    std::vector<SparseShare*> chosen;
    for (SparseShare& share : shares) {
      if (exchange_of(share) == exchange) chosen.push_back(&share);
    }
    sparse_all_reduce(communicator, exchange, encoding, chosen);
  }
}

// Exchanges the shares together, as many at a time as surely fit into one message.  Every trainer cuts the
// list at the same places, since num_together looks at bounds and not at this trainer's values.
void sparse_all_reduce(Communicator& communicator, SparseExchange exchange, SparseEncoding encoding,
                       std::span<SparseShare* const> shares) {
  if (exchange == SparseExchange::kDense) {
    if (!shares.empty()) reduce_dense(communicator, shares);
    return;
  }
  const bool by_owners = exchange == SparseExchange::kOwnerSplit;
  while (!shares.empty()) {
    const size_t count = num_together(shares);
    const auto now = shares.first(count);
    by_owners ? reduce_by_owners(communicator, encoding, now)
              : reduce_by_all_gather(communicator, encoding, now);
    shares = shares.subspan(count);
  }
}

}  // namespace ps
