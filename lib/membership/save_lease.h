// SaveLease: elects the trainer that saves a model.  The job's first shard has it; trainers send requests.
//
// The first trainer that asks to save a model which no trainer saves gets a lease of some seconds, and renews
// it while it saves.  If the trainer dies, the lease expires, and the next trainer that asks gets it.  A
// saved model is not saved again.  A save on a signal does not begin while another trainer saves any model.
#ifndef PS_MEMBERSHIP_SAVE_LEASE_H_
#define PS_MEMBERSHIP_SAVE_LEASE_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "membership/saver.h"
#include "net/loop.h"

namespace ps {

struct LeaseRequest {
  uint64_t run = 0;
  SaveStage stage = SaveStage::kBegin;
  std::string name;  // of the saved model: "pass-00003"
};

std::string encode_lease_request(const LeaseRequest& request);
std::string encode_saver(const Saver& saver);

// Both throw kData.
LeaseRequest decode_lease_request(std::span<const char> body);
Saver decode_saver(std::span<const char> body);

// One owner thread.
class SaveLease {
 public:
  // Trainers renew the lease after a third of this time.
  static constexpr Duration kLength = std::chrono::seconds(15);
  // All trainers receive a signal within this time, and one of them saves.
  static constexpr Duration kOneSignal = std::chrono::seconds(10);

  // Answers a request of trainer `rank`.
  Saver ask(const LeaseRequest& request, int rank, uint64_t generation, Time now);

  // Returns true if a trainer is saving the model at the end of a pass.
  bool saves_pass(Time now) const;

 private:
  struct Lease {
    std::string name;
    int rank = 0;
    uint64_t generation = 0;
    bool asked = false;  // a signal has asked for this save
    bool saved = false;
    Time begun{}, until{};
  };

  Lease* find(const std::string& name);
  Saver begin(const LeaseRequest& request, const Lease& asker, Time now);

  uint64_t run_ = 0;
  std::deque<Lease> leases_;  // the newest last
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_SAVE_LEASE_H_
