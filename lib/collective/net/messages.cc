#include "collective/net/messages.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

namespace {

constexpr uint8_t kMeasures = 0x80;  // a bit of the number of lanes

void put_text(std::string& out, const std::string& text) {
  put(out, static_cast<uint16_t>(std::min(text.size(), kMaxNameBytes)));
  out.append(text, 0, kMaxNameBytes);
}

std::string get_text(ByteReader& reader) {
  const size_t size = reader.get<uint16_t>();
  if (size > kMaxNameBytes)
    fail(Code::kUsage, "a name of ", size, " bytes, expected at most ", kMaxNameBytes);
  return std::string(reader.get_bytes(size));
}

void check_end(const ByteReader& reader, const char* what) {
  if (!reader.ok() || reader.remaining() != 0) fail(Code::kUsage, what, " of the wrong length");
}

int get_rank(ByteReader& reader) {
  const uint32_t rank = reader.get<uint32_t>();
  if (rank >= uint32_t{kMaxRanks}) fail(Code::kUsage, "rank ", rank, ", expected one below ", kMaxRanks);
  return static_cast<int>(rank);
}

void put_ranks(std::string& out, const std::vector<int>& ranks) {
  put(out, static_cast<uint32_t>(ranks.size()));
  for (int rank : ranks) put(out, static_cast<uint32_t>(rank));
}

// Checks the number against the bytes that there are before memory is allocated for it.
std::vector<int> get_ranks(ByteReader& reader) {
  const uint64_t num = reader.get<uint32_t>();
  if (!reader.has(num * sizeof(uint32_t))) fail(Code::kUsage, "a list of ", num, " ranks that is cut short");
  std::vector<int> ranks(num);
  for (int& rank : ranks) rank = get_rank(reader);
  return ranks;
}

}  // namespace

std::string encode_rank_hello(const RankHello& hello) {
  std::string out;
  put(out, hello.protocol);
  put(out, static_cast<uint32_t>(hello.rank));
  put(out, static_cast<uint32_t>(hello.size));
  put(out, hello.session);
  put(out, hello.fingerprint);
  put(out, static_cast<uint8_t>(hello.lane));
  put(out, static_cast<uint8_t>(hello.lanes | (hello.measures ? kMeasures : 0)));
  put(out, hello.listens.port);
  put_text(out, hello.listens.host);
  put_text(out, hello.job);
  return out;
}

// A message of another protocol version may have other bytes, so only its version number is read.
RankHello decode_rank_hello(std::string_view body) {
  ByteReader reader(body);
  RankHello hello;
  hello.protocol = reader.get<uint32_t>();
  if (reader.ok() && hello.protocol != kCollectiveProtocol) {
    fail(Code::kUsage, "version ", hello.protocol, " of the collectives' protocol, expected ",
         kCollectiveProtocol);
  }
  hello.rank = get_rank(reader);
  // Sizes are compared as unsigned numbers, before a large one could become a negative int.
  const uint32_t size = reader.get<uint32_t>();
  if (size > uint32_t{kMaxRanks} || static_cast<uint32_t>(hello.rank) >= size) {
    fail(Code::kUsage, "rank ", hello.rank, " of ", size, ", expected one below a size of at most ",
         kMaxRanks);
  }
  hello.size = static_cast<int>(size);
  hello.session = reader.get<uint64_t>();
  hello.fingerprint = reader.get<uint64_t>();
  hello.lane = reader.get<uint8_t>();
  const uint8_t lanes = reader.get<uint8_t>();
  hello.lanes = lanes & ~kMeasures;
  hello.measures = (lanes & kMeasures) != 0;
  if (reader.ok() && hello.lane >= hello.lanes)
    fail(Code::kUsage, "connection ", hello.lane, " of ", hello.lanes, " of rank ", hello.rank);
  hello.listens.port = reader.get<uint16_t>();
  hello.listens.host = get_text(reader);
  hello.job = get_text(reader);
  check_end(reader, "a rank's hello");
  return hello;
}

std::string encode_roster(const Roster& roster) {
  std::string out;
  put(out, roster.session);
  put_ranks(out, roster.missing);
  put(out, static_cast<uint32_t>(roster.addresses.size()));
  for (const Address& address : roster.addresses) {
    put_text(out, address.host);
    put(out, address.port);
  }
  return out;
}

Roster decode_roster(std::string_view body) {
  ByteReader reader(body);
  Roster roster;
  roster.session = reader.get<uint64_t>();
  roster.missing = get_ranks(reader);
  const uint64_t num = reader.get<uint32_t>();
  // The number of addresses is bounded by the bytes that have come, as that of ranks is.
  constexpr size_t kLeastBytes = 2 * sizeof(uint16_t);  // least bytes of an address
  if (num > uint64_t{kMaxRanks} || !reader.has(num * kLeastBytes)) {
    fail(Code::kUsage, "a roster of ", num, " addresses that is cut short");
  }
  for (uint64_t i = 0; i < num; ++i) {
    std::string host = get_text(reader);
    roster.addresses.push_back({std::move(host), reader.get<uint16_t>()});
  }
  check_end(reader, "a roster");
  return roster;
}

std::string encode_present(const std::vector<int>& waits_for) {
  std::string out;
  put_ranks(out, waits_for);
  return out;
}

std::vector<int> decode_present(std::string_view body) {
  ByteReader reader(body);
  std::vector<int> ranks = get_ranks(reader);
  check_end(reader, "an answer to a roll call");
  return ranks;
}

uint64_t encode_call(const CollectiveCall& call, MessageMark mark) {
  return uint64_t{static_cast<uint8_t>(call.collective)} | uint64_t{call.algorithm} << 8 |
         uint64_t{static_cast<uint8_t>(mark)} << 16 | uint64_t{call.number} << 32;
}

CollectiveCall decode_call(uint64_t request_id) {
  return {static_cast<Collective>(request_id & 0xff), static_cast<uint8_t>(request_id >> 8),
          static_cast<uint32_t>(request_id >> 32)};
}

MessageMark decode_mark(uint64_t request_id) {
  return static_cast<MessageMark>(request_id >> 16 & 0xff);
}

}  // namespace ps
