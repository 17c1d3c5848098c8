// Frames out of a stream.  Used by Connection.
#ifndef PS_NET_FRAME_READER_H_
#define PS_NET_FRAME_READER_H_

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/hash.h"
#include "net/buffer_pool.h"
#include "net/frame.h"
#include "net/peer_accounts.h"
#include "net/transport.h"

namespace ps {

// The result of next().
enum class ReadState {
  kFrame,    // a whole frame, checked
  kRefused,  // a frame that its owner or its checksum refuses: its bytes are gone by, the next one can be
             // read
  kBlocked,  // no more has come: wait until the stream is readable
  kNoRoom,   // the budget is used up: call again when there is room
  kEnded,    // the peer ended the stream between two frames
  kLost,     // the stream failed: see problem()
  kBroken,   // what comes is no frame, and nothing more can be read: see problem()
};

// Reads ahead into a small area, so that a small frame, or many, cost one system call; the rest of a large
// body goes straight to where it stays.  Nothing is allocated before the header is checked and its length
// allowed.
//
// Owner thread only.
class FrameReader {
 public:
  // How long a body may be; nothing for a type that is not known.
  using Limit = std::function<std::optional<uint64_t>(const FrameHeader&)>;

  FrameReader(BufferPool& pool, Limit limit) : pool_(pool), limit_(std::move(limit)) {}

  // Bodies of which not all has come are counted on this account, from the next frame on.
  void count_on(std::shared_ptr<PeerAccount> account) { account_ = std::move(account); }

  ReadState next(Stream& stream, Frame& frame);

  // To be called when the stream has become readable again.
  void resume() { drained_ = false; }

  // After kRefused: the frame that was refused, and why.  After kLost and kBroken: why.
  const FrameHeader& header() const { return header_; }
  const Error& problem() const { return *problem_; }

  bool inside_frame() const { return has_header_ || begin_ < end_; }
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  static constexpr size_t kAheadBytes = 8192;

  ReadState read_header(Stream& stream);
  ReadState judge(HeaderFault fault);
  ReadState accept_header();
  void check_header();
  bool find_room();
  ReadState read_body(Stream& stream);
  ReadState finish_body(Frame& frame);
  ReadState fill(Stream& stream, MutableBytes body);
  ReadState break_off(ReadState state, std::string problem);
  void use_ahead();

  BufferPool& pool_;
  const Limit limit_;
  std::shared_ptr<PeerAccount> account_;  // null: counted by nobody
  std::array<char, kAheadBytes> ahead_;
  size_t begin_ = 0, end_ = 0;  // of what was read ahead and not used yet
  bool drained_ = false;        // the last read took all that the stream had
  uint64_t bytes_received_ = 0;

  // The frame that is being read.
  FrameHeader header_;
  bool has_header_ = false, has_body_ = false;
  std::optional<Error> problem_;  // set: the body is passed over, in pieces
  Buffer body_;
  AccountedBytes coming_;  // of the body, until it is whole
  uint64_t received_ = 0;  // bytes of the body
  bool at_once_ = false;   // the whole body was read ahead; else hasher_ follows it
  ByteHasher hasher_;
};

}  // namespace ps

#endif  // PS_NET_FRAME_READER_H_
