// The log commits in groups.  add appends a change to work_, and start_commit has commit called in the next
// turn of the loop.  commit gives all of work_ to the writer, and `position` tells it how many changes are
// then on the disk.  committed comes back to the loop, commits the changes that have come meanwhile, and
// calls the functions that waited.  One commit at most is under way, so that a batch is written only when
// the one before it is on the disk: the reader relies on that (push_log_format.h).  A new segment counts as
// a change, too.
#include "ps/log/push_log.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "base/current_error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "ps/log/push_log_reader.h"

namespace ps {

// The segments on the disk.  Only the writer's tasks use it, one after the other.
class PushLog::Files {
 public:
  explicit Files(PushLogSettings settings) : settings_(std::move(settings)) {}

  void set_chain(std::vector<SegmentHeader> chain) { chain_ = std::move(chain); }

  // Writes segments and batches, and syncs them.  Returns the number of bytes written.  Only the first work
  // may be a batch without a segment: changes that come after a segment has been planned are put into it.
  uint64_t write(std::vector<Work>& work) {
    uint64_t bytes = 0;
    for (Work& each : work) bytes += each.segment ? begin(each) : add(each.events);
    file_->sync();
    return bytes;
  }

  // Keeps the segments from the newest base on whose checkpoint is the newest that counts, and removes all
  // others.  Files of such segments that a former call could not remove are removed too.
  void prune() {
    shorten_chain();
    if (leaves_others_) remove_others();
  }

 private:
  // Takes the segments before the newest base of that kind out of the chain, if a later segment is a base.
  void shorten_chain() {
    const bool has_successor = std::any_of(chain_.begin() + !chain_.empty(), chain_.end(),
                                           [](const SegmentHeader& segment) { return segment.is_base; });
    if (!has_successor) return;
    // Only now is it worth reading the newest checkpoint from the disk.
    const std::string newest = settings_.newest_checkpoint();
    auto base = std::find_if(chain_.rbegin(), chain_.rend(), [&newest](const SegmentHeader& segment) {
      return segment.is_base && segment.checkpoint && step_folder(segment.checkpoint->step) == newest;
    });
    if (base == chain_.rend()) return;
    chain_.erase(chain_.begin(), base.base() - 1);
    leaves_others_ = true;
  }

  uint64_t add(const std::string& events) {
    const std::string batch = encode_batch(offset_, events);
    file_->write(batch);
    offset_ += batch.size();
    return batch.size();
  }

  // Begins a segment.  The one before it is synced first, since the header of the new one names its end.
  // Segments of former chains are removed only when the first new one is on the disk.
  uint64_t begin(Work& work) {
    SegmentHeader header = std::move(*work.segment);
    const bool first = !file_;
    if (first) {
      settings_.files->make_directories(settings_.folder);
      const std::vector<uint64_t> numbers = log_segments(settings_.folder);
      header.number = numbers.empty() ? 1 : numbers.back() + 1;
    } else {
      file_->sync();
      header.prior = chain_.back().number;
      header.prior_end = offset_;
      header.number = header.prior + 1;
    }
    const std::string bytes = encode_segment(header, work.snapshot, work.events);
    file_ = settings_.files->create(join_path(settings_.folder, segment_file(header.number)));
    file_->write(bytes);
    file_->sync();
    settings_.files->sync_directory(settings_.folder);
    offset_ = bytes.size();
    chain_.push_back(std::move(header));
    if (first) {
      settings_.files->sync_directory(parent_directory(settings_.folder));
      remove_others();
    }
    return bytes.size();
  }

  // Removes the segments that are not in the chain.
  void remove_others() {
    leaves_others_ = true;
    for (uint64_t number : log_segments(settings_.folder)) {
      const bool needed = std::ranges::any_of(
          chain_, [number](const SegmentHeader& segment) { return segment.number == number; });
      if (!needed) settings_.files->remove(join_path(settings_.folder, segment_file(number)));
    }
    leaves_others_ = false;
  }

  const PushLogSettings settings_;
  std::vector<SegmentHeader> chain_;  // the needed segments; the last one is being written
  std::unique_ptr<OutputFile> file_;
  uint64_t offset_ = 0;
  bool leaves_others_ = false;  // there are segments on the disk that are not in the chain
};

// The address of the log; null when the log has ended.  It outlives the log, since tasks that were posted to
// the loop use it.
struct PushLog::Link {
  PushLog* log;
};

PushLog::PushLog(Loop& loop, PushLogSettings settings, std::function<void(const Error&)> on_error)
    : loop_(loop),
      on_error_(std::move(on_error)),
      timer_(loop, [this] { commit(); }),
      link_(std::make_shared<Link>(Link{this})),
      files_(std::make_unique<Files>(settings)),
      writer_(UINT64_MAX, settings.own_thread) {}

// The writer may be in the middle of a task.  Its message finds the link empty, and the writer ends before
// files_.
PushLog::~PushLog() {
  end(Error(Code::kUnavailable, "the server is ending"));
  link_->log = nullptr;
}

void PushLog::begin(LogEnd end) {
  PS_CHECK(work_.empty() && added_ == 0);
  owner_ = end.header.owner;
  files_->set_chain(std::move(end.chain));
  work_.push_back({std::move(end.header), std::move(end.snapshot), std::move(end.events)});
  start_commit();
}

void PushLog::begin_base(const CheckpointStep& checkpoint, std::string snapshot,
                         const Increments& increments) {
  SegmentHeader header;
  header.is_base = header.has_snapshot = true;
  header.checkpoint = checkpoint;
  header.full_step = increments.full_step;
  header.since_full = increments.since_full;
  header.owner = owner_;
  work_.push_back({std::move(header), std::move(snapshot), ""});
  start_commit();
}

void PushLog::add(ShardEvent event, int rank, std::string_view body) {
  if (work_.empty()) work_.emplace_back();
  append_event(event, rank, body, work_.back().events);
  ++counters_.events;
  start_commit();
}

void PushLog::when_synced(Done done) {
  if (error_) return done(&*error_);
  if (synced_ == added_) return done(nullptr);
  waiting_.push_back({added_, std::move(done)});
}

void PushLog::end(const Error& error) {
  if (!error_) error_ = error;
  work_.clear();
  timer_.stop();
  for (Waiting& waiting : std::exchange(waiting_, {})) waiting.done(&*error_);
}

void PushLog::fail(const Error& error) {
  if (error_) return;
  end(error);
  on_error_(error);
}

// Events that are added in the same turn of the loop, or while the last batch is written, form the next batch.
void PushLog::start_commit() {
  ++added_;
  if (error_) return work_.clear();
  if (!committing_ && !timer_.started()) timer_.start_after(Duration());
}

void PushLog::commit() {
  committing_ = true;
  // A task is a std::function, which copies its captures, so that the work lies behind a shared pointer.
  auto work = std::make_shared<std::vector<Work>>(std::exchange(work_, {}));
  writer_.add(0, [this, work, position = added_, link = link_] {
    uint64_t bytes = 0;
    std::optional<Error> error;
    try {
      bytes = files_->write(*work);
    } catch (...) {
      error = current_error();
    }
    tell(link, position, bytes, error);
  });
}

// Tells the loop that a batch was written.  The writer's thread calls it, and no exception may leave that
// thread.  The log waits for this message, so without memory for it, this tries again later.
void PushLog::tell(const std::shared_ptr<Link>& link, uint64_t position, uint64_t bytes,
                   const std::optional<Error>& error) {
  constexpr std::chrono::milliseconds kUntilMemory(1);
  for (;; std::this_thread::sleep_for(kUntilMemory)) {
    try {
      return loop_.post([link, position, bytes, error] {
        if (link->log != nullptr) link->log->committed(position, bytes, error);
      });
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

void PushLog::committed(uint64_t position, uint64_t bytes, const std::optional<Error>& error) {
  committing_ = false;
  if (error) return fail(*error);
  synced_ = position;
  ++counters_.syncs;
  counters_.bytes += bytes;
  // The disk works on the next batch while the functions that waited for this one are called.
  if (!work_.empty()) commit();
  // A function may add changes, wait again or end the log, so each turn looks at the list anew.
  while (!waiting_.empty() && waiting_.front().position <= synced_) {
    const Done done = std::move(waiting_.front().done);
    waiting_.pop_front();
    done(nullptr);
  }
}

// Files that cannot be removed now are removed at a later call.
void PushLog::prune() {
  if (error_ || committing_) return;
  writer_.add(0, [this] {
    try {
      files_->prune();
    } catch (...) {
      return;
    }
  });
}

}  // namespace ps
