#include "job/run_checkpoints.h"

#include "base/bytes.h"
#include "base/error.h"
#include "checkpoint/checkpoint_directory.h"
#include "config/json.h"
#include "job/checkpoint_states.h"
#include "job/fingerprint.h"
#include "ps/wire/hello.h"

namespace ps {

RunCheckpoints::RunCheckpoints(const Job& job, const RunOptions& options, const DataSchema& schema,
                               LocalStore& store, Trainer& trainer, TrainerGroup& group, Log& log)
    : description_({{"job", effective_job(job)}, {"schema", to_json(schema)}}),
      store_(store),
      trainer_(trainer),
      group_(group),
      log_(log),
      directory_(job.checkpoint.directory),
      checkpointer_(job.checkpoint, job_identity(job), options.generation, log) {}

bool RunCheckpoints::resume(Json& result) {
  if (checkpoint_steps(directory_).empty()) {
    check_same_step(-1);
    log_.info("No checkpoint in ", directory_, ": training begins anew");
    return false;
  }
  std::unique_ptr<CheckpointReader> reader = checkpointer_.restore_newest(store_);
  check_same_step(reader->manifest().step);
  const std::string position = reader->state(trainer_state_name(group_.rank()));
  ByteReader in(position);
  trainer_.load(in);
  result.update(parse_json(reader->state(kResultState), kResultState));
  log_.info("Going on from step ", reader->manifest().step, " of ", reader->folder());
  return true;
}

// Each trainer reads the checkpoint by itself.
void RunCheckpoints::check_same_step(int64_t step) {
  auto text = [](int64_t number) { return number < 0 ? "no checkpoint" : step_folder(number); };
  const std::vector<std::string> all = group_.gather(text(step));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    fail(Code::kUsage, "checkpoint.directory: trainer ", rank, " sees ", all[rank], ", trainer 0 ", all[0],
         ": all trainers must see one folder");
  }
}

void RunCheckpoints::check() const {
  if (checkpointer_.failure()) throw *checkpointer_.failure();
}

void RunCheckpoints::write(const Json& result) {
  std::string position;
  trainer_.save(position);
  const std::vector<std::string> positions = group_.gather(std::move(position));
  if (group_.rank() > 0) return;
  CheckpointStates states = {{kResultState, result.dump()},
                             {kJobState, description_["job"].dump()},
                             {kSchemaState, description_["schema"].dump()}};
  for (size_t rank = 0; rank < positions.size(); ++rank) {
    states[trainer_state_name(static_cast<int>(rank))] = positions[rank];
  }
  checkpointer_.write(step(), store_, states);
}

}  // namespace ps
