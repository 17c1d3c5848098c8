// The messages between ranks over `net`, except the chunks of collectives.  They are the bodies of frames.
//
//   rank_hello := protocol:u32 rank:u32 size:u32 session:u64 fingerprint:u64 lane:u8 lanes:u8 port:u16
//                 host:text job:text
//   roster     := session:u64 num_missing:u32 missing:u32[num_missing] num:u32 {host:text port:u16}[num]
//   present    := num:u32 rank:u32[num]
//   text       := length:u16 bytes[length]                                                   (ps-wire(5))
//
// Used by the files of this folder.
#ifndef PS_COLLECTIVE_NET_MESSAGES_H_
#define PS_COLLECTIVE_NET_MESSAGES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collective/exchange.h"
#include "net/frame.h"
#include "net/transport.h"

namespace ps {

inline constexpr uint32_t kCollectiveProtocol = 6;

// Types of frames.  On the wire: never renumber.
enum class RankFrame : uint16_t {
  kHello = 64,  // the first frame from the side that connects
  kRoster,      // from rank 0: the missing ranks, and in the end the addresses of all
  kChunk,       // data of the collective call in the frame's request_id
  kRollCall,    // asks whether the peer still answers
  kPresent,     // the answer to a roll call
  kGaveUp,      // an error: the collective has failed
  kLeaves,      // the peer has left in good order; nothing more follows
};

inline constexpr int kMaxRanks = 1 << 16;
inline constexpr size_t kMaxNameBytes = 1024;  // limit of the name of a host or a job
inline constexpr uint64_t kMaxHelloBytes = 4096;
inline constexpr uint64_t kMaxRosterBytes = uint64_t{16} << 20;
inline constexpr uint64_t kMaxPresentBytes = 4 * (uint64_t{kMaxRanks} + 1);
inline constexpr uint64_t kMaxGatheredBytes = uint64_t{256} << 20;  // limit of the bytes that one rank gives

// The message with which a rank introduces itself on each connection: first to rank 0, then to the other ranks and
// over its further connections, with the session that rank 0 gave it.
struct RankHello {
  uint32_t protocol = kCollectiveProtocol;
  int rank = 0, size = 1;
  uint64_t session = 0;      // 0: the rank does not know it yet
  uint64_t fingerprint = 0;  // fingerprint of the settings that all ranks must have in common
  int lane = 0, lanes = 1;   // this connection is one of so many between the two ranks
  bool measures = false;     // the ranks measure how many of them to use
  Address listens;           // with an empty host: the host from which it connects
  std::string job;           // name of the job, for messages

  bool operator==(const RankHello&) const = default;
};

struct Roster {
  uint64_t session = 0;
  std::vector<int> missing;
  std::vector<Address> addresses;  // by rank: where it listens; empty while a rank is missing

  bool operator==(const Roster&) const = default;
};

// The decoders throw kUsage for bytes that are not such a message, and for ranks out of range.
std::string encode_rank_hello(const RankHello& hello);
RankHello decode_rank_hello(std::string_view body);
std::string encode_roster(const Roster& roster);
Roster decode_roster(std::string_view body);
std::string encode_present(const std::vector<int>& waits_for);
std::vector<int> decode_present(std::string_view body);

// A call and a mark as the request_id of a chunk: collective:u8 algorithm:u8 mark:u8 0:u8 number:u32, the first byte
// lowest.
uint64_t encode_call(const CollectiveCall& call, MessageMark mark);
CollectiveCall decode_call(uint64_t request_id);
MessageMark decode_mark(uint64_t request_id);

}  // namespace ps

#endif  // PS_COLLECTIVE_NET_MESSAGES_H_
