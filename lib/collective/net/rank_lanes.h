// The connections to another rank, one or several, which are called lanes.  Used by the rendezvous
// (collective/net/rendezvous.h), which fills them in, and by NetExchange.
//
// Chunks go over the lanes in turn, the first one over lane 0: the peer takes them from its lanes in the same turn, so
// that they come in the order in which they were sent, although lanes are of different speeds.  All other frames go over
// lane 0, but for farewells, which go over each lane.  Chunks may use fewer lanes than there are.
#ifndef PS_COLLECTIVE_NET_RANK_LANES_H_
#define PS_COLLECTIVE_NET_RANK_LANES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/net/rank_link.h"

namespace ps {

// The loop's thread owns it.  Until it is whole, only those methods may be called that say so.
class RankLanes {
 public:
  explicit RankLanes(int num_lanes)
      : lanes_(static_cast<size_t>(num_lanes)), num_used_(static_cast<size_t>(num_lanes)) {}

  // Any time.  has_lane and set_lane take an index below num_lanes.
  int num_lanes() const { return static_cast<int>(lanes_.size()); }
  bool has_lane(int index) const { return lane(index) != nullptr; }
  void set_lane(int index, std::unique_ptr<RankLink> link);
  bool whole() const;

  // Once it is whole.  Sends and takes later chunks over the first `num` lanes, the next one over lane 0.  The peer must do
  // the same between the same two chunks.
  void use_lanes(int num);
  int num_used() const { return static_cast<int>(num_used_); }

  // Once there is lane 0.  Frames are those of RankLink.
  void send(RankFrame type, uint64_t request_id, std::shared_ptr<const Payload> payload);
  void send(RankFrame type, std::string body);

  bool flushed() const;

  // The next frame in order.
  bool has_frame() const { return next_received().has_frame(); }
  const FrameHeader& first_header() const { return next_received().first_header(); }
  Frame take_frame();

  // As RankLink's, of the lane over which the next chunk comes.
  void expect_body(uint64_t bytes) { next_received().expect_body(bytes); }
  void receive_now() { next_received().receive_now(); }

  void on_roll_call(std::function<std::vector<int>()> waits_for) {
    lanes_[0]->on_roll_call(std::move(waits_for));
  }
  void call_roll() { lanes_[0]->call_roll(); }
  const std::optional<std::vector<int>>& present() const { return lanes_[0]->present(); }

  // Any time; each is done with all lanes that there are.
  uint64_t undelivered_bytes() const;
  void give_up(const Error& reason);
  void leave();
  void cut();
  bool any_open() const;

  // Any time.  A rank has given up or is lost with the first of its lanes, and has left with the last.
  const std::optional<Error>& gave_up() const;
  bool lost() const { return !gave_up() && lost_lane() != nullptr; }
  bool left() const;
  bool open() const;                                            // each lane
  const Error& loss() const { return *lost_lane()->closed(); }  // the reason; for one that is lost

  // Any time once there is a lane.
  const std::string& peer() const;
  uint64_t bytes_sent() const;

 private:
  template <class Body>
  void for_each_lane(const Body& body) const {
    for (const auto& each : lanes_) {
      if (each != nullptr) body(*each);
    }
  }
  RankLink* lane(int index) const { return lanes_[static_cast<size_t>(index)].get(); }
  RankLink& next_received() const { return *lanes_[num_received_ % num_used_]; }
  const RankLink* lost_lane() const;

  std::vector<std::unique_ptr<RankLink>> lanes_;  // null: not connected yet
  size_t num_used_;                               // lanes over which chunks go
  size_t num_sent_ = 0, num_received_ = 0;        // chunks since these lanes are used
};

}  // namespace ps

#endif  // PS_COLLECTIVE_NET_RANK_LANES_H_
