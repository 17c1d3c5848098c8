// The messages of gatherings.  The text that a trainer gives, and the texts that all trainers gave, travel in pieces, so that
// no message keeps a shard from others for long.  ps-wire(5).  Used by RemoteGroup and by Gathering.
#ifndef PS_PS_WIRE_GATHER_H_
#define PS_PS_WIRE_GATHER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ps/wire/protocol.h"

namespace ps {

inline constexpr uint64_t kMostGivenBytes = 256 << 20;        // by one trainer to one gathering
inline constexpr uint64_t kMaxGatherBytes = 9 << 20;          // of a request, with its numbers
inline constexpr uint64_t kGatherPieceBytes = kMessageBytes;  // of a piece

// Before what a trainer gathers: nothing at all is from one that is not there.  The second is of the last
// gathering of a run with checkpoints, when everything is done.
inline constexpr char kGathered = 1, kGatheredAtEnd = 2;

// A piece of the text that a trainer gives.  Pieces follow each other; the last one has no rest.
struct GatherRequest {
  uint64_t number = 0;          // of the gathering
  std::string_view bytes = {};  // points into the body
  uint64_t first = 0;           // offset of the bytes in the whole text
  uint64_t rest = 0;            // bytes of the text behind these

  uint64_t size() const { return first + bytes.size() + rest; }  // of the whole text
};

// A request for more bytes of the texts that all trainers gave, from `first` on, after the answer to the last piece.
struct GatheredRequest {
  uint64_t number = 0;
  uint64_t first = 0;
};

// The bytes before those of a piece in the body.
std::string encode_gather_head(const GatherRequest& request);
std::string encode_gather(const GatherRequest& request);
std::string encode_gathered_request(const GatheredRequest& request);

// All throw kData for a body that is not well-formed; decode_gather also for a gift of more than kMostGivenBytes, or a
// piece without bytes that is not the last.
GatherRequest decode_gather(std::string_view body);
GatheredRequest decode_gathered_request(std::span<const char> body);

// The answer to the last piece: sizes of what the ranks gave, and the first of its bytes; with all of them it is an
// answer that decode_gathered takes.
//   num:u32 size:u64[num] bytes of each, by rank
std::string encode_gathered(std::span<const std::string> all);
std::string encode_gathered_sizes(std::span<const std::string> all);
std::vector<std::string> decode_gathered(std::span<const char> body);

// The number of ranks in an answer, the bytes of its list of sizes, and the bytes of the whole answer.
struct GatheredLength {
  uint64_t num = 0, sizes = 0, all = 0;
};

// `begin` has the sizes at least.  Throws kData when it has not, or when somebody gave more than may be.
GatheredLength gathered_length(std::span<const char> begin);

}  // namespace ps

#endif  // PS_PS_WIRE_GATHER_H_
