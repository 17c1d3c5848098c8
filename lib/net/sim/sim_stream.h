// Connections of a simulated network.  See sim_network.h.
#ifndef PS_NET_SIM_SIM_STREAM_H_
#define PS_NET_SIM_SIM_STREAM_H_

#include <memory>
#include <string>

#include "net/sim/sim_links.h"
#include "net/transport.h"

namespace ps {

class SimConnection;

// One side of a connection: the state that its host's system has of it.  A side knows of the other one only what
// has arrived.  One owner thread, that of the network.
class SimSide {
 public:
  SimSide(SimConnection& connection, SimPlace& place, SimSide& peer);

  SimPlace& peer_place() { return peer_.place_; }

  // For the stream.
  IoResult read(std::span<const MutableBytes> into);
  IoResult write(std::span<const ConstBytes> from);
  void wait_readable();
  void wait_writable();
  uint64_t num_unread() const { return num_unread_; }
  void shutdown_write();
  void set_events(Stream::Events* events) { events_ = events; }
  void open();
  void close();

  // From now on, sent bytes do not arrive before `time`.
  void open_after(Time time) { last_arrival_ = time; }

  // Resets both sides now.
  void cut();

 private:
  uint64_t acceptable(uint64_t offered);
  void send(std::string bytes);
  void send_reset();
  void receive(const std::string& bytes);
  void receive_end();
  void receive_reset();
  void receive_credit(uint64_t bytes);
  void tell_readable();
  void tell_writable();
  // Calls a function of the stream's owner in a separate event.
  void tell_later(void (SimSide::*tell)());

  // Runs `task` on the peer when the bytes have arrived there, in the order of these calls.
  void carry(uint64_t bytes, std::function<void(SimSide& peer)> task);

  SimConnection& connection_;
  SimPlace& place_;
  SimSide& peer_;
  Stream::Events* events_ = nullptr;
  bool has_stream_ = false;
  std::string inbox_;  // bytes that have arrived; read up to inbox_begin_
  size_t inbox_begin_ = 0;
  uint64_t num_unread_ = 0;  // bytes sent that the peer has not reported as read
  Time last_arrival_{};      // time at which the last sent bytes arrive at the peer
  bool peer_ended_ = false, write_ended_ = false, reset_ = false;
  bool waits_readable_ = false, waits_writable_ = false;
};

// Lives as long as one of its streams, or an event on its way.  One owner thread, that of the network.
class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  SimConnection(SimPlace& near_host, SimPlace& far_host)
      : near(*this, near_host, far), far(*this, far_host, near) {}

  SimSide near, far;  // the sides that connected and accepted
};

class SimStream final : public Stream {
 public:
  SimStream(std::shared_ptr<SimConnection> connection, SimSide& side)
      : connection_(std::move(connection)), side_(side), peer_(side.peer_place().name()) {
    side_.open();
  }
  ~SimStream() override { side_.close(); }

  IoResult read(std::span<const MutableBytes> into) override { return side_.read(into); }
  IoResult write(std::span<const ConstBytes> from) override { return side_.write(from); }
  void wait_readable() override { side_.wait_readable(); }
  void wait_writable() override { side_.wait_writable(); }
  uint64_t undelivered_bytes() const override { return side_.num_unread(); }
  void shutdown_write() override { side_.shutdown_write(); }
  void set_events(Events* events) override { side_.set_events(events); }
  const std::string& peer() const override { return peer_; }

 private:
  const std::shared_ptr<SimConnection> connection_;
  SimSide& side_;
  const std::string peer_;
};

}  // namespace ps

#endif  // PS_NET_SIM_SIM_STREAM_H_
