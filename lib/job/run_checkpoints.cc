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
                               LocalStore& store, Trainer& trainer, Log& log)
    : description_({{"job", effective_job(job)}, {"schema", to_json(schema)}}),
      store_(store),
      trainer_(trainer),
      log_(log),
      directory_(job.checkpoint.directory),
      checkpointer_(job.checkpoint, job_identity(job), options.generation, log) {}

bool RunCheckpoints::resume(Json& result) {
  if (checkpoint_steps(directory_).empty()) {
    log_.info("No checkpoint in ", directory_, ": training begins anew");
    return false;
  }
  std::unique_ptr<CheckpointReader> reader = checkpointer_.restore_newest(store_);
  const std::string position = reader->state(kTrainerState);
  ByteReader in(position);
  trainer_.load(in);
  result.update(parse_json(reader->state(kResultState), kResultState));
  log_.info("Going on from step ", trainer_.step(), " of ", reader->folder());
  return true;
}

void RunCheckpoints::after_batch(bool stopping, const Json& result) {
  if (stopping || checkpointer_.due(trainer_.step())) write(result);
}

void RunCheckpoints::check() const {
  if (checkpointer_.failure()) throw *checkpointer_.failure();
}

void RunCheckpoints::write(const Json& result) {
  std::string position;
  trainer_.save(position);
  checkpointer_.write(trainer_.step(), store_,
                      {{kTrainerState, position},
                       {kResultState, result.dump()},
                       {kJobState, description_["job"].dump()},
                       {kSchemaState, description_["schema"].dump()}});
}

}  // namespace ps
