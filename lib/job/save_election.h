// SaveElection: asks who saves a model, etcd where the job has one, else the job's first server.  Used by
// RunSaves.
#ifndef PS_JOB_SAVE_ELECTION_H_
#define PS_JOB_SAVE_ELECTION_H_

#include <optional>
#include <string>

#include "base/log.h"
#include "membership/etcd_election.h"
#include "store/run_control.h"
#include "store/trainer_group.h"

namespace ps {

// One owner thread; what it is given outlives it.
class SaveElection {
 public:
  // `etcd` may be null.  `generation` is that of this process.
  SaveElection(EtcdClient* etcd, const TrainerGroup& group, RunControl& run, uint64_t generation, Log& log);

  // As RunControl::elect_saver.  While etcd cannot be reached, the first server elects; who was elected before
  // goes on.
  Saver ask(SaveStage stage, const std::string& name);

 private:
  std::optional<EtcdElection> etcd_;
  const TrainerGroup& group_;
  RunControl& run_;
  const uint64_t generation_;
  Log& log_;
  std::string by_server_;  // the name for which the first server has elected a saver last, without etcd
};

}  // namespace ps

#endif  // PS_JOB_SAVE_ELECTION_H_
