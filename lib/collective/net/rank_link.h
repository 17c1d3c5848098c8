// A connection to another rank.  Used by the rendezvous (collective/net/rendezvous.h), where it begins as a
// connection of an unknown peer, and by RankLanes, which has all those to a rank.
#ifndef PS_COLLECTIVE_NET_RANK_LINK_H_
#define PS_COLLECTIVE_NET_RANK_LINK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/net/messages.h"
#include "net/connection.h"
#include "net/counters.h"

namespace ps {

// Keeps frames that arrive until they are asked for, and frames to be sent until the connection takes them.
// The loop's thread owns it.  Its state changes while the loop runs, so a caller that waits checks it from
// run_until.
class RankLink final : private Connection::Handler {
 public:
  // A stranger may only send a hello.  After that it is not read until it is trusted.
  enum class Trust { kStranger, kTrusted };

  RankLink(Loop& loop, BufferPool& pool, std::unique_ptr<Stream> stream, Trust trust);

  void trust();

  // From now on the inbox has the room of one of `num` connections to the same rank.
  void share_inbox(int num);

  // `payload` may be null for an empty body.
  void send(RankFrame type, uint64_t request_id, std::shared_ptr<const Payload> payload);
  void send(RankFrame type, std::string body);

  // Returns true if the system has all bytes, and sends them while this rank computes, or if the connection is
  // closed.
  bool flushed() const { return !open() || (outbox_.empty() && connection_->queued_bytes() == 0); }

  // Returns the number of bytes that the peer's system does not have yet.
  uint64_t undelivered_bytes() const { return connection_->undelivered_bytes(); }

  // The received frames of the types hello, roster and chunk, in order.
  bool has_frame() const { return !inbox_.empty(); }
  const FrameHeader& first_header() const { return inbox_.front().header; }
  Frame take_frame();

  // Says how long the body of the next frame will be, if no other comes before it.
  void expect_body(uint64_t bytes) { connection_->expect_body(bytes); }

  // Takes the frames that have come, also those of which the loop does not know yet.  Asks a few times for a frame that has
  // not come.
  void receive_now();

  // Sets the function that answers roll calls: it returns the ranks that this rank waits for.
  void on_roll_call(std::function<std::vector<int>()> waits_for) { waits_for_ = std::move(waits_for); }
  void call_roll();
  // The answer to the last roll call; nullopt until it has come.
  const std::optional<std::vector<int>>& present() const { return present_; }

  // Drops all frames that are not written yet, tells the peer the reason, and closes.
  void give_up(const Error& reason);
  // Tells the peer that this rank leaves, and closes.
  void leave();
  // Ends the connection at once.  Buffers that were to be sent are not read any more.
  void cut();

  bool open() const { return !closed_; }
  const std::optional<Error>& closed() const { return closed_; }    // the reason
  const std::optional<Error>& gave_up() const { return gave_up_; }  // the error that the peer sent
  bool left() const { return left_; }
  // Returns true if the connection has ended without a message of the peer.
  bool lost() const { return closed_ && !left_ && !gave_up_; }

  const std::string& peer() const { return connection_->peer(); }
  // Without signs of life, whose number depends on the time.
  uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  struct Outgoing {
    FrameHeader header;
    std::shared_ptr<const Payload> payload;
  };

  std::optional<uint64_t> max_body_bytes(const FrameHeader& header) override;
  void on_frame(Frame frame) override;
  void on_refused(const FrameHeader& header, const Error& problem) override;
  void on_drained() override;
  void on_closed(const Error& reason) override;

  void pump();
  void receive_in_turn(Frame frame);
  void answer_roll_call();

  NetCounters counters_;
  Trust trust_;
  std::deque<Frame> inbox_;
  uint64_t inbox_bytes_ = 0, max_inbox_bytes_;
  bool paused_ = false;  // reading is paused because the inbox is full
  int tries_ = 2;        // how often receive_now asks at most
  std::deque<Outgoing> outbox_;
  uint64_t bytes_sent_ = 0;
  bool blocked_ = false;  // the connection takes no more until on_drained
  std::function<std::vector<int>()> waits_for_;
  std::optional<std::vector<int>> present_;
  std::optional<Error> closed_, gave_up_;
  bool left_ = false;
  std::unique_ptr<Connection> connection_;
};

}  // namespace ps

#endif  // PS_COLLECTIVE_NET_RANK_LINK_H_
