// Connections of a simulated network.  See sim_network.h.
#ifndef PS_NET_SIM_SIM_STREAM_H_
#define PS_NET_SIM_SIM_STREAM_H_

#include <memory>
#include <string>

#include "net/sim/sim_host.h"
#include "net/transport.h"

namespace ps {

class SimConnection;

// One side of a connection: what its host's system knows of it.  The sides know of each other only what
// arrives.
class SimSide {
 public:
  SimSide(SimConnection& connection, SimHost& host, SimSide& peer);

  SimHost& host() { return host_; }
  SimHost& peer_host() { return peer_.host_; }

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

  // Nothing that is sent arrives before `time`.
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
  // As an event of its own.
  void tell_later(void (SimSide::*tell)());

  // Does this to the peer when it has travelled there, in the order of these calls.
  void carry(uint64_t bytes, std::function<void(SimSide& peer)> task);

  SimConnection& connection_;
  SimHost& host_;
  SimSide& peer_;
  Stream::Events* events_ = nullptr;
  bool has_stream_ = false;
  std::string inbox_;  // arrived; read up to inbox_begin_
  size_t inbox_begin_ = 0;
  uint64_t num_unread_ = 0;  // bytes sent, of whose reading nothing was heard
  Time last_arrival_{};      // at the peer, of what was sent
  bool peer_ended_ = false, write_ended_ = false, reset_ = false;
  bool waits_readable_ = false, waits_writable_ = false;
};

// Lives as long as a stream of it, or something on its way.
class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  SimConnection(SimHost& near_host, SimHost& far_host)
      : near(*this, near_host, far), far(*this, far_host, near) {}

  SimSide near, far;  // who connected, and who accepted
};

class SimStream final : public Stream {
 public:
  SimStream(std::shared_ptr<SimConnection> connection, SimSide& side)
      : connection_(std::move(connection)), side_(side), peer_(side.peer_host().name()) {
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
