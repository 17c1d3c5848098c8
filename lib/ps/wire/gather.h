// The messages of gatherings.  The text that a trainer gives, and the texts that all trainers gave, travel in slices, so that
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

inline constexpr uint64_t kMostGivenBytes = 256 << 20;        // from one trainer in one gathering
inline constexpr uint64_t kMaxGatherBytes = 9 << 20;          // of a request, with its numbers
inline constexpr uint64_t kGatherSliceBytes = kMessageBytes;  // size of a slice

// The first byte of the text that a trainer gives; the text of an absent trainer is empty, without it.  The
// second value marks the last gathering of a run with checkpoints, when everything is done.
inline constexpr char kGathered = 1, kGatheredAtEnd = 2;

// A slice of the text that a trainer gives.  Slices are sent in order; the `rest` of the last one is 0.
struct GatherRequest {
  uint64_t number = 0;          // number of the gathering
  std::string_view bytes = {};  // points into the body
  uint64_t first = 0;           // offset of the bytes in the whole text
  uint64_t rest = 0;            // number of bytes of the text after these

  uint64_t size() const { return first + bytes.size() + rest; }  // size of the whole text
};

// A request for more bytes of the texts that all trainers gave, from `first` on, after the answer to the last slice.
struct GatheredRequest {
  uint64_t number = 0;
  uint64_t first = 0;
};

// Returns the head of a body, which stands before the bytes of the slice.
std::string encode_gather_head(const GatherRequest& request);
std::string encode_gathered_request(const GatheredRequest& request);

// All throw kData for a body that is not well-formed; decode_gather also throws for a text of more than
// kMostGivenBytes, and for a slice without bytes that is not the last one.
GatherRequest decode_gather(std::string_view body);
GatheredRequest decode_gathered_request(std::span<const char> body);

// The answer to the last slice: the sizes of the ranks' texts, and the first bytes of these.  Once all bytes
// have been appended, decode_gathered takes it.
//   num:u32 size:u64[num] bytes of each, by rank
std::string encode_gathered(std::span<const std::string> all);
std::string encode_gathered_sizes(std::span<const std::string> all);
std::vector<std::string> decode_gathered(std::span<const char> body);

// Three numbers of an answer: that of its ranks, that of the bytes of its list of sizes, and that of the bytes
// of the whole answer.
struct GatheredLength {
  uint64_t num = 0, sizes = 0, all = 0;
};

// `begin` must contain at least the list of sizes.  Throws kData if it does not, or if a trainer gave more than
// is allowed.
GatheredLength gathered_length(std::span<const char> begin);

}  // namespace ps

#endif  // PS_PS_WIRE_GATHER_H_
