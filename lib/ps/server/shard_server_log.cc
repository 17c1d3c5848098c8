// A shard server's log: what it writes, and how a server that comes again takes the run up where it was.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "ps/server/shard_replay.h"
#include "ps/server/shard_server.h"

namespace ps {

namespace {

// Answers when what the answer follows from is on the disk.
class SyncedReply final : public Reply {
 public:
  SyncedReply(PushLog& log, ReplyPtr reply) : log_(log), reply_(std::move(reply)) {}
  void answer(std::shared_ptr<const Payload> payload) override {
    log_.when_synced([reply = reply_, payload = std::move(payload)](const Error* error) {
      error == nullptr ? reply->answer(payload) : reply->fail(*error);
    });
  }
  void fail(const Error& error) override { reply_->fail(error); }
  bool wanted() const override { return reply_->wanted(); }

 private:
  PushLog& log_;
  const std::shared_ptr<Reply> reply_;
};

std::string newest_folder(const std::string& directory) {
  const std::optional<Latest> latest = read_latest(directory);
  return latest ? latest->folder : "";
}

}  // namespace

ReplyPtr ShardServer::when_synced(ReplyPtr reply) {
  return log_ ? std::make_unique<SyncedReply>(*log_, std::move(reply)) : std::move(reply);
}

std::string ShardServer::log_folder() const {
  return join_path(job_.checkpoints.directory, "log-" + place_name(place_from_json(place_)));
}

void ShardServer::check_log_is_new() const {
  const std::string folder = log_folder();
  if (recovers_ || log_segments(folder).empty()) return;
  fail(Code::kUsage, "checkpoint.directory: ", quote(folder),
       " is the log of an earlier run: --resume goes on from it; else name another folder");
}

// Of a shard that begins.  Whatever log there was is of a run that is over.
void ShardServer::begin_log() {
  const CheckpointSettings& settings = job_.checkpoints;
  if (!settings.durable) return settings.files->remove(log_folder());
  LogEnd end;
  end.header.is_base = true;
  end.header.checkpoint = restored_;
  end.header.owner = {settings.job, schema_, place_, cpu_, recovers_, restored_folder_};
  write_log(std::move(end));
}

void ShardServer::write_log(LogEnd end) {
  PushLogSettings settings;
  settings.folder = log_folder();
  settings.files = job_.checkpoints.files;
  settings.own_thread = job_.checkpoints.own_thread;
  settings.newest_checkpoint = [directory = job_.checkpoints.directory] { return newest_folder(directory); };
  log_ = std::make_unique<PushLog>(loop_, std::move(settings), [this](const Error& error) {
    end_for_good(error.within("the log cannot be written, so that nothing more can be acknowledged"));
  });
  log_->begin(std::move(end));
  shard_->on_change(
      [this](ShardEvent event, int rank, std::string_view body) { log_->add(event, rank, body); });
}

// Makes the shard that the process before had, if its log goes on from the newest checkpoint.  Whoever begins
// a run that has nothing before it does not look for a log.
//
// What goes wrong ends the server: it may not begin anew in place of what is there.
void ShardServer::take_up_log(const Hello& hello) {
  const bool goes_on =
      job_.checkpoints.resume || hello.resume || hello.known || hello.going || hello.lost != 0;
  if (!job_.checkpoints.durable || !goes_on || std::exchange(log_looked_for_, true)) return;
  place_ = hello.place;
  try {
    const std::unique_ptr<CheckpointReader> checkpoint = newest_checkpoint();
    std::optional<CheckpointStep> id;
    if (checkpoint) id = {checkpoint->manifest().generation, checkpoint->manifest().step};
    std::string why;
    std::optional<PushLogReader> log = PushLogReader::open(log_folder(), id, why);
    if (!why.empty() && job_.checkpoints.log != nullptr) job_.checkpoints.log->warning(why);
    if (log && is_of_this_shard(log->base().owner)) replay(*log, checkpoint.get());
  } catch (const Error& error) {
    if (shard_) drop_shard();
    end_for_good(error.within("the run cannot be taken up"));
    throw *failed_;
  }
}

// Null: there is none, or it is damaged; then there is no log that goes on from it.  Another shard may just
// make the next one of parts that are all there, and remove this one.
std::unique_ptr<CheckpointReader> ShardServer::newest_checkpoint() const {
  const std::string& directory = job_.checkpoints.directory;
  std::string folder;
  try {
    folder = newest_folder(directory);
    return folder.empty() ? nullptr : std::make_unique<CheckpointReader>(join_path(directory, folder));
  } catch (const Error& error) {
    if (!folder.empty() && newest_folder(directory) != folder) return newest_checkpoint();
    warn_of_damage(error);
    return nullptr;
  }
}

void ShardServer::warn_of_damage(const Error& error) const {
  if (error.code() != Code::kCorrupt) throw error;
  if (job_.checkpoints.log == nullptr) return;
  job_.checkpoints.log->warning("damaged, so that the log after it is of no use: ", error.message());
}

bool ShardServer::is_of_this_shard(const LogOwner& owner) const {
  if (auto difference = first_difference(job_.checkpoints.job, owner.job)) {
    fail(Code::kUsage, quote(log_folder()), " is of another job: ", *difference, " there");
  }
  const auto difference = first_difference(place_, owner.place, "servers");
  if (difference && job_.checkpoints.log != nullptr) {
    job_.checkpoints.log->warning(log_folder(), " is not of these servers and ports: ", *difference);
  }
  return !difference;
}

// False when the checkpoint is damaged.
bool ShardServer::restore_for_log(const CheckpointReader& checkpoint) {
  check_checkpoint(checkpoint);
  try {
    shard_->restore(checkpoint);
    return true;
  } catch (const Error& error) {
    warn_of_damage(error);
    shard_.reset();
    return false;
  }
}

void ShardServer::replay(PushLogReader& log, const CheckpointReader* checkpoint) {
  const Time begun = loop_.now();
  const LogOwner& owner = log.base().owner;
  new_shard(owner.schema, owner.place, owner.cpu);
  recovers_ = true;
  if (is_first()) {
    read_finished();
    shard_->on_finished([](uint64_t) {});
  }
  recovers_ = owner.recovers;
  restored_folder_ = owner.checkpoint;
  if (checkpoint != nullptr && !restore_for_log(*checkpoint)) return;
  ShardReplay replay(*shard_);
  if (log.base().has_image) load_snapshot(log, replay);
  watch_cuts();
  if (checkpoint_) checkpoint_->set_increments({log.base().full_step, log.base().since_full});
  uint64_t events = 0;
  LogEnd end = log.read([&](ShardEvent event, int rank, std::string_view body) {
    replay.add(event, rank, body, loop_.now());
    ++events;
  });
  replay.end(loop_.now());
  go_on_with_log(std::move(end));
  log_->note_replayed(events);
  watch_end();
  if (job_.checkpoints.log == nullptr) return;
  job_.checkpoints.log->info("Taking the run up at step ", shard_->steps().clock(), ", with ", events, " changes of ",
                             log_folder(), ", in ", significant(to_seconds(loop_.now() - begun), 3), " s");
}

// A crash may have come between the last event and the segment of the checkpoint that began with it.
void ShardServer::go_on_with_log(LogEnd end) {
  const std::optional<ReplayedCut> cut = std::exchange(replayed_cut_, std::nullopt);
  auto is_of_cut = [&](const SegmentHeader& header) {
    return header.is_base && header.checkpoint == cut->id;
  };
  const bool has_base = !cut || is_of_cut(end.header) || std::ranges::any_of(end.chain, is_of_cut);
  write_log(std::move(end));
  if (!has_base) log_->begin_base(cut->id, cut->image, cut->increments);
  if (cut) note_logged(cut->id);
}

// As soon as the log is.
void ShardServer::note_logged(const CheckpointStep& cut) {
  log_->when_synced([this, cut](const Error* error) {
    if (error == nullptr) checkpoint_->note_logged(cut);
  });
}

// As the shard was when a checkpoint began that counts now.
void ShardServer::load_snapshot(const PushLogReader& log, ShardReplay& replay) {
  replay.load_snapshot(log.image());
  cut_pass_ = shard_->steps().pass_just_ended();
  const CheckpointStep& checkpoint = *log.base().checkpoint;
  last_end_ = {true, step_folder(checkpoint.step), checkpoint.run};
}

// Once, and in a turn of its own: connections end.
void ShardServer::end_for_good(const Error& error) {
  if (failed_) return;
  failed_ = error;
  if (job_.checkpoints.log != nullptr) job_.checkpoints.log->error(error.message());
  fail_timer_.start_after(Duration());
}

}  // namespace ps
