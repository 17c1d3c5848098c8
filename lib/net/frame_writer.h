// FrameWriter: writes frames to a stream, from a queue of payloads that are not copied.  Used by Connection.
#ifndef PS_NET_FRAME_WRITER_H_
#define PS_NET_FRAME_WRITER_H_

#include <array>
#include <deque>
#include <memory>

#include "net/frame.h"
#include "net/transport.h"

namespace ps {

// Owner thread only.
class FrameWriter {
 public:
  // Length and checksum of the body are filled in here.  A null payload is an empty body.
  void add(FrameHeader header, std::shared_ptr<const Payload> payload);

  // Writes what can be written without waiting, many frames in one system call.  Returns 0, or the error:
  // EAGAIN when the stream must become writable first.
  int flush(Stream& stream);

  void clear();

  bool empty() const { return queue_.empty(); }
  uint64_t queued_bytes() const { return queued_bytes_; }
  uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  struct Outgoing {
    std::array<char, kFrameHeaderBytes> header;
    std::shared_ptr<const Payload> payload;

    size_t num_pieces() const { return payload ? 2 + payload->parts.size() : 1; }
    ConstBytes piece(size_t index) const;  // the header, the head, the parts
  };

  size_t gather(std::array<ConstBytes, Stream::kMaxSpans>& spans) const;
  void advance(size_t bytes);

  std::deque<Outgoing> queue_;
  size_t piece_index_ = 0, piece_sent_ = 0;  // the position in the first frame at which writing goes on
  uint64_t queued_bytes_ = 0, bytes_sent_ = 0;
};

}  // namespace ps

#endif  // PS_NET_FRAME_WRITER_H_
