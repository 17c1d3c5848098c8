#include "collective/net/rank_lanes.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

void RankLanes::set_lane(int index, std::unique_ptr<RankLink> link) {
  PS_CHECK(!has_lane(index));
  link->share_inbox(num_lanes());
  lanes_[static_cast<size_t>(index)] = std::move(link);
}

void RankLanes::use_lanes(int num) {
  PS_CHECK(num >= 1 && num <= num_lanes());
  num_used_ = static_cast<size_t>(num);
  num_sent_ = num_received_ = 0;
  for (int index = 0; index < num; ++index) lane(index)->share_inbox(num);
}

bool RankLanes::whole() const {
  return std::ranges::none_of(lanes_, [](const auto& each) { return each == nullptr; });
}

void RankLanes::send(RankFrame type, uint64_t request_id, std::shared_ptr<const Payload> payload) {
  // The peer counts the chunks that it takes in the same way (next_received).
  const size_t index = type == RankFrame::kChunk ? num_sent_++ % num_used_ : 0;
  lanes_[index]->send(type, request_id, std::move(payload));
}

void RankLanes::send(RankFrame type, std::string body) {
  lanes_[0]->send(type, std::move(body));
}

bool RankLanes::flushed() const {
  return std::ranges::all_of(lanes_, [](const auto& each) { return each->flushed(); });
}

// Only chunks are counted: a roster comes before the first of them, over lane 0.
Frame RankLanes::take_frame() {
  Frame frame = next_received().take_frame();
  num_received_ += frame.header.type == static_cast<uint16_t>(RankFrame::kChunk) ? 1 : 0;
  return frame;
}

uint64_t RankLanes::undelivered_bytes() const {
  uint64_t bytes = 0;
  for_each_lane([&](const RankLink& each) { bytes += each.undelivered_bytes(); });
  return bytes;
}

void RankLanes::give_up(const Error& reason) {
  for_each_lane([&](RankLink& each) { each.give_up(reason); });
}

void RankLanes::leave() {
  for_each_lane([](RankLink& each) { each.leave(); });
}

void RankLanes::cut() {
  for_each_lane([](RankLink& each) { each.cut(); });
}

bool RankLanes::any_open() const {
  return std::ranges::any_of(lanes_, [](const auto& each) { return each != nullptr && each->open(); });
}

bool RankLanes::open() const {
  return std::ranges::all_of(lanes_, [](const auto& each) { return each != nullptr && each->open(); });
}

const std::optional<Error>& RankLanes::gave_up() const {
  static const std::optional<Error> kNot;
  for (const auto& each : lanes_) {
    if (each != nullptr && each->gave_up()) return each->gave_up();
  }
  return kNot;
}

bool RankLanes::left() const {
  return std::ranges::all_of(lanes_, [](const auto& each) { return each != nullptr && each->left(); });
}

const RankLink* RankLanes::lost_lane() const {
  const auto found =
      std::ranges::find_if(lanes_, [](const auto& each) { return each != nullptr && each->lost(); });
  return found == lanes_.end() ? nullptr : found->get();
}

const std::string& RankLanes::peer() const {
  return (*std::ranges::find_if(lanes_, [](const auto& each) { return each != nullptr; }))->peer();
}

uint64_t RankLanes::bytes_sent() const {
  uint64_t bytes = 0;
  for_each_lane([&](const RankLink& each) { bytes += each.bytes_sent(); });
  return bytes;
}

}  // namespace ps
