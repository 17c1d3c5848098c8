#include "job/save_election.h"

#include "base/error.h"

namespace ps {

SaveElection::SaveElection(EtcdClient* etcd, const TrainerGroup& group, RunControl& run, uint64_t generation,
                           Log& log)
    : group_(group), run_(run), generation_(generation), log_(log) {
  if (etcd != nullptr) etcd_.emplace(*etcd);
}

Saver SaveElection::ask(SaveStage stage, const std::string& name) {
  const bool begins = stage == SaveStage::kBegin || stage == SaveStage::kAsked;
  if (!etcd_ || (!begins && by_server_ == name)) return run_.elect_saver(stage, name);
  by_server_.clear();
  try {
    const Saver saver = etcd_->ask({run_.id(), group_.rank(), generation_}, stage, name);
    if (saver.elected)
      run_.elect_saver(stage, name);  // the first server has to know that a pass is being saved
    return saver;
  } catch (const Error& error) {
    log_.warning("who saves ", name, " is not asked in etcd: ", error.message());
    if (!begins) return {true, group_.rank()};
    by_server_ = name;
    return run_.elect_saver(stage, name);
  }
}

}  // namespace ps
