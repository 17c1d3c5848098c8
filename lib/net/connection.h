// Frames over a stream, in both directions, with limits against slow, silent and hostile peers.  Used by
// Server and Channel, which know what the frames mean.
#ifndef PS_NET_CONNECTION_H_
#define PS_NET_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>

#include "net/buffer_pool.h"
#include "net/counters.h"
#include "net/frame.h"
#include "net/frame_reader.h"
#include "net/frame_writer.h"
#include "net/loop.h"
#include "net/peer_watch.h"
#include "net/transport.h"

namespace ps {

// Everything happens on the loop's thread.  The handler is never called inside the constructor, send, close
// or fail, but send may be called inside the handler.
class Connection final : private Stream::Events {
 public:
  class Handler {
   public:
    // How long the body may be; nothing when a frame like this is not known.  One flagged as an error is at
    // most kMaxErrorBytes long.
    virtual std::optional<uint64_t> max_body_bytes(const FrameHeader& header) = 0;

    // A frame that arrived whole.  The connection must not be destroyed in it, but closed; nothing is thrown.
    virtual void on_frame(Frame frame) = 0;

    // A frame that was not accepted: damaged (kUnavailable), too long, of unknown type or version (kUsage).
    // The connection goes on, unless the version is another.
    virtual void on_refused(const FrameHeader& header, const Error& problem) = 0;

    // After send has returned false: the queue is half empty again.
    virtual void on_drained() {}

    // The end, and the last call; the connection may be destroyed in it.  kUnavailable, or what the peer gave
    // as its reason in a notice.
    virtual void on_closed(const Error& reason) = 0;

   protected:
    ~Handler() = default;
  };

  // Reads from the next turn of the loop on.  All but the stream must outlive the connection.
  Connection(Loop& loop, std::unique_ptr<Stream> stream, BufferPool& pool, const ConnectionOptions& options,
             NetCounters& counters, Handler& handler);
  ~Connection() = default;

  // Bodies of which not all has come are counted on this account, from the next frame on.
  void count_on(std::shared_ptr<PeerAccount> account) { reader_.count_on(std::move(account)); }

  // Queues a frame, and writes what can be written at once.  The frame is always taken; false when more than
  // max_queued_bytes are queued now.  On a closed connection it is dropped.
  bool send(const FrameHeader& header, std::shared_ptr<const Payload> payload);

  // Tells the peer why it will be closed; see Handler::on_closed.
  void send_notice(const Error& reason);

  // While reading is paused, further frames wait in the peer, and frames that were read in this turn of the
  // loop are held here.
  void pause_reading() { paused_ = true; }
  void resume_reading();

  // To be called when the pool has room again.
  void retry_starved();

  // No frame is taken any more; what is queued is written, then the connection ends: within the options' close_timeout, or
  // within `timeout`.
  void close() { close(options_.close_timeout); }
  void close(Duration timeout);

  // Ends it now.
  void fail(Error reason);

  bool open() const { return stream_ != nullptr && !end_.begun; }
  // Bytes of frames that this process has not let go of: not written yet, or held by the stream.
  uint64_t queued_bytes() const {
    return writer_.queued_bytes() + (stream_ != nullptr ? stream_->held_bytes() : 0);
  }
  // The same, with those that the system has and the peer's does not.
  uint64_t undelivered_bytes() const {
    return writer_.queued_bytes() + (stream_ != nullptr ? stream_->undelivered_bytes() : 0);
  }
  const std::string& peer() const { return peer_; }
  Access access() const { return access_; }

 private:
  void on_readable() override;
  void on_writable() override;

  template <class Body>
  void guarded(Body&& body);

  bool wants_frames() const { return open() && !paused_; }
  void read_frames();
  bool read_frame();
  void receive(Frame frame);
  void refuse();
  std::optional<uint64_t> limit(const FrameHeader& header);
  void discard();
  void flush();
  void end_writing();

  void tick();
  void time_out(const std::string& reason);

  Loop& loop_;
  const ConnectionOptions options_;
  NetCounters& counters_;
  Handler& handler_;
  std::unique_ptr<Stream> stream_;  // null once closed
  const std::string peer_;
  const Access access_;
  PeerWatch watch_;

  FrameReader reader_;
  FrameWriter writer_;
  Timer read_timer_, tick_timer_, close_timer_;
  bool paused_ = false;   // by the owner
  bool starved_ = false;  // by the budget
  bool reading_ = false;  // inside read_frames: what is sent is written at its end
  bool write_waits_ = false;
  bool drain_waits_ = false;  // send has returned false

  struct End {
    bool begun = false;           // what is queued is still written
    bool peer_ended = false;      // its direction
    std::optional<Error> reason;  // once it is over
  };
  End end_;
};

}  // namespace ps

#endif  // PS_NET_CONNECTION_H_
