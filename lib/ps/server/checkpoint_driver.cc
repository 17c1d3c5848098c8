#include "ps/server/checkpoint_driver.h"

#include <map>
#include <utility>

#include "base/error.h"
#include "checkpoint/checkpoint_directory.h"

namespace ps {

namespace {

constexpr const char* kSchemaState = "schema";  // on disk; a process without servers uses the same name

}  // namespace

CheckpointDriver::CheckpointDriver(Loop& loop, const CheckpointSettings& settings,
                                   const ServerSaveRecords& saves)
    : loop_(loop), settings_(settings), saves_(saves) {}

void CheckpointDriver::attach(Shard& shard, const ShardIdentity& identity) {
  if (!has_directory() && settings_.scratch.empty()) return;
  shard_ = &shard;
  identity_ = &identity;
  checkpoint_ = std::make_unique<ShardCheckpoint>(loop_, settings_, identity.shard_place, shard.tables(),
                                                  static_cast<CheckpointEvents&>(*this));
  last_begun_ = loop_.now();
}

void CheckpointDriver::detach(const Error& reason) {
  checkpoint_.reset();
  shard_ = nullptr;
  identity_ = nullptr;
  requests_.refuse(reason);
  shard_files_.refuse(reason);
}

// A checkpoint at the end of a pass may replace one that is still being written.  It is then a full one,
// since it is not certain that the checkpoint on which an increment would build will count.
CheckpointStep CheckpointDriver::begin(uint64_t number, bool at_end) {
  last_begun_ = loop_.now();
  if (last_pass_ && busy()) requests_.end({false, "it was given up for the next one"});
  last_pass_ = at_end ? shard_->steps().pass_just_ended() : std::nullopt;
  last_answer_ = {};
  requests_.begin();
  std::map<std::string, std::string> states = shard_->recovery().states();
  if (decides()) {
    states.insert(settings_.states.begin(), settings_.states.end());
    states[kSchemaState] = identity_->schema.dump();
  }
  const CheckpointStep step{shard_->roster().run(), static_cast<int64_t>(number)};
  checkpoint_->begin(step, std::move(states), at_end,
                     shard_->trainer_states().chunk_states(identity_->shard_place));
  shard_files_.end_before(number);
  return step;
}

void CheckpointDriver::shard_ended(const CheckpointStep& checkpoint, const CheckpointShardAnswer& answer) {
  shard_files_.add(checkpoint.step, answer, checkpoint_->folders(checkpoint));
}

void CheckpointDriver::checkpoint_ended(const AskedCheckpoint& answer) {
  last_answer_ = answer;
  requests_.end(answer);
  on_end_();
}

// Returns false while the last checkpoint is not done, since it would be given up.  Also returns false while
// a model is made from the last one: a run that goes back must come to the end of that pass, and save the
// model again.
bool CheckpointDriver::wants(uint64_t number) const {
  if (busy() || saves_.saves_pass()) return false;
  if (requests_.any()) return true;
  if (!has_directory()) return false;
  if (settings_.steps > 0 && number % static_cast<uint64_t>(settings_.steps) == 0) return true;
  return settings_.period > Duration() && loop_.now() - last_begun_ >= settings_.period;
}

void CheckpointDriver::set_last(std::optional<uint64_t> pass, const CheckpointStep& step) {
  last_pass_ = pass;
  last_answer_ = {true, step_folder(step.step), step.run};
}

void CheckpointDriver::ask() {
  if (decides() && has_directory()) return requests_.add();
  if (settings_.log == nullptr) return;
  settings_.log->warning("a checkpoint is asked for, but ",
                         !has_directory()    ? "there is no checkpoint.directory"
                         : shard_ == nullptr ? "no trainer has come yet"
                                             : "it is the job's first server that begins them");
}

void CheckpointDriver::ask(int64_t pass, ReplyPtr reply) {
  if (decides() && pass < 0) return requests_.add(std::move(reply));
  AskedCheckpoint answer{false, "this server does not begin checkpoints"};
  if (decides()) {
    const bool is_last = last_pass_ && *last_pass_ == static_cast<uint64_t>(pass);
    if (is_last && busy()) return requests_.add_begun(std::move(reply));
    answer = is_last ? last_answer_ : AskedCheckpoint{false, cat("none has begun at the end of pass ", pass)};
  }
  reply->answer(Payload(encode_asked_checkpoint(answer)));
}

// The files come if their checkpoint begins later or is being written.  A shard that was restarted has
// forgotten older files, and looks for them on the disk.  Files that are in no checkpoint there do not come
// any more.
void CheckpointDriver::ask_shard_files(uint64_t step, ReplyPtr reply) {
  const bool comes = is_attached() && (step > shard_->steps().clock() || checkpoint_->is_writing(step));
  if (!comes && !shard_files_.knows(step) && has_directory() && is_attached()) find_shard_files(step);
  shard_files_.ask(step, comes, std::move(reply));
}

void CheckpointDriver::find_shard_files(uint64_t number) {
  const CheckpointStep step{shard_->roster().run(), static_cast<int64_t>(number)};
  std::optional<Manifest> files = find_shard_manifest(settings_.directory, step, identity_->shard_place);
  if (files) shard_ended(step, {std::move(*files), ""});
}

}  // namespace ps
