#include "ps/wire/run_messages.h"

#include "net/frame.h"
#include "ps/wire/message_body.h"

namespace ps {

std::string encode_chunk_request(uint32_t number) {
  std::string out;
  put(out, number);
  return out;
}

uint32_t decode_chunk_request(std::span<const char> body) {
  ByteReader in(text_of(body));
  const uint32_t number = in.get<uint32_t>();
  expect_end(in, "state chunk");
  return number;
}

// chunk_answer := known:u8 batches:u64 sender:u64 num_chunks:u32 bytes      (state_chunk in ps-wire(5))
std::string encode_chunk_answer(const StateChunkAnswer& answer) {
  std::string out;
  put(out, static_cast<uint8_t>(answer.known));
  put(out, answer.batches);
  put(out, answer.sender);
  put(out, answer.num_chunks);
  out += answer.chunk;
  return out;
}

StateChunkAnswer decode_chunk_answer(std::span<const char> body) {
  ByteReader in(text_of(body));
  StateChunkAnswer answer;
  answer.known = in.get<uint8_t>() != 0;
  answer.batches = in.get<uint64_t>();
  answer.sender = in.get<uint64_t>();
  answer.num_chunks = in.get<uint32_t>();
  if (!in.ok()) cut_short("state chunk");
  answer.chunk = in.get_bytes(in.remaining());
  return answer;
}

// ranks := count:u32 rank:u32[count]      (ps-wire(5))
static void put_ranks(std::span<const int> ranks, std::string& out) {
  put(out, static_cast<uint32_t>(ranks.size()));
  for (int rank : ranks) put(out, static_cast<uint32_t>(rank));
}

// The mask keeps the ranks of a damaged message from becoming negative.
static std::vector<int> get_ranks(ByteReader& in) {
  const uint32_t count = in.get<uint32_t>();
  if (!in.has(uint64_t{count} * sizeof(uint32_t))) cut_short("ranks");
  std::vector<int> ranks;
  for (uint32_t i = 0; i < count; ++i) ranks.push_back(static_cast<int>(in.get<uint32_t>() & INT32_MAX));
  return ranks;
}

std::string encode_absent(const AbsentRanks& absent) {
  std::string out;
  put_ranks(absent.awaited, out);
  put_ranks(absent.given_up, out);
  return out;
}

AbsentRanks decode_absent(std::span<const char> body) {
  ByteReader in(text_of(body));
  AbsentRanks absent;
  absent.awaited = get_ranks(in);
  absent.given_up = get_ranks(in);
  expect_end(in, "ranks");
  return absent;
}

std::string encode_run_end(const RunEnd& end) {
  std::string out;
  put(out, static_cast<uint8_t>(end.ended));
  put(out, end.passes);
  return out;
}

RunEnd decode_run_end(std::span<const char> body) {
  ByteReader in(text_of(body));
  RunEnd end;
  end.ended = in.get<uint8_t>() != 0;
  end.passes = in.get<uint64_t>();
  expect_end(in, "end of a run");
  return end;
}

void put_strand(const DataStrand& strand, std::string& out) {
  put(out, strand.share);
  put(out, strand.shares);
  put(out, strand.first);
  put(out, strand.stride);
}

// The limits leave room for sums of these numbers in 64 bits.
bool get_strand(ByteReader& in, DataStrand& strand) {
  strand.share = in.get<uint32_t>();
  strand.shares = in.get<uint32_t>();
  strand.first = in.get<uint64_t>();
  strand.stride = in.get<uint64_t>();
  constexpr uint64_t kMost = uint64_t{1} << 62;
  return in.ok() && strand.share < strand.shares && strand.first <= kMost && strand.stride > 0 &&
         strand.stride <= kMost;
}

// work := pass:u64 dealings:u64 batches_before:u64 some_left:u8 has_strand:u8 strand      (ps-wire(5))
//
// The strand is always there, so that all answers have the same length; without one it is the strand of a
// whole pass.
std::string encode_work(const RankWork& work) {
  std::string out;
  const DataStrand strand = work.strand.value_or(DataStrand());
  for (uint64_t number : {work.pass, work.dealings, work.batches_before}) put(out, number);
  put(out, static_cast<uint8_t>(work.some_left));
  put(out, static_cast<uint8_t>(work.strand.has_value()));
  put_strand(strand, out);
  return out;
}

RankWork decode_work(std::span<const char> body) {
  ByteReader in(text_of(body));
  RankWork work;
  DataStrand strand;
  for (uint64_t* number : {&work.pass, &work.dealings, &work.batches_before}) *number = in.get<uint64_t>();
  work.some_left = in.get<uint8_t>() != 0;
  const bool has_strand = in.get<uint8_t>() != 0;
  const bool is_strand = get_strand(in, strand);
  expect_end(in, "work");
  if (!is_strand) {
    fail(Code::kData, "work: every ", strand.stride, "th batch from ", strand.first, " on, of share ",
         strand.share, " of ", strand.shares);
  }
  if (has_strand) work.strand = strand;
  return work;
}

std::string encode_applied(uint64_t steps) {
  std::string out;
  put(out, steps);
  return out;
}

uint64_t decode_applied(std::span<const char> body) {
  ByteReader in(text_of(body));
  const uint64_t steps = in.get<uint64_t>();
  if (!in.ok()) cut_short("applied");
  expect_end(in, "applied");
  return steps;
}

}  // namespace ps
