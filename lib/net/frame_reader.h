// FrameReader: reads frames from a stream.  Used by Connection.
#ifndef PS_NET_FRAME_READER_H_
#define PS_NET_FRAME_READER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "net/buffer_pool.h"
#include "net/frame.h"
#include "net/peer_accounts.h"
#include "net/transport.h"

namespace ps {

// The result of next().
enum class ReadState {
  kFrame,    // a whole frame, checked
  kRefused,  // a frame that the owner or the checksum refuses; it was skipped, and the next one can be
             // read
  kBlocked,  // no more bytes have come: wait until the stream is readable
  kNoRoom,   // the pool is full: call again when it has room
  kEnded,    // the peer ended the stream between two frames
  kLost,     // the stream failed: see problem()
  kBroken,   // the bytes are no frame, and nothing more can be read: see problem()
};

// Reads ahead into a small area, so that a small frame, or many, cost one system call; the rest of a large
// body goes straight to where it stays.  Nothing is allocated before the header is checked and its length
// allowed, except for a body that the owner expects.
//
// Owner thread only.
class FrameReader {
 public:
  // Returns the longest allowed body, or nothing for an unknown type.
  using Limit = std::function<std::optional<uint64_t>(const FrameHeader&)>;

  FrameReader(BufferPool& pool, Limit limit) : pool_(pool), limit_(std::move(limit)) {}

  // From the next frame on, bodies that are incomplete are counted on this account.
  void count_on(std::shared_ptr<PeerAccount> account) { account_ = std::move(account); }

  ReadState next(Stream& stream, Frame& frame);

  // Says that the body of the next frame will probably have so many bytes: header and body then cost one system call,
  // and the body comes straight to where it stays.  A wrong guess costs a copy.  For a peer whose bodies are not counted.
  void expect(uint64_t body_bytes);

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
  bool in_pieces() const;
  std::optional<uint64_t> settle_guess();
  bool find_room();
  ReadState read_body(Stream& stream);
  ReadState finish_body(Frame& frame);
  ReadState fill(Stream& stream, MutableBytes body);
  bool find_guess_room();
  ReadState fill_guess(Stream& stream);
  ReadState count(const IoResult& result, size_t asked);
  ReadState break_off(ReadState state, std::string problem);
  void use_ahead();

  BufferPool& pool_;
  const Limit limit_;
  std::shared_ptr<PeerAccount> account_;                      // null: bodies are not counted
  std::vector<char> ahead_ = std::vector<char>(kAheadBytes);  // longer only after a wrong guess
  size_t begin_ = 0, end_ = 0;  // the bytes that were read ahead and are not used yet
  bool drained_ = false;        // the last read took all that the stream had
  uint64_t bytes_received_ = 0;

  // The body that is expected next, until the header before it is known.
  struct Guess {
    uint64_t body_bytes = 0;  // 0: none is expected
    Buffer room;              // empty until the stream is read
    uint64_t received = 0;    // bytes that have come into `room`
  };
  Guess guess_;

  // The frame that is being read.
  FrameHeader header_;
  bool has_header_ = false, has_body_ = false;
  std::optional<Error> problem_;  // if set, the body is skipped
  Buffer body_;
  AccountedBytes coming_;  // counts the body until it is complete
  uint64_t received_ = 0;  // bytes of the body
  bool at_once_ = false;   // the whole body came with the header
  ByteHasher hasher_;      // of a body that is hashed in pieces
};

}  // namespace ps

#endif  // PS_NET_FRAME_READER_H_
