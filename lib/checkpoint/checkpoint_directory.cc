#include "checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>

#include "base/file.h"
#include "checkpoint/manifest_lock.h"

namespace ps {

namespace {

constexpr std::string_view kPrefix = "step-";

// Returns the steps of all folders that are named after one, complete or not.
std::vector<int64_t> all_steps(const std::string& directory) {
  std::vector<int64_t> steps;
  if (!is_directory(directory)) return steps;
  for (const std::string& name : list_directory(directory)) {
    if (std::optional<int64_t> step = step_of_folder(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string latest_text(const Latest& latest) {
  return cat(latest.folder, " ", checksum_text(latest.checksum), "\n");
}

// Removes the manifest first: without it the folder is no checkpoint, even if removing the rest is
// interrupted.
void remove_checkpoint(FileSystem& files, const std::string& folder) {
  files.remove(join_path(folder, kManifestFile));
  files.remove(folder);
}

}  // namespace

std::string step_folder(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%09lld", static_cast<long long>(step));
  return name;
}

std::optional<int64_t> step_of_folder(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::optional<int64_t> step = parse_int(name.substr(kPrefix.size()));
  if (!step || step_folder(*step) != name) return std::nullopt;
  return step;
}

std::vector<int64_t> checkpoint_steps(const std::string& directory) {
  std::vector<int64_t> steps = all_steps(directory);
  std::erase_if(steps, [&](int64_t step) {
    return !exists(join_path(join_path(directory, step_folder(step)), kManifestFile));
  });
  return steps;
}

std::optional<Manifest> whole_manifest(const std::string& directory, int64_t step) {
  try {
    return CheckpointReader(join_path(directory, step_folder(step))).manifest();
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Latest> read_latest(const std::string& directory) {
  constexpr uint64_t kMaxBytes = 100;
  const std::string path = join_path(directory, kLatestFile);
  if (!exists(path)) return std::nullopt;
  const std::string text = read_file(path, kMaxBytes);
  const size_t space = std::min(text.find(' '), text.size());
  Latest latest{text.substr(0, space), 0};
  const size_t begin = std::min(space + 1, text.size());
  std::from_chars(text.data() + begin, text.data() + text.size(), latest.checksum, 16);
  if (step_of_folder(latest.folder) && latest_text(latest) == text) return latest;
  fail(Code::kCorrupt, path, ": offset 0: ", quote(text), " names no checkpoint");
}

// An older attempt at this step may have left files, which would get in the way of the new ones.
std::string begin_checkpoint(FileSystem& files, const std::string& directory, int64_t step) {
  const std::string folder = join_path(directory, step_folder(step));
  remove_checkpoint(files, folder);
  files.make_directories(folder);
  return folder;
}

// Each step makes durable what the next one refers to: files of the folder, then the manifest, which makes
// the folder a checkpoint, then the folder's name, then LATEST, and last the directory's own name.  A crash
// between two steps leaves a checkpoint that is whole, or none.
void commit_checkpoint(FileSystem& files, const std::string& directory, const Manifest& manifest) {
  const std::string name = step_folder(manifest.step), folder = join_path(directory, name);
  files.sync_directory(folder);
  const std::string text = encode_manifest(manifest);
  write_file(join_path(folder, kManifestFile), text, files);
  files.sync_directory(directory);
  write_file(join_path(directory, kLatestFile), latest_text({name, manifest_checksum(text)}), files);
  files.sync_directory(parent_directory(directory));
}

// Looks for checkpoints to keep from step `step` down, and reads the manifest of each: damaged ones do not
// count, so that `keep` usable ones stay.  All folders but those and their bases then go.
void prune_checkpoints(FileSystem& files, const std::string& directory, int64_t step, int keep) {
  std::set<std::string> kept;
  auto keep_with_base = [&](int64_t one, const Manifest& manifest) {
    kept.insert(step_folder(one));
    if (manifest.base) kept.insert(manifest.base->folder);
  };
  const std::vector<int64_t> steps = all_steps(directory);
  int count = 0;
  for (auto at = steps.rbegin(); at != steps.rend() && count < keep; ++at) {
    if (*at > step) continue;
    std::optional<Manifest> manifest = whole_manifest(directory, *at);
    if (!manifest) continue;
    ++count;
    keep_with_base(*at, *manifest);
  }
  // Goes from the newest to the oldest: a process that reads an increment is about to open its base.
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    if (kept.contains(step_folder(*at))) continue;
    const std::string folder = join_path(directory, step_folder(*at));
    if (remove_unless_read(files, join_path(folder, kManifestFile))) {
      files.remove(folder);
    } else if (std::optional<Manifest> manifest = whole_manifest(directory, *at)) {
      keep_with_base(*at, *manifest);
    }
  }
}

// Returns the checkpoint that LATEST names, if it exists and its manifest has the checksum of LATEST.
static std::optional<Latest> trusted_latest(const std::string& directory,
                                            const std::function<void(const Error&)>& note) {
  try {
    std::optional<Latest> latest = read_latest(directory);
    if (!latest) return std::nullopt;
    const std::string folder = join_path(directory, latest->folder);
    const bool there = exists(join_path(folder, kManifestFile));
    if (there && CheckpointReader(folder).checksum() == latest->checksum) return latest;
    fail(Code::kCorrupt, join_path(directory, kLatestFile), ": offset 0: names a checkpoint ",
         quote(latest->folder), ", which is ", there ? "another one" : "not there");
  } catch (const Error& error) {
    if (error.code() == Code::kExhausted) throw;
    note(error);
    return std::nullopt;
  }
}

// Tries the checkpoint of LATEST first, if that can be trusted, and then all others from the newest on.  A
// checkpoint that cannot be opened, or is found damaged while `read` reads it, is told to on_damage, and
// the next one is tried.  Other errors of `read` would come again with each checkpoint, and end the search;
// so does a lack of memory, which says nothing about the files.
std::unique_ptr<CheckpointReader> open_newest_checkpoint(
    const std::string& directory, const std::function<void(const CheckpointReader&)>& read,
    const std::function<void(const Error&)>& on_damage) {
  std::optional<Error> first;
  auto note = [&](const Error& error) {
    if (!first) first = Error(Code::kCorrupt, error.message());
    on_damage(error);
  };
  std::vector<std::string> names;
  const std::optional<Latest> latest = trusted_latest(directory, note);
  if (latest) names.push_back(latest->folder);
  std::vector<int64_t> steps = checkpoint_steps(directory);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (!latest || step_folder(*step) != latest->folder) names.push_back(step_folder(*step));
  }
  for (const std::string& name : names) {
    std::unique_ptr<CheckpointReader> reader;
    try {
      reader = std::make_unique<CheckpointReader>(join_path(directory, name));
      read(*reader);
      return reader;
    } catch (const Error& error) {
      const bool is_damage = error.code() == Code::kCorrupt || error.code() == Code::kUnavailable;
      if (error.code() == Code::kExhausted || (reader && !is_damage)) throw;  // else goes on
      note(error);
    }
  }
  if (first) throw *first;
  fail(Code::kUsage, "no checkpoint in ", quote(directory));
}

}  // namespace ps
