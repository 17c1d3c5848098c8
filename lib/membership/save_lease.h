// SaveLease: which trainer saves a model.  The job's first shard has it; trainers ask.
//
// First come: whoever asks for what nobody saves gets it, for some seconds at a time, and renews it while it
// saves.  Who is gone does not, and it goes to the next that asks.  What was saved is not saved again; what a
// signal asks for is not begun while another trainer saves anything.
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
  std::string name;  // of what is saved: "pass-00003"
};

std::string encode_lease_request(const LeaseRequest& request);
std::string encode_saver(const Saver& saver);

// Throw kData.
LeaseRequest decode_lease_request(std::span<const char> body);
Saver decode_saver(std::span<const char> body);

// One owner thread.
class SaveLease {
 public:
  static constexpr Duration kLength = std::chrono::seconds(15);  // trainers renew after a third of it
  // Trainers that are all sent a signal get it within this time, and one of them saves.
  static constexpr Duration kOneSignal = std::chrono::seconds(10);

  // What a process of trainer `rank` asks.
  Saver ask(const LeaseRequest& request, int rank, uint64_t generation, Time now);

  // Whether somebody saves what a pass has ended with.
  bool saves_pass(Time now) const;

 private:
  struct Lease {
    std::string name;
    int rank = 0;
    uint64_t generation = 0;
    bool asked = false;  // by a signal
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
