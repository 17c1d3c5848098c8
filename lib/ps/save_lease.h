// SaveLease: which trainer saves a model.  The job's first shard has it; trainers ask.
//
// First come: whoever asks while nobody saves gets it, for some seconds at a time, and renews it while it
// saves.  Who is gone does not, and it goes to the next that asks.  What was saved is not saved again.
#ifndef PS_PS_SAVE_LEASE_H_
#define PS_PS_SAVE_LEASE_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "net/loop.h"
#include "ps/group.h"

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

 private:
  bool begin(const LeaseRequest& request, int rank, uint64_t generation, Time now);
  bool is_last(const LeaseRequest& request, int rank, uint64_t generation) const;
  bool was_saved(const std::string& name) const;

  uint64_t run_ = 0;
  std::deque<std::string> saved_;  // names, the newest last
  // Whoever saves, or did last.
  int rank_ = -1;
  uint64_t generation_ = 0;
  std::string name_;
  bool saving_ = false;
  Time begun_{}, until_{};
};

}  // namespace ps

#endif  // PS_PS_SAVE_LEASE_H_
