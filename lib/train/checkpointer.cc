#include "train/checkpointer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_file_writer.h"
#include "config/json.h"

namespace ps {

Checkpointer::Checkpointer(const CheckpointOptions& options, Json job, uint64_t generation, Log& log,
                           FileSystem& files)
    : options_(options),
      job_(std::move(job)),
      generation_(generation),
      log_(log),
      files_(files),
      last_time_(monotonic_seconds()) {
  const double bytes_per_second = options_.bytes_per_second();
  if (bytes_per_second > 0) rate_ = std::make_unique<WriteRate>(bytes_per_second);
}

Checkpointer::~Checkpointer() = default;

void Checkpointer::begin_new() {
  files_.make_directories(options_.directory);
  if (checkpoint_steps(options_.directory).empty()) return;
  fail(Code::kUsage, "checkpoint.directory: ", quote(options_.directory),
       " holds checkpoints of an earlier run: --resume goes on from them; else name another folder");
}

// Checks the checkpoint while it is restored.  A check before would take twice the processor time, during which
// the disk would be idle.
std::unique_ptr<CheckpointReader> Checkpointer::restore_newest(LocalStore& store) {
  auto read = [&](const CheckpointReader& reader) {
    check_job(reader);
    reader.verify_states();
    store.restore(reader);
  };
  auto reader = open_newest_checkpoint(options_.directory, read, [&](const Error& error) {
    log_.warning("damaged, so an earlier checkpoint is looked for: ", error.message());
  });
  last_step_ = reader->manifest().step;
  return reader;
}

// Compares both jobs key by key as flat lists of JSON pointers, so that the message names the first key
// that differs.  The second loop finds keys that only the checkpoint has.
void Checkpointer::check_job(const CheckpointReader& reader) const {
  const Json flat = comparable_job(job_, reader.manifest().job).flatten();
  const Json theirs = reader.manifest().job.flatten();
  auto differ = [&](const std::string& key) {
    auto here = flat.find(key), there = theirs.find(key);
    std::string path = key.substr(1);
    std::replace(path.begin(), path.end(), '/', '.');
    fail(Code::kUsage, quote(reader.folder()), " is of another job: ", path, " is ",
         there == theirs.end() ? "not given" : there->dump(), " there and ",
         here == flat.end() ? "not given" : here->dump(), " here; --init-model takes its weights alone");
  };
  for (const auto& [key, value] : flat.items()) {
    if (!theirs.contains(key) || theirs.at(key) != value) differ(key);
  }
  for (const auto& [key, value] : theirs.items()) {
    if (!flat.contains(key)) differ(key);
  }
}

bool Checkpointer::due(int64_t step) const {
  if (options_.steps > 0 && step % options_.steps == 0) return true;
  const double period = options_.period_seconds();
  return period > 0 && monotonic_seconds() >= last_time_ + period;
}

std::string Checkpointer::folder(int64_t step) const {
  return join_path(options_.directory, step_folder(step));
}

// A failure to write never ends training: it is logged and kept in failure_, and the checkpoint before
// stays.  The time of the last attempt counts, so that a full disk is not tried again after each step.
bool Checkpointer::begin(int64_t step) {
  if (step == last_step_) return false;
  failure_.reset();
  last_time_ = monotonic_seconds();
  try {
    begin_checkpoint(files_, options_.directory, step);
    return true;
  } catch (const Error& error) {
    give_up(step, error);
    return false;
  }
}

bool Checkpointer::finish(int64_t step, const LocalStore& store, const CheckpointStates& states,
                          std::vector<FileEntry> files) {
  try {
    const Manifest manifest = write_parts(step, store, states, std::move(files));
    commit_checkpoint(files_, options_.directory, manifest);
    note_written(folder(step), manifest);
    return true;
  } catch (const Error& error) {
    give_up(step, error);
    return false;
  }
}

void Checkpointer::give_up(int64_t step, const Error& error) {
  log_.error("checkpoint at step ", step, " failed, the one before it stays: ", error.message());
  failure_ = error.within(cat("the last checkpoint, at step ", step, ", failed"));
  try {
    files_.remove(folder(step));
  } catch (const Error& other) {
    log_.warning(other.message());
  }
}

FileEntry Checkpointer::write_file(int64_t step, const std::string& file, const std::string& state,
                                   std::string_view bytes) const {
  CheckpointTarget target{folder(step), {&files_, options_.compression == "none" ? 0 : 1}, nullptr};
  if (rate_) target.writing.before_write = [this](uint64_t count) { rate_->take(count); };
  CheckpointFileWriter writer(target, file);
  writer.state(state, bytes);
  return writer.finish();
}

// Notes and logs a written checkpoint, and removes old ones.  The checkpoint counts already, so errors from
// here on are only logged.
void Checkpointer::note_written(const std::string& folder, const Manifest& manifest) {
  last_step_ = manifest.step;
  uint64_t bytes = 0;
  for (const FileEntry& file : manifest.files) bytes += file.sum.bytes;
  log_.info("Checkpoint ", manifest.base ? "of what changed " : "", "at step ", manifest.step, ": ",
            human_bytes(bytes), " in ", significant(monotonic_seconds() - last_time_, 3), " s to ", folder);
  try {
    if (manifest.base) {
      ++since_full_;
    } else if (options_.full_every > 1) {
      base_.reset();
      base_ = std::make_unique<CheckpointReader>(folder);
      since_full_ = 0;
    }
    prune_checkpoints(files_, options_.directory, manifest.step, options_.keep);
  } catch (const Error& error) {
    log_.warning("after checkpoint at step ", manifest.step, ": ", error.message());
  }
}

// Writes the files of the tables, then those of the states, and returns the manifest, which makes them a
// checkpoint when it is committed.  With a base, tables write only what has changed since it; every
// full_every-th checkpoint is full.
Manifest Checkpointer::write_parts(int64_t step, const LocalStore& store, const CheckpointStates& states,
                                   std::vector<FileEntry> files) {
  CheckpointTarget target{folder(step), {&files_, options_.compression == "none" ? 0 : 1}, nullptr};
  if (rate_) target.writing.before_write = [this](uint64_t bytes) { rate_->take(bytes); };
  if (base_ && since_full_ + 1 < options_.full_every) target.base = base_.get();
  Manifest manifest{.step = step, .generation = generation_, .job = job_, .tables = store.tables().layouts()};
  if (target.base) manifest.base = {step_folder(base_->manifest().step), base_->checksum()};
  manifest.files = store.save(target);
  CheckpointFileWriter writer(target, "state.psc");
  for (const auto& [name, bytes] : states) writer.state(name, bytes);
  manifest.files.push_back(writer.finish());
  std::ranges::move(files, std::back_inserter(manifest.files));
  return manifest;
}

}  // namespace ps
