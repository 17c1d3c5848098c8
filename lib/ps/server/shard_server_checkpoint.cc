// A shard server's checkpoints: what its shard goes on from, and when it writes some.
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "config/json.h"
#include "ps/server/shard_server.h"

namespace ps {

namespace {

constexpr const char* kSchemaState = "schema";  // on disk, as in what a process without servers writes
constexpr const char* kFinishedFile = "FINISHED";

// Servers and trainers may be others than before, and more or fewer.
Json without_cluster(Json job) {
  job.erase("cluster");
  return job;
}

}  // namespace

// Whether the shard has a run that is over because some of it is lost elsewhere; or, beside the first shard,
// any run but that in which all go back.
bool ShardServer::has_lost_run(const Hello& hello) const {
  if (job_.checkpoints.directory.empty() || hello.role != "train") return false;
  if (hello.run == 0) return hello.lost != 0 && hello.lost == shard_->roster().run();
  if (!hello.recovers || hello.run == shard_->roster().run()) return false;
  return shard_->roster().run() != 0 || hello.checkpoint != restored_folder_;
}

// Whether there are any, or models are made of the tables.
bool ShardServer::can_checkpoint() const {
  return has_directory() || !job_.checkpoints.scratch.empty();
}

// Whether the run that begins with this hello is one that goes on.
bool ShardServer::goes_back(const Hello& hello) const {
  return hello.recovers || hello.resume || hello.lost != 0 || job_.checkpoints.resume;
}

// What the first shard says, the others do.
void ShardServer::restore(const Hello& hello) {
  restored_folder_.clear();
  restored_.reset();
  recovers_ = goes_back(hello);
  if (hello.run == 0) recovers_ ? read_finished() : forget_finished();
  check_log_is_new();
  std::unique_ptr<CheckpointReader> reader = open_checkpoint(hello);
  if (!reader) return;
  check_checkpoint(*reader);
  shard_->restore(*reader);
  restored_folder_ = step_folder(reader->manifest().step);
  restored_ = {reader->manifest().generation, reader->manifest().step};
  if (job_.checkpoints.log != nullptr) job_.checkpoints.log->info("Going on from ", reader->folder());
}

std::unique_ptr<CheckpointReader> ShardServer::open_checkpoint(const Hello& hello) {
  const std::string& directory = job_.checkpoints.directory;
  if (hello.run != 0) {
    if (hello.checkpoint.empty()) return nullptr;
    return std::make_unique<CheckpointReader>(join_path(directory, hello.checkpoint));
  }
  if (checkpoint_steps(directory).empty()) return nullptr;
  if (!recovers_) {
    fail(Code::kUsage, "checkpoint.directory: ", quote(directory),
         " holds checkpoints of an earlier run: --resume goes on from them; else name another folder");
  }
  ThreadPool pool(1);
  auto verify = [&](const CheckpointReader& reader) { reader.verify(pool, /*rows=*/false); };
  return open_newest_checkpoint(directory, verify, [this](const Error& error) {
    if (job_.checkpoints.log == nullptr) return;
    job_.checkpoints.log->warning("damaged, so an earlier checkpoint is looked for: ", error.message());
  });
}

void ShardServer::check_checkpoint(const CheckpointReader& reader) const {
  auto difference =
      first_difference(without_cluster(job_.checkpoints.job), without_cluster(reader.manifest().job));
  if (!difference) return;
  fail(Code::kUsage, quote(reader.folder()), " is of another job: ", *difference, " there");
}

// A run that begins without going back leaves nothing to do to the other shards.
RunStatus ShardServer::join(const Member& member) {
  const uint64_t before = shard_->roster().run();
  RunStatus run_status = shard_->join(member, loop_.now());
  if (before != 0 && before != run_status.run) recovers_ = false;
  run_status.checkpointed = checkpoint_ != nullptr && has_directory();
  run_status.gives_parts = checkpoint_ != nullptr;
  run_status.logged = log_ != nullptr;
  run_status.finished = finished_;
  run_status.recovers = recovers_;
  run_status.checkpoint = recovers_ ? restored_folder_ : "";
  return run_status;
}

void ShardServer::watch_cuts() {
  if (!can_checkpoint()) return;
  checkpoint_ =
      std::make_unique<ShardCheckpoint>(loop_, job_.checkpoints, place_from_json(place_), shard_->tables());
  last_cut_ = loop_.now();
  auto begin = [this](uint64_t step, bool at_end) { begin_checkpoint(step, at_end); };
  auto wanted = [this](uint64_t step) { return cut_wanted(step); };
  checkpoint_->on_end([this](const AskedCheckpoint& end) { end_checkpoint(end); });
  checkpoint_->on_part(
      [this](const CheckpointStep& cut, const CheckpointShardAnswer& part) { parts_.add(cut, part); });
  shard_->on_checkpoint(begin, is_first() ? std::function<bool(uint64_t)>(wanted) : nullptr, has_directory());
}

void ShardServer::watch_end() {
  if (!is_first() || !has_directory()) return;
  shard_->on_finished([this](uint64_t passes) {
    ending_ = passes;
    if (!checkpoint_->busy()) end_run();
  });
}

// One at the end of a pass may take the place of one that is being made: what that builds on is not sure.
void ShardServer::begin_checkpoint(uint64_t step, bool at_end) {
  last_cut_ = loop_.now();
  if (cut_pass_ && checkpoint_->busy()) checkpoint_requests_.end({false, "it was given up for the next one"});
  cut_pass_ = at_end ? shard_->steps().pass_just_ended() : std::nullopt;
  last_end_ = {};
  checkpoint_requests_.begin();
  std::map<std::string, std::string> states = shard_->states();
  if (decides_cuts()) {
    states.insert(job_.checkpoints.states.begin(), job_.checkpoints.states.end());
    states[kSchemaState] = schema_.dump();
  }
  const CheckpointStep cut{shard_->roster().run(), static_cast<int64_t>(step)};
  checkpoint_->begin(cut, std::move(states), at_end, shard_->trainer_states().chunk_states(shard_->tables().place()));
  if (!job_.checkpoints.durable) return;
  const ReplayedCut begun{cut, shard_->save_snapshot(), checkpoint_->increments()};
  if (!log_) return void(replayed_cut_ = begun);
  log_->begin_base(begun.id, begun.image, begun.increments);
  note_logged(cut);
}

void ShardServer::end_checkpoint(const AskedCheckpoint& end) {
  last_end_ = end;
  checkpoint_requests_.end(end);
  if (ending_ != 0) end_run();
}

// The checkpoint of the end counts, or has failed.  Until here every server that dies takes all back, so that
// nobody may leave; from here on whoever comes is told that there is nothing left to do, also by a server
// that was restarted.
void ShardServer::end_run() {
  finished_ = std::exchange(ending_, 0);
  try {
    write_file(join_path(job_.checkpoints.directory, kFinishedFile), cat(finished_, "\n"),
               *job_.checkpoints.files);
  } catch (const Error& error) {
    if (job_.checkpoints.log != nullptr) job_.checkpoints.log->error(error.message());
  }
  shard_->confirm_end();
}

// Whether a trainer's process that was not here before has nothing to do any more: it needs neither a run nor
// the other shards.
bool ShardServer::has_finished(const Hello& hello) {
  if (job_.checkpoints.directory.empty() || hello.role != "train") return false;
  if (hello.run != 0 || hello.known || hello.passes == 0) return false;
  if (!shard_ && !goes_back(hello)) return false;
  if (!shard_) read_finished();
  return finished_ >= static_cast<uint64_t>(hello.passes);
}

void ShardServer::forget_finished() {
  finished_ = 0;
  job_.checkpoints.files->remove(join_path(job_.checkpoints.directory, kFinishedFile));
}

void ShardServer::read_finished() {
  constexpr uint64_t kMaxBytes = 100;
  finished_ = 0;
  const std::string path = join_path(job_.checkpoints.directory, kFinishedFile);
  if (!exists(path)) return;
  const std::string text = read_file(path, kMaxBytes);
  const std::optional<int64_t> passes = parse_int(std::string_view(text).substr(0, text.find('\n')));
  if (!passes || *passes < 0)
    fail(Code::kCorrupt, path, ": offset 0: ", quote(text), " is no number of passes");
  finished_ = static_cast<uint64_t>(*passes);
}

void ShardServer::ask_checkpoint() {
  if (decides_cuts() && has_directory()) return checkpoint_requests_.add();
  if (job_.checkpoints.log == nullptr) return;
  job_.checkpoints.log->warning("a checkpoint is asked for, but ",
                                !has_directory()    ? "there is no checkpoint.directory"
                                : shard_ == nullptr ? "no trainer has come yet"
                                                    : "it is the job's first server that begins them");
}

// Of one that begins as soon as a step allows, or of the one that began at the end of `pass`, if that is not
// -1.
void ShardServer::ask_checkpoint(int64_t pass, ReplyPtr reply) {
  if (decides_cuts() && pass < 0) return checkpoint_requests_.add(std::move(reply));
  AskedCheckpoint answer{false, "this server does not begin checkpoints"};
  if (decides_cuts()) {
    const bool is_last = cut_pass_ && *cut_pass_ == static_cast<uint64_t>(pass);
    if (is_last && checkpoint_->busy()) return checkpoint_requests_.add_begun(std::move(reply));
    answer = is_last ? last_end_ : AskedCheckpoint{false, cat("none has begun at the end of pass ", pass)};
  }
  reply->answer(Payload(encode_asked_checkpoint(answer)));
}

// What this shard has forgotten, since it was restarted, and is in no checkpoint, does not come any more.
void ShardServer::ask_part(uint64_t step, ReplyPtr reply) {
  const bool comes = step > shard_->steps().checkpoint_number() || (checkpoint_ && checkpoint_->is_writing(step));
  if (!comes && !parts_.knows(step) && has_directory()) look_for_part(step);
  parts_.ask(step, comes, std::move(reply));
}

void ShardServer::look_for_part(uint64_t step) {
  const CheckpointStep cut{shard_->roster().run(), static_cast<int64_t>(step)};
  std::optional<Manifest> part = find_part(job_.checkpoints.directory, cut, place_from_json(place_));
  if (part) parts_.add(cut, {std::move(*part), ""});
}

// None while the last one is not done: it would be given up.  And none while a model is made of the last: a
// run that goes back then comes to the end of that pass, and saves it again.
bool ShardServer::cut_wanted(uint64_t step) {
  const CheckpointSettings& settings = job_.checkpoints;
  if (checkpoint_->busy() || save_lease_.saves_pass(loop_.now())) return false;
  if (checkpoint_requests_.any()) return true;
  if (!has_directory()) return false;
  if (settings.steps > 0 && step % static_cast<uint64_t>(settings.steps) == 0) return true;
  return settings.period > Duration() && loop_.now() - last_cut_ >= settings.period;
}

}  // namespace ps
