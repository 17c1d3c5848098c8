// The election of the trainer that saves a model.  Trainers and the job's first shard use it.  The records are
// of one of two kinds: ServerSaveRecords are in the memory of the first shard, and EtcdSaveRecords outlive that
// server.
//
// The first trainer that asks to save a model which no trainer saves gets a lease of some seconds, and renews it while
// it saves.  If the trainer dies, the lease expires, and the next trainer that asks gets it.  A saved model is not saved
// again.  A save on a signal does not begin while another trainer saves any model.
#ifndef PS_MEMBERSHIP_SAVE_ELECTION_H_
#define PS_MEMBERSHIP_SAVE_ELECTION_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "membership/saver.h"
#include "net/loop.h"

namespace ps {

// Trainers renew the lease after a third of this time.
inline constexpr Duration kSaveLeaseLength = std::chrono::seconds(15);
// All trainers receive a signal within this time, and one of them saves.
inline constexpr Duration kOneSignal = std::chrono::seconds(10);

// A trainer that asks to save a model.
struct Candidate {
  uint64_t run = 0;
  int rank = 0;
  uint64_t generation = 0;  // generation of the trainer's process

  bool operator==(const Candidate&) const = default;
};

struct SaveRecord {
  Candidate who;
  bool asked = false;   // a signal has asked for this save
  bool saved = false;   // the model is complete
  int64_t version = 0;  // changes with each change of the record; 0: there is no record
};

// A new value for the record that has this version.
struct SaveChange {
  std::string key;
  int64_t version = 0;
  SaveRecord record;
  Duration lease{};  // the record disappears so long after its last renewal; 0: it stays
};

// The records of all saves, by key: "saves/pass-00003" has the trainer that saves this model or has saved it,
// "signals/save" the one that answers the last signal, while others may still receive it.  One owner thread.
class SaveRecords {
 public:
  virtual ~SaveRecords() = default;

  virtual std::map<std::string, SaveRecord> list() = 0;

  // Make all changes, or none and return false when a record has another version.
  virtual bool put(const std::vector<SaveChange>& changes) = 0;
  virtual bool erase(const std::string& key, int64_t version) = 0;

  // Begins the lease of a record anew.  Returns false when the record has disappeared.
  virtual bool renew(const std::string& key) = 0;
};

// Answers a request of the candidate.  If the record of a trainer that saves has disappeared, because the first
// server restarted or the lease expired, the trainer gets it again unless another trainer has it.  Throws as
// the records do.
Saver elect_saver(SaveRecords& records, const Candidate& candidate, SaveStage stage, const std::string& name);

// A request to the first server, and its answer, on the wire; the connection tells the rank.
struct SaveRequest {
  uint64_t run = 0;
  SaveStage stage = SaveStage::kBegin;
  std::string name;  // name of the saved model: "pass-00003"
};

std::string encode_save_request(const SaveRequest& request);
std::string encode_saver(const Saver& saver);

// Both throw kData.
SaveRequest decode_save_request(std::span<const char> body);
Saver decode_saver(std::span<const char> body);

}  // namespace ps

#endif  // PS_MEMBERSHIP_SAVE_ELECTION_H_
