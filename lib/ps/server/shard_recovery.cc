#include "ps/server/shard_recovery.h"

#include <utility>

#include "base/error.h"
#include "store/table_checkpoint.h"

namespace ps {

// A checkpoint needs one copy of the schedule and of the state of the run, which the first shard saves.
std::map<std::string, std::string> ShardRecovery::states() const {
  std::map<std::string, std::string> states = context_.tables.parameters().states();
  if (context_.tables.place().dense != 0) return states;
  add_step_rule_state(context_.applier.rule(), states);
  context_.clock.run_state().save(states[kRunState]);
  return states;
}

// restored_ keeps the state of the run until a run begins, since only its trainers tell to how many of them
// it is dealt.
void ShardRecovery::restore(const CheckpointReader& reader) {
  if (!reader.has_state(kRunState)) {
    fail(Code::kUsage, quote(reader.folder()),
         " was written by a process without servers; --init-model takes its weights");
  }
  context_.tables.parameters().restore(reader);
  restore_step_rule(reader, context_.applier.rule());
  const std::string bytes = reader.state(kRunState);
  ByteReader in(bytes);
  restored_ = RunState::load(in);
  if (in.remaining() > 0 || restored_->trainers.empty()) {
    fail(Code::kCorrupt, quote(reader.folder()), ": the state of the run has another length");
  }
  context_.states.restore(reader, restored_->trainers.size(), context_.tables.place());
}

std::optional<RunState> ShardRecovery::release_restored(size_t num_trainers) {
  const std::optional<RunState> restored = std::exchange(restored_, std::nullopt);
  return restored ? std::optional(restored->dealt_to(num_trainers)) : std::nullopt;
}

void ShardRecovery::load_snapshot(std::string_view snapshot,
                                  const std::function<void(int rank, std::string_view body)>& pull) {
  load_shard_snapshot(snapshot, context_, pull);
  restored_.reset();
  context_.states.forget_restored();
}

}  // namespace ps
