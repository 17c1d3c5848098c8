#include "job/checkpoint_save.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/manifest.h"
#include "checkpoint/model/model_format.h"
#include "job/checkpoint_model.h"
#include "train/model_file.h"

namespace ps {

namespace {

// Returns the manifest in the folder of a checkpoint, or nullopt if there is none.
std::optional<Manifest> manifest_of(const std::string& checkpoint) {
  constexpr uint64_t kMaxBytes = 256 << 20;
  const std::string path = join_path(checkpoint, kManifestFile);
  if (!exists(path)) return std::nullopt;
  return decode_manifest(read_file(path, kMaxBytes), path);
}

// Makes the servers' files of a checkpoint the model: links or copies them, then writes the manifest, with
// which they count.
void keep_files(const std::string& checkpoint, const std::string& folder) {
  const Manifest manifest = *manifest_of(checkpoint);
  for (const FileEntry& file : manifest.files) {
    link_or_copy(join_path(checkpoint, file.path), join_path(folder, file.path));
  }
  write_file(join_path(folder, kManifestFile), encode_manifest(manifest));
}

}  // namespace

std::unique_ptr<CheckpointSave> CheckpointSave::ask(ServerCheckpoints* servers, int64_t pass) {
  if (servers == nullptr) return nullptr;
  std::unique_ptr<CheckpointSave> save(new CheckpointSave(*servers, pass));
  auto on_end = [answers = save->answers_](const AskedCheckpoint& answer) { answers->checkpoint = answer; };
  return servers->ask(pass, on_end) ? std::move(save) : nullptr;
}

// Waits for the thread and removes the copies.  Copies that cannot be removed stay beside the model, which does
// not need them.
CheckpointSave::~CheckpointSave() {
  if (written_.valid()) written_.wait();
  if (!target_) return;
  try {
    system_files().remove(target_->copies);
  } catch (const std::exception&) {
    return;
  }
}

const AskedCheckpoint* CheckpointSave::checkpoint() const {
  return answers_->checkpoint ? &*answers_->checkpoint : nullptr;
}

// Looks for the files of the checkpoint in the directory that this process may see.  A manifest there of
// another run with the same step is not it, which the generation tells.  If they are there, the thread
// reads them in place; otherwise the servers send copies, after which is_ready begins the thread.  A
// checkpoint with a base has only what changed since, and cannot be kept as files.
void CheckpointSave::write(Target target) {
  target_ = std::move(target);
  const AskedCheckpoint& checkpoint = *answers_->checkpoint;
  const std::string there = join_path(target_->checkpoints, checkpoint.text);
  const std::optional<Manifest> seen = target_->checkpoints.empty() ? std::nullopt : manifest_of(there);
  const bool is_it = seen && seen->generation == checkpoint.run;
  if (is_it) return begin_thread(there, target_->keeps_files && !seen->base);
  if (target_->keeps_files) fail(Code::kUnavailable, "the servers' files are not in ", quote(there));
  servers_.copy(checkpoint, target_->copies, [answers = answers_](const std::optional<Error>& error) {
    answers->copy_error = error;
    answers->copied = !error;
  });
}

// The work goes on here when copies have come, as nothing else calls this object.  An error of copying ends
// the work; the thread is then never begun.
bool CheckpointSave::is_ready() {
  if (!answers_->checkpoint || !target_) return answers_->checkpoint.has_value();
  if (answers_->copied && !written_.valid()) {
    begin_thread(join_path(target_->copies, answers_->checkpoint->text), /*as_files=*/false);
  }
  const bool written =
      written_.valid() && written_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  return written || answers_->copy_error;
}

void CheckpointSave::wait(double seconds) {
  if (written_.valid()) return void(written_.wait_for(std::chrono::duration<double>(seconds)));
  servers_.wait([this] { return is_ready() || written_.valid(); }, seconds);
}

// Starts the thread that writes the model.  The metadata contain the step, except for the model of a whole
// pass, as a process without servers would write it.
void CheckpointSave::begin_thread(const std::string& source, bool as_files) {
  const auto write = [source, as_files, folder = target_->folder, pass = pass_] {
    if (as_files) return keep_files(source, folder);
    const CheckpointReader reader(source);
    CheckpointModel model(reader, {});
    if (pass >= 0) model.leave_out_step();
    write_model(kSafetensorsModel, model, {}, join_path(folder, kModelFile));
  };
  try {
    written_ = std::async(std::launch::async, write);
  } catch (const std::system_error& error) {
    fail(Code::kExhausted, "cannot start a thread: ", error.code().message());
  }
}

}  // namespace ps
