// Connection: frames over a stream, in both directions, with limits against slow, silent and hostile peers.
// Used by Server and Channel, which know the meaning of the frames.
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
    // Returns the longest allowed body, or nothing if the frame's type is not known.  The body of an error has
    // at most kMaxErrorBytes.
    virtual std::optional<uint64_t> max_body_bytes(const FrameHeader& header) = 0;

    // Called with a complete frame.  It must not throw or destroy the connection, but may close it.
    virtual void on_frame(Frame frame) = 0;

    // Called for a frame that was not accepted because it is damaged (kUnavailable), or too long or of an
    // unknown type or version (kUsage).  The connection goes on unless the version differs.
    virtual void on_refused(const FrameHeader& header, const Error& problem) = 0;

    // Called when the queue is half empty again after send has returned false.
    virtual void on_drained() {}

    // Called last, when the connection has ended; it may be destroyed in it.  The reason is kUnavailable, or the
    // one that the peer gave in a notice.
    virtual void on_closed(const Error& reason) = 0;

   protected:
    ~Handler() = default;
  };

  // Begins to read in the next turn of the loop.  All arguments but the stream must outlive the connection.
  Connection(Loop& loop, std::unique_ptr<Stream> stream, BufferPool& pool, const ConnectionOptions& options,
             NetCounters& counters, Handler& handler);
  ~Connection() = default;

  // From the next frame on, bodies that are incomplete are counted on this account.
  void count_on(std::shared_ptr<PeerAccount> account) { reader_.count_on(std::move(account)); }

  // Queues a frame, and writes what can be written at once.  The frame is always queued; the result is false if
  // more than max_queued_bytes are queued now.  A closed connection drops it.
  bool send(const FrameHeader& header, std::shared_ptr<const Payload> payload);

  // Tells the peer why it will be closed; see Handler::on_closed.
  void send_notice(const Error& reason);

  // While reading is paused, further frames wait in the peer, and frames that were read in this turn of the
  // loop are held here.
  void pause_reading() { paused_ = true; }
  void resume_reading();

  // See FrameReader::expect.
  void expect_body(uint64_t bytes) { reader_.expect(bytes); }

  // Reads and handles what has come already, without the loop.  For a caller that is about to wait for a frame; not for
  // handlers.
  void read_now() {
    if (wants_frames() && !starved_ && !reading_) on_readable();
  }

  // To be called when the pool has room again.
  void retry_starved();

  // Accepts no more frames, writes the queue, and ends the connection: within the options' close_timeout, or
  // within `timeout`.
  void close() { close(options_.close_timeout); }
  void close(Duration timeout);

  // Ends the connection at once.
  void fail(Error reason);

  bool open() const { return stream_ != nullptr && !end_.begun; }
  // Returns the number of bytes of frames that are not written yet or that the stream holds.
  uint64_t queued_bytes() const {
    return writer_.queued_bytes() + (stream_ != nullptr ? stream_->held_bytes() : 0);
  }
  // Returns the same number plus the bytes that the system has and that the peer's system does not have yet.
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
  bool starved_ = false;  // the pool has no memory
  bool reading_ = false;  // inside read_frames, which writes the queue at its end
  bool write_waits_ = false;
  bool drain_waits_ = false;  // send has returned false

  struct End {
    bool begun = false;           // closing has begun: the queue is still written
    bool peer_ended = false;      // the peer has ended its direction
    std::optional<Error> reason;  // set when the connection has ended
  };
  End end_;
};

}  // namespace ps

#endif  // PS_NET_CONNECTION_H_
