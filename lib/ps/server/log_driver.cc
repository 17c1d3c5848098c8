#include "ps/server/log_driver.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "ps/wire/hello.h"

namespace ps {

namespace {

// Passes an answer on when everything logged before it is on the disk, or the error of the log.  One owner
// thread.
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

}  // namespace

ReplyPtr LogDriver::when_synced(ReplyPtr reply) {
  return log_ ? std::make_unique<SyncedReply>(*log_, std::move(reply)) : std::move(reply);
}

std::string LogDriver::folder(const ShardPlace& place) const {
  return join_path(settings_.directory, "log-" + place_name(place));
}

void LogDriver::check_is_new(const ShardPlace& place, bool recovers) const {
  if (recovers || log_segments(folder(place)).empty()) return;
  fail(Code::kUsage, "checkpoint.directory: ", quote(folder(place)),
       " is the log of an earlier run: --resume goes on from it; else name another folder");
}

// A run without a log removes a log that is there, since a later process would take up a run that is over.
void LogDriver::begin(Shard& shard, const ShardIdentity& identity, const RunOrigin& origin) {
  if (!settings_.durable) return settings_.files->remove(folder(identity.shard_place));
  LogEnd end;
  end.header.is_base = true;
  end.header.checkpoint = origin.step;
  end.header.owner = {settings_.job, identity.schema, identity.place,
                      identity.cpu,  origin.recovers, origin.folder};
  write(shard, identity.shard_place, std::move(end));
}

// A log of another job is a mistake of the user, so it is an error.  A log of other servers or ports is
// left alone, with a warning: the shard is then made without it.
std::optional<PushLogReader> LogDriver::open(const Json& place, const CheckpointReader* checkpoint) const {
  const std::string name = folder(place_from_json(place));
  std::optional<CheckpointStep> step;
  if (checkpoint != nullptr) step = {checkpoint->manifest().generation, checkpoint->manifest().step};
  std::string why;
  std::optional<PushLogReader> log = PushLogReader::open(name, step, why);
  if (!why.empty() && settings_.log != nullptr) settings_.log->warning(why);
  if (!log) return std::nullopt;
  const LogOwner& owner = log->base().owner;
  if (auto difference = first_difference(comparable_job(settings_.job, owner.job), owner.job)) {
    fail(Code::kUsage, quote(name), " is of another job: ", *difference, " there");
  }
  const auto difference = first_difference(place, owner.place, "servers");
  if (!difference) return log;
  if (settings_.log != nullptr) {
    settings_.log->warning(name, " is not of these servers and ports: ", *difference);
  }
  return std::nullopt;
}

// A crash may have come between the last event and the segment of the checkpoint that began with it; the
// segment is then begun now.
void LogDriver::resume(Shard& shard, const ShardPlace& place, LogEnd end, uint64_t events,
                       const std::function<void(const CheckpointStep&)>& on_logged) {
  const std::optional<BegunCheckpoint> begun = std::exchange(replayed_, std::nullopt);
  auto is_of_begun = [&](const SegmentHeader& header) {
    return header.is_base && header.checkpoint == begun->step;
  };
  const bool has_base = !begun || is_of_begun(end.header) || std::ranges::any_of(end.chain, is_of_begun);
  if (settings_.log != nullptr)
    for (const TornBytes& torn : end.torn) settings_.log->warning(torn.text());
  write(shard, place, std::move(end));
  if (!has_base) log_->begin_base(begun->step, begun->snapshot, begun->increments);
  if (begun) tell_when_logged(begun->step, on_logged);
  log_->note_replayed(events);
}

// Begins to write behind `end`.  PushLog asks for the newest checkpoint to find the segments that are not
// needed any more.  The shard tells its changes only now: those of a replay are in the log already.
void LogDriver::write(Shard& shard, const ShardPlace& place, LogEnd end) {
  PushLogSettings settings;
  settings.folder = folder(place);
  settings.files = settings_.files;
  settings.own_thread = settings_.own_thread;
  settings.newest_checkpoint = [directory = settings_.directory] {
    const std::optional<Latest> latest = read_latest(directory);
    return latest ? latest->folder : "";
  };
  log_ = std::make_unique<PushLog>(loop_, std::move(settings), [this](const Error& error) {
    on_error_(error.within("the log cannot be written, so that nothing more can be acknowledged"));
  });
  log_->begin(std::move(end));
  shard.on_change(
      [this](ShardEvent event, int rank, std::string_view body) { log_->add(event, rank, body); });
}

void LogDriver::begin_checkpoint(BegunCheckpoint begun,
                                 std::function<void(const CheckpointStep&)> on_logged) {
  if (!log_) return void(replayed_ = std::move(begun));
  log_->begin_base(begun.step, begun.snapshot, begun.increments);
  tell_when_logged(begun.step, std::move(on_logged));
}

void LogDriver::tell_when_logged(const CheckpointStep& step,
                                 std::function<void(const CheckpointStep&)> on_logged) {
  log_->when_synced([step, on_logged = std::move(on_logged)](const Error* error) {
    if (error == nullptr) on_logged(step);
  });
}

void LogDriver::end(const Error& reason) {
  if (log_) log_->end(reason);
}

void LogDriver::prune() {
  if (log_) log_->prune();
}

}  // namespace ps
