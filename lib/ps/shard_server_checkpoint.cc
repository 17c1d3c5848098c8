// A shard server's checkpoints: what its shard goes on from, and when it writes some.
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "ps/shard_server.h"

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
  if (hello.run == 0) return hello.lost != 0 && hello.lost == shard_->run();
  if (!hello.recovers || hello.run == shard_->run()) return false;
  return shard_->run() != 0 || hello.checkpoint != restored_folder_;
}

void ShardServer::check_can_checkpoint(std::span<const ParameterSpec> specs) const {
  for (const ParameterSpec& spec : specs) {
    if (!spec.row_policy) continue;
    fail(Code::kUsage, "checkpoint.directory: the rows of ", quote(spec.name),
         " come and go, and the checkpoints of servers do not hold their histories");
  }
}

// What the first shard says, the others do.
void ShardServer::restore(const Hello& hello) {
  restored_folder_.clear();
  recovers_ = hello.recovers || hello.resume || hello.lost != 0 || job_.checkpoints.resume;
  if (hello.run == 0) read_finished();
  std::unique_ptr<CheckpointReader> reader = open_checkpoint(hello);
  if (!reader) return;
  check_checkpoint(*reader);
  shard_->restore(*reader);
  restored_folder_ = step_folder(reader->manifest().step);
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
  return open_newest_checkpoint(directory, pool, [this](const Error& error) {
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
Standing ShardServer::join(const Member& member) {
  const uint64_t before = shard_->run();
  Standing standing = shard_->join(member, loop_.now());
  if (before != 0 && before != standing.run) recovers_ = false;
  standing.checkpointed = checkpoint_ != nullptr;
  standing.finished = finished_;
  standing.recovers = recovers_;
  standing.checkpoint = recovers_ ? restored_folder_ : "";
  return standing;
}

void ShardServer::watch_cuts() {
  last_cut_ = loop_.now();
  const bool decides = decides_cuts();
  auto begin = [this, decides](uint64_t step) {
    last_cut_ = loop_.now();
    checkpoint_requests_.begin();
    std::map<std::string, std::string> states = shard_->states();
    if (decides) {
      states.insert(job_.checkpoints.states.begin(), job_.checkpoints.states.end());
      states[kSchemaState] = schema_.dump();
    }
    checkpoint_->begin({shard_->run(), static_cast<int64_t>(step)}, std::move(states));
  };
  auto wanted = [this](uint64_t step) { return cut_wanted(step); };
  checkpoint_->on_end([this](const AskedCheckpoint& end) { checkpoint_requests_.end(end); });
  shard_->on_cut(begin, decides ? std::function<bool(uint64_t)>(wanted) : nullptr);
  if (decides) shard_->on_finished([this](uint64_t passes) { note_finished(passes); });
}

// Who comes after the others have gone is told that there is nothing left to do, also by a server that was
// restarted.
void ShardServer::note_finished(uint64_t passes) {
  finished_ = passes;
  try {
    write_file(join_path(job_.checkpoints.directory, kFinishedFile), cat(passes, "\n"),
               *job_.checkpoints.files);
  } catch (const Error& error) {
    if (job_.checkpoints.log != nullptr) job_.checkpoints.log->error(error.message());
  }
}

void ShardServer::read_finished() {
  constexpr uint64_t kMaxBytes = 100;
  finished_ = 0;
  const std::string path = join_path(job_.checkpoints.directory, kFinishedFile);
  if (!exists(path)) return;
  if (!recovers_) return job_.checkpoints.files->remove(path);
  const std::string text = read_file(path, kMaxBytes);
  const std::optional<int64_t> passes = parse_int(std::string_view(text).substr(0, text.find('\n')));
  if (!passes || *passes < 0)
    fail(Code::kCorrupt, path, ": offset 0: ", quote(text), " is no number of passes");
  finished_ = static_cast<uint64_t>(*passes);
}

bool ShardServer::decides_cuts() const {
  return checkpoint_ && place_from_json(place_).dense == 0;
}

void ShardServer::ask_checkpoint() {
  if (decides_cuts()) return checkpoint_requests_.add();
  if (job_.checkpoints.log == nullptr) return;
  job_.checkpoints.log->warning("a checkpoint is asked for, but ",
                                job_.checkpoints.directory.empty() ? "there is no checkpoint.directory"
                                : shard_ == nullptr                ? "no trainer has come yet"
                                                    : "it is the job's first server that begins them");
}

void ShardServer::ask_checkpoint(ReplyPtr reply) {
  if (decides_cuts()) return checkpoint_requests_.add(std::move(reply));
  reply->answer(Payload(encode_asked_checkpoint({false, "this server does not begin checkpoints"})));
}

// None while the last one is not done: it would be given up.
bool ShardServer::cut_wanted(uint64_t step) {
  const CheckpointSettings& settings = job_.checkpoints;
  if (checkpoint_->busy()) return false;
  if (checkpoint_requests_.any()) return true;
  if (settings.steps > 0 && step % static_cast<uint64_t>(settings.steps) == 0) return true;
  return settings.period > Duration() && loop_.now() - last_cut_ >= settings.period;
}

}  // namespace ps
