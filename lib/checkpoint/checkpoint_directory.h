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

// Returns the step of a folder with such a name; nullopt for any other name.
std::optional<int64_t> step_of_folder(std::string_view name);

// Returns the steps of all such folders that have a manifest, ascending; empty when the directory does not
// exist.
std::vector<int64_t> checkpoint_steps(const std::string& directory);

// Returns the manifest of the checkpoint at that step; nullopt when there is none, or it is damaged.
std::optional<Manifest> whole_manifest(const std::string& directory, int64_t step);

// The contents of LATEST.  `folder` is a name within the directory.
struct Latest {
  std::string folder;
  uint64_t checksum = 0;  // checksum of its manifest
};

// Returns nullopt when there is no LATEST; throws kCorrupt when it is damaged.
std::optional<Latest> read_latest(const std::string& directory);

// Makes an empty folder for a checkpoint of this step, removing an older one, and returns its path.
std::string begin_checkpoint(FileSystem& files, const std::string& directory, int64_t step);

// Commits a checkpoint whose files are all synced: syncs their folder, writes the manifest and then LATEST.
void commit_checkpoint(FileSystem& files, const std::string& directory, const Manifest& manifest);

// Removes all checkpoints except the newest `keep` up to `step` and the bases of these.  Checkpoints after
// `step` belong to a run that was rolled back, and are removed too.  A checkpoint that a process is reading
// stays until the next call.  To be called once the checkpoint of `step` is committed.
void prune_checkpoints(FileSystem& files, const std::string& directory, int64_t step, int keep);

// Opens the checkpoint that LATEST names, or, if that is damaged, the newest other checkpoint that is whole.
// `read` must read all data that the caller needs, and throw kCorrupt or kUnavailable for damage; other
// errors end the search.  Calls `on_damage` for each damage.  Throws kUsage when the directory holds no
// checkpoint; kCorrupt, with the first damage, when all are damaged.
std::unique_ptr<CheckpointReader> open_newest_checkpoint(
    const std::string& directory, const std::function<void(const CheckpointReader&)>& read,
    const std::function<void(const Error&)>& on_damage);

}  // namespace ps

#endif  // PS_CHECKPOINT_CHECKPOINT_DIRECTORY_H_
