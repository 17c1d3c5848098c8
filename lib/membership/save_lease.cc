#include "membership/save_lease.h"

#include <algorithm>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

namespace {

constexpr size_t kMostNames = 16;  // names that are remembered

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

SaveLease::Lease* SaveLease::find(const std::string& name) {
  auto found = std::ranges::find(leases_, name, &Lease::name);
  return found == leases_.end() ? nullptr : &*found;
}

// A process with the rank of the trainer that saved has replaced it: the earlier process has ended.
Saver SaveLease::begin(const LeaseRequest& request, const Lease& asker, Time now) {
  if (request.run != run_) leases_.clear();
  run_ = request.run;
  auto saves = [&](const Lease& lease) {
    return lease.rank != asker.rank && !lease.saved && now < lease.until;
  };
  const Lease* same = find(request.name);
  if (same != nullptr && (same->saved || saves(*same))) return {false, same->rank};
  for (const Lease& lease : leases_) {
    const bool same_signal =
        lease.asked && lease.rank != asker.rank && now < add_time(lease.begun, kOneSignal);
    if (asker.asked && (saves(lease) || same_signal)) return {false, lease.rank};
  }
  std::erase_if(leases_, [&](const Lease& lease) { return lease.name == request.name; });
  leases_.push_back(asker);
  if (leases_.size() > kMostNames) leases_.pop_front();
  return {true, asker.rank};
}

bool SaveLease::saves_pass(Time now) const {
  return std::ranges::any_of(
      leases_, [now](const Lease& each) { return !each.asked && !each.saved && now < each.until; });
}

Saver SaveLease::ask(const LeaseRequest& request, int rank, uint64_t generation, Time now) {
  const bool asked = request.stage == SaveStage::kAsked;
  if (asked || request.stage == SaveStage::kBegin) {
    return begin(request, {request.name, rank, generation, asked, false, now, add_time(now, kLength)}, now);
  }
  Lease* lease = request.run == run_ ? find(request.name) : nullptr;
  if (lease == nullptr && request.run != run_ && run_ != 0) return {false, rank};
  if (lease == nullptr) {  // this server has restarted: a trainer that has saved meanwhile has the lease
    begin(request, {request.name, rank, generation, false, false, now, add_time(now, kLength)}, now);
    lease = find(request.name);
  }
  if (lease->rank != rank || lease->generation != generation) return {false, lease->rank};
  if (lease->saved) return {request.stage == SaveStage::kDone, rank};  // the request was repeated
  lease->until = add_time(now, kLength);
  lease->saved = request.stage == SaveStage::kDone;
  if (request.stage == SaveStage::kFailed) {
    std::erase_if(leases_, [&](const Lease& each) { return each.name == request.name; });
  }
  return {true, rank};
}

}  // namespace ps
