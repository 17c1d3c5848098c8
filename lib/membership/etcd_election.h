// EtcdElection: the same election as SaveLease's, of the trainer that saves a model, recorded in etcd, so
// that it outlives the job's first server.  Used by SaveElection.
//
//   PREFIX/saves/pass-00003  the trainer that saves this model, with a lease; after the save, without a lease
//   PREFIX/signals/save      the trainer that answers the last signal, while others may still receive it
#ifndef PS_MEMBERSHIP_ETCD_ELECTION_H_
#define PS_MEMBERSHIP_ETCD_ELECTION_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "membership/etcd_client.h"
#include "membership/saver.h"

namespace ps {

// A trainer that would save a model, as etcd records it.
struct Candidate {
  uint64_t run = 0;
  int rank = 0;
  uint64_t generation = 0;  // of the trainer's process

  bool operator==(const Candidate&) const = default;
};

// One owner thread.  Throws as EtcdClient does.
class EtcdElection {
 public:
  explicit EtcdElection(EtcdClient& client) : client_(client) {}

  // Answers a request of the candidate, which is always this process; see SaveLease::ask.
  Saver ask(const Candidate& candidate, SaveStage stage, const std::string& name);

 private:
  struct Record {
    Candidate who;
    bool saved = false;
    int64_t mod_revision = 0;
  };

  std::optional<Saver> try_begin(const Candidate& candidate, const std::string& name, bool asked);
  std::map<std::string, Record> records(std::string_view prefix);
  std::optional<Saver> refusal(const Candidate& candidate, const std::string& name, bool asked,
                               const std::map<std::string, Record>& saves,
                               const std::map<std::string, Record>& signals) const;
  Saver end(const Candidate& candidate, const std::string& name, const Record& record, bool saved);

  EtcdClient& client_;
  std::map<std::string, int64_t> leases_;  // leases of the saves of this process, by name
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_ETCD_ELECTION_H_
