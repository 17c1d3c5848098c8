// The folder that holds the checkpoints of a job: step-000012000/ and so on, and LATEST.  ps-checkpoint(5).
#ifndef PS_CHECKPOINT_CHECKPOINT_DIRECTORY_H_
#define PS_CHECKPOINT_CHECKPOINT_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "checkpoint/checkpoint_reader.h"

namespace ps {

inline constexpr const char* kLatestFile = "LATEST";

// "step-000012000"
std::string step_folder(int64_t step);

// The step of a folder of that name; nothing for any other.
std::optional<int64_t> step_of_folder(std::string_view name);

// The steps of all folders of that name that have a manifest, ascending; empty when there is no such
// directory.
std::vector<int64_t> checkpoint_steps(const std::string& directory);

// The manifest of the checkpoint at that step; nothing when there is none, or it is damaged.
std::optional<Manifest> whole_manifest(const std::string& directory, int64_t step);

// What LATEST names.  `folder` is a name within the directory.
struct Latest {
  std::string folder;
  uint64_t checksum = 0;  // of its manifest
};

// Nothing when there is no LATEST; throws kCorrupt when it is damaged.
std::optional<Latest> read_latest(const std::string& directory);

// Makes an empty folder for a checkpoint of this step, whatever was there before, and returns its path.
std::string begin_checkpoint(FileSystem& files, const std::string& directory, int64_t step);

// Makes the files of a checkpoint, all synced, count: syncs their folder, writes the manifest and then
// LATEST.
void commit_checkpoint(FileSystem& files, const std::string& directory, const Manifest& manifest);

// Removes all checkpoints but the newest `keep` up to `step`, and what those build on.  Those after `step`
// are of a future that was given up.  What somebody reads stays until the next time.  Call it once the
// checkpoint of `step` counts.
void prune_checkpoints(FileSystem& files, const std::string& directory, int64_t step, int keep);

// The checkpoint that LATEST names, or, when that is damaged, the newest of the others that is whole.  `read`
// reads all of it that counts and throws kCorrupt or kUnavailable where it is damaged; other errors end the
// search.  `on_damage` is told of each damage.  Throws kUsage when the directory holds no checkpoint,
// kCorrupt when all are damaged: the first damage.
std::unique_ptr<CheckpointReader> open_newest_checkpoint(
    const std::string& directory, const std::function<void(const CheckpointReader&)>& read,
    const std::function<void(const Error&)>& on_damage);

}  // namespace ps

#endif  // PS_CHECKPOINT_CHECKPOINT_DIRECTORY_H_
