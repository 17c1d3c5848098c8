#include "ps/server/shard_checkpoint.h"

#include <algorithm>
#include <utility>

#include "base/current_error.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/row_chunks.h"

namespace ps {

// The files that are being written.  The writer's tasks share this with the loop, which reads it only when
// the writer is idle.
struct ShardCheckpoint::Writing {
  std::atomic<bool> given_up = false;
  std::unique_ptr<CheckpointShardWriter> writer;
  std::optional<Error> error;
  Manifest manifest;   // manifest of the shard's files, once they are written
  uint64_t bytes = 0;  // bytes of the whole checkpoint, once it counts

  // Runs body(), unless the checkpoint was given up or an error has come before.
  template <class Body>
  void run(Body&& body) {
    if (given_up || error) return;
    try {
      body();
    } catch (...) {
      error = current_error();
    }
  }
};

ShardCheckpoint::ShardCheckpoint(Loop& loop, const CheckpointSettings& settings, const ShardPlace& place,
                                 ShardTables& tables, CheckpointEvents& events)
    : loop_(loop),
      settings_(settings),
      place_(place),
      tables_(tables),
      events_(events),
      timer_(loop, [this] { work(); }),
      writer_(settings.memory_bytes / 2, settings.own_thread) {}

ShardCheckpoint::~ShardCheckpoint() {
  if (writing_) writing_->given_up = true;
  tables_.parameters().end_snapshot();
}

const std::string& ShardCheckpoint::directory() const {
  return settings_.directory.empty() ? settings_.scratch : settings_.directory;
}

std::vector<std::string> ShardCheckpoint::folders(const CheckpointStep& checkpoint) const {
  std::vector<std::string> all = {join_path(directory(), writing_folder(checkpoint))};
  if (!settings_.directory.empty()) all.push_back(join_path(directory(), step_folder(checkpoint.step)));
  return all;
}

// Returns the step of the full checkpoint on which this one builds; nothing if this one is full.
std::optional<int64_t> ShardCheckpoint::choose_base(const CheckpointStep& checkpoint, bool full) {
  if (!full && increments_.full_step >= 0 && increments_.since_full + 1 < settings_.full_every) {
    ++increments_.since_full;
    return increments_.full_step;
  }
  increments_ = {.full_step = checkpoint.step};
  return std::nullopt;
}

// If an earlier process of this shard has written its files of this checkpoint, uses these, and returns true.
bool ShardCheckpoint::adopt_written() {
  std::optional<Manifest> written = find_shard_manifest(directory(), checkpoint_, place_);
  if (!written) return false;
  writing_->manifest = std::move(*written);
  phase_ = Phase::kWriting;
  timer_.start_after(Duration());
  return true;
}

// Begins the snapshot of the tables in the same turn of the loop in which the states were taken, so that
// both are of the same step.  The tasks of the writer share writing_ with this object, and a new checkpoint
// makes a new one: the tasks of a checkpoint that was given up, which may still be queued, find given_up
// set and do nothing.  base_step is chosen before files of an earlier process are adopted, since an
// increment counts either way.
void ShardCheckpoint::begin(const CheckpointStep& checkpoint, std::map<std::string, std::string> states,
                            bool full, SharedStates shared) {
  if (busy()) {
    writing_->given_up = true;
    ++counters_.given_up;
    events_.shard_ended(checkpoint_, {std::nullopt, "it was given up for the next one"});
    tables_.parameters().end_snapshot();  // the next one may have its files already, and begin none
  }
  checkpoint_ = checkpoint;
  states_ = std::move(states);
  shared_states_ = std::move(shared);
  begun_ = loop_.now();
  writing_ = std::make_shared<Writing>();
  logged_ = !settings_.durable;
  const std::optional<int64_t> base_step = choose_base(checkpoint, full);
  if (adopt_written()) return;
  writer_.add(0, [this, writing = writing_, checkpoint, base_step] {
    writing->run([&] {
      const ChunkWriting chunks{settings_.files, settings_.zstd_level,
                                [rate = settings_.rate](uint64_t bytes) {
                                  BackgroundWriter::give_way();
                                  if (rate) rate->take(bytes);
                                }};
      if (settings_.directory.empty()) remove_stale_shards(*settings_.files, settings_.scratch, checkpoint);
      writing->writer =
          std::make_unique<CheckpointShardWriter>(directory(), checkpoint, place_, chunks, base_step);
    });
  });
  tables_.parameters().begin_snapshot(settings_.memory_bytes / 2, *this);
  phase_ = Phase::kSweeping;
  slices_ = 0;
  timer_.start_after(Duration());
}

void ShardCheckpoint::add_rows(const TableLayout& layout, uint32_t partition, SnapshotRows&& rows) {
  auto taken = std::make_shared<SnapshotRows>(std::move(rows));
  writer_.add(taken->size() * layout.row_bytes(), [writing = writing_, layout, partition, taken] {
    writing->run([&] {
      taken->sorted(rows_of_a_block(layout),
                    [&](const RowBlock& block) { writing->writer->rows(layout, partition, block); });
    });
  });
}

void ShardCheckpoint::add_dense(const TableLayout& layout, const BlockCyclicRows& deal,
                                std::vector<float> floats) {
  const uint64_t bytes = floats.size() * sizeof(float);
  writer_.add(bytes, [writing = writing_, layout, deal, floats = std::move(floats)] {
    writing->run([&] { writing->writer->dense(layout, deal, floats); });
  });
}

// Continues the checkpoint; the timer calls this until the phase is kIdle.  The phases follow each other:
// kSweeping hands the rows to the writer, kWriting waits until the writer has written them, kGathering waits
// for the files of the other shards, and kCommitting joins the files of all.  Only the first shard has the
// last two phases.
void ShardCheckpoint::work() {
  constexpr Duration kAskWriter = std::chrono::milliseconds(2), kAskOthers = std::chrono::milliseconds(10);
  if (phase_ == Phase::kSweeping) return sweep();
  if (!writer_.is_idle()) return timer_.start_after(kAskWriter);
  if (writing_->error) return end_failed(*writing_->error);
  if (phase_ == Phase::kCommitting) return end_committed();
  if (phase_ == Phase::kWriting) finish_writing();
  if (phase_ != Phase::kGathering) return;
  gather();
  if (busy()) timer_.start_after(kAskOthers);
}

// Sweeps for a fraction of a millisecond at a time.  While requests come, sweeping takes at most an eleventh
// of all time, so that requests are served at about their usual rate.
void ShardCheckpoint::sweep() {
  constexpr Duration kAskRoom = std::chrono::milliseconds(1);
  // Slices without a rest: a small table need not wait, and no request waits for more than a millisecond.
  constexpr int kAtOnce = 4;
  // The rest is this many times what sweeping took, by the clock, during which others may have had the
  // processor.
  constexpr int kRest = 10;
  constexpr Duration kLongestRest = std::chrono::milliseconds(1);
  if (!writer_.has_room()) return timer_.start_after(kAskRoom);
  const bool asked = tables_.num_requests() != std::exchange(requests_seen_, tables_.num_requests());
  const Time start = loop_.now();
  bool more = false;
  try {
    more = sweep_some();
  } catch (...) {
    return give_up_sweep(current_error());
  }
  if (more) {
    // Without requests between two slices there is nobody to rest for.
    const Duration rest = std::min<Duration>(kRest * (loop_.now() - start), kLongestRest);
    return timer_.start_after(asked && ++slices_ > kAtOnce ? rest : Duration());
  }
  // All rows are with the writer.  Without the log behind the checkpoint the files must not be complete, so
  // this function is called again until note_logged.
  if (!logged_) return timer_.start_after(kAskRoom);
  writer_.add(0, [writing = writing_, layouts = tables_.parameters().layouts(), states = std::move(states_),
                  shared = std::exchange(shared_states_, {})] {
    writing->run([&] { writing->manifest = writing->writer->finish(layouts, states, shared); });
  });
  phase_ = Phase::kWriting;
  timer_.start_after(Duration());
}

// Rows are of any size, so this sweeps a few at a time, until it has taken too long.  Returns true if there
// are more.
bool ShardCheckpoint::sweep_some() {
  constexpr uint64_t kRows = 64, kMostRows = 1024;
  constexpr Duration kLongest = std::chrono::microseconds(100);
  const Time end = loop_.now() + kLongest;
  for (uint64_t rows = 0; rows < kMostRows && loop_.now() < end; rows += kRows) {
    if (!tables_.parameters().sweep_snapshot(kRows)) return false;
  }
  return true;
}

// Ends a checkpoint whose rows could not be read.  It ends after all work that the writer was given before.
void ShardCheckpoint::give_up_sweep(const Error& error) {
  tables_.parameters().end_snapshot();
  writer_.add(0, [writing = writing_, error] { writing->run([&] { throw error; }); });
  phase_ = Phase::kWriting;
  timer_.start_after(Duration());
}

void ShardCheckpoint::finish_writing() {
  ++counters_.parts_written;
  gathering_since_ = loop_.now();
  phase_ = commits() ? Phase::kGathering : Phase::kIdle;
  if (!commits()) failure_.reset();
  events_.shard_ended(checkpoint_, {writing_->manifest, ""});
  if (settings_.directory.empty())
    events_.checkpoint_ended({true, step_folder(checkpoint_.step), checkpoint_.run});
}

// Waits for the files of the other shards, and then joins all to one checkpoint.
void ShardCheckpoint::gather() {
  constexpr Duration kLongest = std::chrono::seconds(60);
  if (all_shards_written(settings_.directory, checkpoint_, place_)) return commit();
  if (loop_.now() - gathering_since_ < kLongest) return;
  end_failed(Error(Code::kUnavailable,
                   "the files of other servers do not come: do all of them have the "
                   "checkpoint directory?"));
}

void ShardCheckpoint::commit() {
  phase_ = Phase::kCommitting;
  writer_.add(0, [this, writing = writing_, checkpoint = checkpoint_] {
    writing->run([&] {
      writing->bytes = commit_shards(*settings_.files, settings_.directory, checkpoint, settings_.job);
    });
    if (!writing->error) prune(checkpoint);
  });
}

// The checkpoint counts already, and an error from here on does not change that.
void ShardCheckpoint::prune(const CheckpointStep& checkpoint) const {
  try {
    prune_checkpoints(*settings_.files, settings_.directory, checkpoint.step, settings_.keep);
    remove_stale_shards(*settings_.files, settings_.directory, checkpoint);
  } catch (...) {
    if (settings_.log == nullptr) return;
    settings_.log->warning("after the checkpoint at step ", checkpoint.step, ": ", current_error().message());
  }
}

void ShardCheckpoint::end_committed() {
  phase_ = Phase::kIdle;
  const double seconds = to_seconds(loop_.now() - begun_);
  failure_.reset();
  ++counters_.written;
  counters_.last_step = checkpoint_.step;
  counters_.last_bytes = writing_->bytes;
  counters_.last_seconds = seconds;
  events_.checkpoint_ended({true, step_folder(checkpoint_.step), checkpoint_.run});
  if (settings_.log == nullptr) return;
  settings_.log->info("Checkpoint at step ", checkpoint_.step, ": ", human_bytes(writing_->bytes), " in ",
                      significant(seconds, 3), " s to ",
                      join_path(settings_.directory, step_folder(checkpoint_.step)));
}

// The checkpoint before this one stays valid.  The files are closed before they are removed.  Only the
// first shard removes the folder, since all shards write into it.
void ShardCheckpoint::end_failed(const Error& error) {
  phase_ = Phase::kIdle;
  ++counters_.failed;
  failure_ = error;
  if (settings_.log != nullptr) {
    settings_.log->error("checkpoint at step ", checkpoint_.step,
                         " failed, the one before it stays: ", error.message());
  }
  writing_->writer.reset();
  events_.shard_ended(checkpoint_, {std::nullopt, error.message()});
  events_.checkpoint_ended({false, error.message()});
  if (!commits()) return;
  try {
    settings_.files->remove(join_path(settings_.directory, writing_folder(checkpoint_)));
  } catch (...) {
    if (settings_.log != nullptr) settings_.log->warning(current_error().message());
  }
}

}  // namespace ps
