// The messages of a run that name no rows: the work of a rank, the state chunks of trainers, the ranks that are absent, the
// end of the run, and the steps that are applied.  ps-wire(5) has their grammar.  Used by shards and their trainers.
#ifndef PS_PS_WIRE_RUN_MESSAGES_H_
#define PS_PS_WIRE_RUN_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "store/data_strand.h"

namespace ps {

// The data of a pass that a rank trains.
struct RankWork {
  uint64_t pass = 0, dealings = 0;   // number of times that the rest of the pass was dealt
  uint64_t batches_before = 0;       // batches of the rank in this pass before the strand
  bool some_left = false;            // some rank has a strand
  std::optional<DataStrand> strand;  // empty: the rank waits for the next dealing, or for the end of the pass
};

// The ranks of a run that have no connection, and have not ended.
struct AbsentRanks {
  std::vector<int> awaited;   // the others wait for these
  std::vector<int> given_up;  // the others have gone on without these, or have begun without them
};

// The state of the last run as a trainer would find it that came now.
struct RunEnd {
  bool ended = false;  // all trainers of the run have ended it, and no other run has begun
  // Number of passes of the run, if a trainer that comes has nothing left to do; else 0.
  uint64_t passes = 0;
};

// A trainer state chunk that a shard has.
struct StateChunkAnswer {
  bool known = false;    // the trainer has pushed no batch since it sent its chunks
  uint64_t batches = 0;  // the number of batches that it had done when it sent them
  uint64_t sender = 0;   // generation of the process that sent them; 0: they are of a checkpoint
  uint32_t num_chunks = 0;
  std::string_view chunk = {};  // the chunk that was asked for, if it exists
};

std::string encode_chunk_request(uint32_t number);
std::string encode_chunk_answer(const StateChunkAnswer& answer);
std::string encode_absent(const AbsentRanks& absent);
std::string encode_run_end(const RunEnd& end);
std::string encode_work(const RankWork& work);
std::string encode_applied(uint64_t steps);

// A strand in a message or a snapshot: share:u32 shares:u32 first:u64 stride:u64. get_strand returns false if
// the numbers do not describe a strand.
void put_strand(const DataStrand& strand, std::string& out);
bool get_strand(ByteReader& in, DataStrand& strand);

// All throw kData "what is wrong" unless the whole body is well-formed.
uint32_t decode_chunk_request(std::span<const char> body);
StateChunkAnswer decode_chunk_answer(std::span<const char> body);  // points into the body
AbsentRanks decode_absent(std::span<const char> body);
RunEnd decode_run_end(std::span<const char> body);
RankWork decode_work(std::span<const char> body);
uint64_t decode_applied(std::span<const char> body);

}  // namespace ps

#endif  // PS_PS_WIRE_RUN_MESSAGES_H_
