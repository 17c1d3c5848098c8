#include "job/run_checkpoints.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "config/json.h"
#include "job/checkpoint_states.h"
#include "job/fingerprint.h"
#include "ps/wire/hello.h"

namespace ps {

RunCheckpoints::RunCheckpoints(const Job& job, const RunOptions& options, const DataSchema& schema,
                               Strategy& strategy, Trainer& trainer, Log& log)
    : description_({{"job", effective_job(job)}, {"schema", to_json(schema)}}),
      strategy_(strategy),
      store_(*strategy.local()),
      trainer_(trainer),
      group_(strategy.group()),
      log_(log),
      directory_(job.checkpoint.directory),
      checkpointer_(job.checkpoint, job_identity(job), options.generation, log) {}

// Claims the directory with a lock file, since two runs that write to one directory would remove each other's
// checkpoints.  It waits a few seconds, as a killed process may need a moment to end.
void RunCheckpoints::claim_directory() {
  constexpr double kSecondsToEnd = 5;
  if (group_.rank() != 0) return;
  make_directories(directory_);
  claim_ = LockFile::claim(join_path(directory_, "LOCK"), kSecondsToEnd);
  if (claim_) return;
  fail(Code::kFenced, "checkpoint.directory: another process that runs writes its checkpoints to ",
       quote(directory_));
}

void RunCheckpoints::begin_new() {
  claim_directory();
  if (group_.rank() == 0) checkpointer_.begin_new();
}

// Restores parameters, position and the state of the strategy, in this order: the strategy compares its
// state with the restored schedule.  All trainers compare their steps before any of them reads its
// position; without a checkpoint they compare too, so that one trainer does not begin anew while the others
// go on.
bool RunCheckpoints::resume(Json& result) {
  claim_directory();
  if (checkpoint_steps(directory_).empty()) {
    check_same_step(-1);
    log_.info("No checkpoint in ", directory_, ": training begins anew");
    return false;
  }
  std::unique_ptr<CheckpointReader> reader = checkpointer_.restore_newest(store_);
  check_same_step(reader->manifest().step);
  const std::string position = reader->state(trainer_state_name(group_.rank()));
  ByteReader in(position);
  trainer_.progress().load(in);
  if (strategy_.keeps_state()) {
    const std::string own = reader->state(strategy_state_name(group_.rank()));
    ByteReader own_in(own);
    strategy_.load_state(own_in);
  }
  result.update(parse_json(reader->state(kResultState), kResultState));
  log_.info("Going on from step ", reader->manifest().step, " of ", reader->folder());
  return true;
}

// Throws kUsage unless all trainers see the same step; each reads the checkpoint by itself.
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

// part := begun:u8 position                              (begun: 1 if trainer 0 has made the folder)
void RunCheckpoints::write(const Json& result) {
  std::string part;
  put(part, static_cast<uint8_t>(group_.rank() == 0 && checkpointer_.begin(step()) ? 1 : 0));
  trainer_.progress().save(part);
  const std::vector<std::string> parts = group_.gather(std::move(part));
  if (parts[0][0] == 0) return;
  std::vector<std::string> own;
  if (strategy_.keeps_state()) own = group_.gather(write_own_state());
  if (group_.rank() == 0) finish(result, parts, own);
}

// Returns written := 0:u8 bytes:u64 checksum:u64 | code:u8 message           (code and message of an error)
std::string RunCheckpoints::write_own_state() {
  std::string written;
  try {
    std::string state;
    strategy_.save_state(state);
    const int rank = group_.rank();
    const FileEntry file =
        checkpointer_.write_file(step(), strategy_file_name(rank), strategy_state_name(rank), state);
    put(written, uint8_t{0});
    put(written, file.sum.bytes);
    put(written, file.sum.checksum);
  } catch (const Error& error) {
    written.clear();
    put(written, static_cast<uint8_t>(error.code()));
    written += error.message();
  }
  return written;
}

// Runs on trainer 0.  Puts together the positions of all trainers and the entries of the files that they
// have written themselves.  If one of them could not write its file, the whole checkpoint is given up, and
// the one before it stays.
void RunCheckpoints::finish(const Json& result, std::span<const std::string> positions,
                            std::span<const std::string> own) {
  CheckpointStates states = {{kResultState, result.dump()},
                             {kJobState, description_["job"].dump()},
                             {kSchemaState, description_["schema"].dump()}};
  for (size_t rank = 0; rank < positions.size(); ++rank) {
    states[trainer_state_name(static_cast<int>(rank))] = positions[rank].substr(1);
  }
  std::vector<FileEntry> files;
  for (size_t r = 0; r < own.size(); ++r) {
    ByteReader in(own[r]);
    if (const auto code = static_cast<Code>(in.get<uint8_t>()); code != Code{}) {
      return checkpointer_.give_up(step(), Error(code, cat("trainer ", r, ": ", own[r].substr(1))));
    }
    const int rank = static_cast<int>(r);
    FileEntry file{.path = strategy_file_name(rank), .sum = {}, .states = {strategy_state_name(rank)}};
    file.sum.bytes = in.get<uint64_t>();
    file.sum.checksum = in.get<uint64_t>();
    files.push_back(std::move(file));
  }
  checkpointer_.finish(step(), store_, states, std::move(files));
}

}  // namespace ps
