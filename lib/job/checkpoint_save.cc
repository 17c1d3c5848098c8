#include "job/checkpoint_save.h"

#include <chrono>
#include <utility>

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/model/model_format.h"
#include "job/checkpoint_model.h"

namespace ps {

CheckpointSave::CheckpointSave(std::string folder, std::string path, Of of)
    : thread_([this, folder = std::move(folder), path = std::move(path), of] { run(folder, path, of); }) {}

CheckpointSave::~CheckpointSave() {
  thread_.join();
}

void CheckpointSave::run(const std::string& folder, const std::string& path, Of of) {
  try {
    const CheckpointReader reader(folder);
    CheckpointModel model(reader, {});
    if (of == Of::kPass) model.leave_out_step();
    write_model(kSafetensorsModel, model, {}, path);
  } catch (const Error& error) {
    error_ = error;
  }
  std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

bool CheckpointSave::over(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return over_; });
}

}  // namespace ps
