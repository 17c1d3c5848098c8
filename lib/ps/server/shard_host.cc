#include "ps/server/shard_host.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "checkpoint/checkpoint_directory.h"
#include "ps/server/run_origin.h"
#include "ps/server/shard_replay.h"

namespace ps {

ShardHost::ShardHost(Loop& loop, const ServedJob& job, const ShardLimits& limits,
                     std::function<void(const Error&)> on_failed)
    : loop_(loop),
      job_(job),
      limits_(limits),
      on_failed_(std::move(on_failed)),
      saves_([&loop] { return loop.now(); }),
      checkpoints_(loop, job.checkpoints, saves_),
      log_(loop, job.checkpoints, [this](const Error& error) { fail_for_good(error); }),
      deferred_(loop, limits.slice_rest, [this] { return shard_ ? &shard_->runner() : nullptr; }),
      readers_(limits.max_readers),
      finished_(job.checkpoints) {
  checkpoints_.on_end([this] {
    if (ending_ != 0) end_run();
  });
}

ShardHost::~ShardHost() = default;

// ---- hellos

void ShardHost::check_job(const Hello& hello) const {
  if (hello.protocol != kProtocolVersion) {
    fail(Code::kUsage, "protocol version ", hello.protocol, ", this server speaks ", kProtocolVersion);
  }
  if (auto difference = first_difference(hello.job, job_.fingerprint)) {
    fail(Code::kUsage, "the server has another job: ", *difference, " there");
  }
}

// Only a process that no shard knows, and that asks the first shard with a number of passes, may have
// nothing left to do.  The file of finished passes counts only for a run that goes back; a new run forgets
// it.
bool ShardHost::has_finished(const Hello& hello) {
  if (!checkpoints_.has_directory() || hello.role != "train") return false;
  if (hello.run != 0 || hello.known || hello.passes == 0) return false;
  if (!shard_ && !goes_back(hello, job_.checkpoints)) return false;
  if (!shard_) finished_.read();
  return finished_.has_done(static_cast<uint64_t>(hello.passes));
}

// A shard that the log describes comes first, since it decides whether the hello finds its run.  A hello
// that tells of a lost run drops the shard, which is then made again.  Otherwise the data and the servers
// of the hello must be those of the shard, unless this gives way to the peer.
void ShardHost::admit(const Hello& hello) {
  if (failed_) throw *failed_;
  if (hello.role == "train") passes_asked_ = std::max(passes_asked_, hello.passes);
  if (!shard_) resume_log(hello);
  if (hello.role == "train" && hello.joins()) check_has_run_of(hello);
  if (shard_ && has_lost_run(hello)) {
    check_may_drop(hello);
    drop_shard();
  }
  if (!shard_) return make_first_shard(hello);
  auto difference = first_difference(hello.schema, identity_.schema, "data.schema");
  if (!difference) difference = first_difference(hello.place, identity_.place, "servers");
  if (!difference) return;
  if (!gives_way(hello)) fail(Code::kUsage, "other trainers differ: ", *difference);
  drop_shard();
  make_first_shard(hello);
}

// A trainer that joins a run neither begins a run nor makes one go back: the trainers with which the run
// began do that.
void ShardHost::check_has_run_of(const Hello& hello) const {
  if (hello.known || hello.going) return;
  const uint64_t run = shard_ ? shard_->roster().run() : 0;
  const bool is_another = hello.run != 0 && hello.run != run;
  if (run == 0 || is_another || has_lost_run(hello)) fail_to_join(hello.rank, hello.trainers);
}

// Rows that no trainer has trained are the same on every server, so a reader of them has come too early.
void ShardHost::make_first_shard(const Hello& hello) {
  const bool goes_on = checkpoints_.has_directory() && job_.checkpoints.resume;
  if (hello.role != "train" && !goes_on) {
    fail(Code::kUnavailable, "no trainer has come yet: there is nothing to read");
  }
  make_shard(hello);
}

// The shard is as the first peer has described it, rightly or not.  A shard made for readers is replaced for
// a trainer, and for another reader once all readers have gone.
bool ShardHost::gives_way(const Hello& hello) const {
  if (!shard_->membership().is_unused(loop_.now())) return false;
  return hello.role == "train" || (shard_->roster().run() == 0 && !readers_.any());
}

// Returns true if the shard has a run that is over because a part of it was lost elsewhere.  At a shard other
// than the first, that is any run except the one in which all go back.
bool ShardHost::has_lost_run(const Hello& hello) const {
  if (!checkpoints_.has_directory() || hello.role != "train") return false;
  const uint64_t run = shard_->roster().run();
  if (hello.run == 0) return hello.lost != 0 && hello.lost == run;
  if (!hello.recovers || hello.run == run) return false;
  return run != 0 || hello.checkpoint != origin_.folder;
}

// The number of another run is not enough to end this one: the trainer whose rank the hello names must be
// gone, unless the hello is from its own process.  If the run has no such rank, all trainers must be gone.
void ShardHost::check_may_drop(const Hello& hello) const {
  const TrainerRoster& roster = shard_->roster();
  const size_t rank = static_cast<size_t>(hello.rank);
  const bool has_rank = rank < roster.size();
  const bool is_own = has_rank && roster.trainers()[rank].generation == hello.generation;
  const bool held = has_rank ? roster.trainers()[rank].connections > 0 : roster.anybody_connected();
  if (is_own || !held) return;
  fail(Code::kUnavailable, "trainer ", hello.rank, " is another process; it has to end first");
}

Welcome ShardHost::welcome_finished(const Hello& hello) const {
  Welcome welcome;
  welcome.cpu = hello.cpu;
  welcome.run_status = {.checkpointed = true,
                        .finished = finished_.passes(),
                        .ended_early = finished_.passes() < static_cast<uint64_t>(hello.passes)};
  return welcome;
}

Welcome ShardHost::welcome() const {
  Welcome welcome;
  welcome.cpu = identity_.cpu;
  return welcome;
}

// A run that begins without going back leaves nothing to do for the other shards.
RunStatus ShardHost::join(const Member& member) {
  const uint64_t before = shard_->roster().run();
  RunStatus run_status = shard_->membership().join(member, loop_.now());
  if (before != 0 && before != run_status.run) {
    origin_.recovers = false;
    passes_asked_ = member.passes;
  }
  run_status.checkpointed = checkpoints_.is_attached() && checkpoints_.has_directory();
  run_status.gives_shards = checkpoints_.is_attached();
  run_status.logged = log_.is_on();
  run_status.finished = finished_.passes();
  run_status.recovers = origin_.recovers;
  run_status.checkpoint = origin_.recovers ? origin_.folder : "";
  return run_status;
}

// The requests of the connection are unwanted by now.
void ShardHost::leave(const Member& member) {
  if (shard_) shard_->membership().leave(member, loop_.now());
  checkpoints_.forget_unwanted();
}

Saver ShardHost::elect_saver(const Member& member, const SaveRequest& request) {
  if (request.run != shard_->roster().run()) return {false, member.rank};
  return ps::elect_saver(saves_, {request.run, member.rank, member.generation}, request.stage, request.name);
}

// ---- the shard

void ShardHost::new_shard(const Json& schema, const Json& place, const std::string& cpu) {
  std::vector<ParameterSpec> specs = job_.parameters(schema_from_json(schema));
  const ShardPlace shard_place = place_from_json(place);
  shard_ = std::make_unique<Shard>(std::move(specs), job_.optimizers, shard_place, job_.consistency,
                                   job_.trainer_loss, limits_, job_.push_codec);
  identity_ = {schema, place, cpu, shard_place};
  // Any thread may call this, so the work is posted to the loop.  The host may be gone when the loop comes
  // to it, which `guard` tells.
  shard_->pulls().on_room([this, guard = std::weak_ptr<const bool>(exists_)] {
    loop_.post([this, guard] {
      if (guard.expired() || !shard_) return;
      shard_->pulls().read_on();
      if (shard_->runner().busy()) return;  // the end of the step answers them
      shard_->answer_starved();
    });
  });
  shard_->runner().on_busy([this] { deferred_.go_on_soon(); });
}

// A trainer that knows a run, which this new shard cannot have, is told that its state is lost.  The log
// begins after the shard was restored, because its header names the checkpoint, and before checkpoints are
// attached, because each of them begins a segment of the log.
void ShardHost::make_shard(const Hello& hello) {
  const bool has_directory = checkpoints_.has_directory();
  if (has_directory && (hello.known || hello.going)) {
    fail(kStateLost, "the server was restarted: the run of trainer ", hello.rank, " is not known here");
  }
  new_shard(hello.schema, hello.place, hello.cpu);
  try {
    if (has_directory) restore(hello);
  } catch (const Error&) {
    drop_shard();
    throw;
  }
  if (has_directory) log_.begin(*shard_, identity_, origin_);
  attach();
  watch_end();
}

// The first shard chooses the checkpoint, and the others begin with the same one.  A hello with run 0 is to
// the first shard, which alone keeps the file of finished passes.
void ShardHost::restore(const Hello& hello) {
  origin_ = {.recovers = goes_back(hello, job_.checkpoints), .folder = "", .step = {}};
  if (hello.run == 0) origin_.recovers ? finished_.read() : finished_.forget();
  log_.check_is_new(identity_.shard_place, origin_.recovers);
  const std::unique_ptr<CheckpointReader> reader = open_origin(hello, job_.checkpoints);
  if (!reader) return;
  check_is_of_job(*reader, job_.checkpoints);
  shard_->recovery().restore(*reader);
  origin_.folder = step_folder(reader->manifest().step);
  origin_.step = {reader->manifest().generation, reader->manifest().step};
  if (job_.checkpoints.log != nullptr) job_.checkpoints.log->info("Going on from ", reader->folder());
}

// All waiting trainers get an error, and begin anew.  The parts end in the order in which they use each
// other: the step that is under way, the memory of deferred requests, which must go back before the ledger
// is destroyed, the checkpoint of the tables, and the log, which refuses the answers that it holds back.
// The log is destroyed after the shard, whose changes and replies refer to it.
void ShardHost::drop_shard() {
  shard_->runner().finish();
  deferred_.forget_held();
  ending_ = 0;
  const Error lost(kStateLost, "the run goes back to a checkpoint");
  checkpoints_.detach(lost);
  shard_->membership().refuse_waiting(lost);
  log_.end(lost);
  shard_.reset();
  log_.close();
}

void ShardHost::attach() {
  checkpoints_.attach(*shard_, identity_);
  if (!checkpoints_.is_attached()) return;
  CheckpointAlignment::Wanted wanted;
  if (identity_.is_first()) wanted = [this](uint64_t number) { return checkpoints_.wants(number); };
  shard_->checkpoints().on_checkpoint(
      [this](uint64_t number, bool at_end) { begin_checkpoint(number, at_end); }, std::move(wanted),
      checkpoints_.has_directory());
}

void ShardHost::begin_checkpoint(uint64_t number, bool at_end) {
  const CheckpointStep step = checkpoints_.begin(number, at_end);
  if (!job_.checkpoints.durable) return;
  log_.begin_checkpoint({step, shard_->recovery().save_snapshot(), checkpoints_.increments()},
                        [this](const CheckpointStep& logged) { checkpoints_.note_logged(logged); });
}

// ---- the end of the run

void ShardHost::watch_end() {
  if (!identity_.is_first() || !checkpoints_.has_directory()) return;
  shard_->gatherings().on_finished([this](uint64_t passes) {
    ending_ = passes;
    if (!checkpoints_.busy()) end_run();
  });
}

// Ends the run when the checkpoint of its end counts, or has failed.  Until then every server that dies takes
// all trainers back to a checkpoint, so that none may leave.
void ShardHost::end_run() {
  shard_->runner().finish();
  finished_.write(std::exchange(ending_, 0), static_cast<uint64_t>(passes_asked_));
  shard_->gatherings().confirm_end();
}

// ---- the log

// Makes the shard again that the process before this one had, if its log goes on from the newest checkpoint.
// A trainer that begins a run without an earlier one does not look for a log.
//
// An error ends the server, since it may not begin anew in place of the run that is there.
void ShardHost::resume_log(const Hello& hello) {
  const bool resumes =
      job_.checkpoints.resume || hello.resume || hello.known || hello.going || hello.lost != 0;
  if (!job_.checkpoints.durable || !resumes || std::exchange(log_looked_for_, true)) return;
  try {
    const std::unique_ptr<CheckpointReader> checkpoint = open_for_log(job_.checkpoints);
    std::optional<PushLogReader> log = log_.open(hello.place, checkpoint.get());
    if (log) replay(*log, checkpoint.get());
  } catch (const Error& error) {
    if (shard_) drop_shard();
    fail_for_good(error.within("the run cannot be taken up"));
    throw *failed_;
  }
}

// Returns false if the checkpoint is damaged.
bool ShardHost::restore_for_log(const CheckpointReader& checkpoint) {
  check_is_of_job(checkpoint, job_.checkpoints);
  try {
    shard_->recovery().restore(checkpoint);
    return true;
  } catch (const Error& error) {
    warn_of_damage(job_.checkpoints, error);
    shard_.reset();
    return false;
  }
}

// Makes the shard that the log describes, restores the checkpoint and the snapshot from which the log goes
// on, and then makes all logged changes again in their order.  Afterwards the log is written on behind the
// last of them.
void ShardHost::replay(PushLogReader& log, const CheckpointReader* checkpoint) {
  const Time begun = loop_.now();
  const SegmentHeader& base = log.base();
  new_shard(base.owner.schema, base.owner.place, base.owner.cpu);
  if (identity_.is_first()) {
    finished_.read();
    // An event tells when the end of the run counted.  Until that event is repeated, this function keeps
    // the last gathering from being answered, as it was then.
    shard_->gatherings().on_finished([](uint64_t) {});
  }
  origin_ = {.recovers = base.owner.recovers, .folder = base.owner.checkpoint, .step = {}};
  if (checkpoint != nullptr && !restore_for_log(*checkpoint)) return;
  ShardReplay replay(*shard_);
  if (base.has_snapshot) {
    replay.load_snapshot(log.snapshot());
    checkpoints_.set_last(shard_->steps().pass_just_ended(), *base.checkpoint);
  }
  attach();
  if (checkpoints_.is_attached()) checkpoints_.set_increments({base.full_step, base.since_full});
  uint64_t events = 0;
  LogEnd end = log.read([&](ShardEvent event, int rank, std::string_view body) {
    replay.add(event, rank, body, loop_.now());
    ++events;
  });
  replay.end(loop_.now());
  log_.resume(*shard_, identity_.shard_place, std::move(end), events,
              [this](const CheckpointStep& logged) { checkpoints_.note_logged(logged); });
  watch_end();
  if (job_.checkpoints.log == nullptr) return;
  job_.checkpoints.log->info("Taking the run up at step ", shard_->steps().clock(), ", with ", events,
                             " changes of ", log_.folder(identity_.shard_place), ", in ",
                             significant(to_seconds(loop_.now() - begun), 3), " s");
}

void ShardHost::fail_for_good(const Error& error) {
  if (failed_) return;
  failed_ = error;
  if (job_.checkpoints.log != nullptr) job_.checkpoints.log->error(error.message());
  on_failed_(error);
}

// ---- now and then

void ShardHost::check() {
  if (shard_) shard_->membership().check_trainers(loop_.now());
  log_.prune();
}

void ShardHost::refuse_waiting(const Error& reason) {
  if (shard_) shard_->membership().refuse_waiting(reason);
  deferred_.fail_all(reason);
  checkpoints_.refuse_waiting(reason);
  log_.end(reason);
}

void ShardHost::describe(ShardStatus& status) const {
  if (shard_) shard_->describe(status);
  status.begins_checkpoints = checkpoints_.decides();
  if (checkpoints_.counters() != nullptr) status.checkpoints = *checkpoints_.counters();
  if (log_.counters() != nullptr) status.log = *log_.counters();
}

}  // namespace ps
