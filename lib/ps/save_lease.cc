#include "ps/save_lease.h"

#include <algorithm>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

namespace {

constexpr size_t kMostNames = 16;  // that are remembered

}  // namespace

std::string encode_lease_request(const LeaseRequest& request) {
  std::string out;
  put(out, request.run);
  put(out, static_cast<uint8_t>(request.stage));
  out += request.name;
  return out;
}

LeaseRequest decode_lease_request(std::span<const char> body) {
  ByteReader in({body.data(), body.size()});
  LeaseRequest request;
  request.run = in.get<uint64_t>();
  const uint8_t stage = in.get<uint8_t>();
  request.name = in.get_bytes(in.remaining());
  if (!in.ok() || stage > static_cast<uint8_t>(SaveStage::kFailed)) {
    fail(Code::kData, "save lease: stage ", int{stage}, " in ", body.size(), " bytes");
  }
  request.stage = static_cast<SaveStage>(stage);
  return request;
}

std::string encode_saver(const Saver& saver) {
  std::string out;
  put(out, static_cast<uint8_t>(saver.elected));
  put(out, static_cast<uint32_t>(saver.rank));
  return out;
}

Saver decode_saver(std::span<const char> body) {
  ByteReader in({body.data(), body.size()});
  const bool elected = in.get<uint8_t>() != 0;
  const int rank = static_cast<int>(in.get<uint32_t>());
  if (!in.ok() || in.remaining() > 0) fail(Code::kData, "save lease: an answer of ", body.size(), " bytes");
  return {elected, rank};
}

bool SaveLease::was_saved(const std::string& name) const {
  return std::ranges::find(saved_, name) != saved_.end();
}

bool SaveLease::is_last(const LeaseRequest& request, int rank, uint64_t generation) const {
  return request.run == run_ && rank == rank_ && generation == generation_ && request.name == name_;
}

// A process that comes in place of one that saved has its rank: the other is no more.  So is a saver when
// another trainer is to save what comes after its pass: that ends when all have ended it.
bool SaveLease::begin(const LeaseRequest& request, int rank, uint64_t generation, Time now) {
  if (request.run != run_) *this = SaveLease();
  run_ = request.run;
  const bool others = rank != rank_ && rank_ >= 0;
  const bool asked = request.stage == SaveStage::kAsked;
  const bool others_save = others && saving_ && now < until_;
  if (was_saved(request.name) || (others_save && (asked || request.name == name_))) return false;
  if (asked && others && now < add_time(begun_, kOneSignal)) return false;
  rank_ = rank;
  generation_ = generation;
  name_ = request.name;
  saving_ = true;
  begun_ = now;
  until_ = add_time(now, kLength);
  return true;
}

Saver SaveLease::ask(const LeaseRequest& request, int rank, uint64_t generation, Time now) {
  if (request.stage == SaveStage::kBegin || request.stage == SaveStage::kAsked) {
    const bool elected = begin(request, rank, generation, now);
    return {elected, rank_};
  }
  if (!is_last(request, rank, generation)) return {false, rank_};
  if (!saving_) return {request.stage == SaveStage::kDone && was_saved(name_), rank_};  // asked again
  until_ = add_time(now, kLength);
  saving_ = request.stage == SaveStage::kGoesOn;
  if (request.stage == SaveStage::kDone) {
    saved_.push_back(name_);
    if (saved_.size() > kMostNames) saved_.pop_front();
  }
  return {true, rank_};
}

}  // namespace ps
