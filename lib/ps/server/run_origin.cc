#include "ps/server/run_origin.h"

#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint_directory.h"

namespace ps {

namespace {

// Returns the job without its cluster: there may be other servers and trainers than before, and more or
// fewer.
Json without_cluster(Json job) {
  job.erase("cluster");
  return job;
}

std::string newest_folder(const std::string& directory) {
  const std::optional<Latest> latest = read_latest(directory);
  return latest ? latest->folder : "";
}

// Opens the checkpoint that a peer has named.  The error that the peer gets tells nothing about the folders of
// this server: a checkpoint that is missing has the code of one that is damaged.
std::unique_ptr<CheckpointReader> open_named(const std::string& name, const CheckpointSettings& settings) {
  const std::optional<int64_t> step = step_of_folder(name);
  if (!step) fail(Code::kUsage, "hello: ", quote(name), " is not the name of a checkpoint's folder");
  try {
    return std::make_unique<CheckpointReader>(join_path(settings.directory, step_folder(*step)));
  } catch (const Error& error) {
    if (settings.log != nullptr) {
      settings.log->warning("the first server goes on from a checkpoint that this one cannot read: ",
                            error.message());
    }
    if (error.code() == Code::kExhausted)
      throw Error(Code::kExhausted, cat("no memory or file to open checkpoint ", quote(name)));
    throw Error(Code::kCorrupt, cat("checkpoint ", quote(name),
                                    " cannot be read by this server: it is not there, or damaged"));
  }
}

}  // namespace

bool goes_back(const Hello& hello, const CheckpointSettings& settings) {
  return hello.recovers || hello.resume || hello.lost != 0 || settings.resume;
}

// A hello with a run comes from a trainer that the first shard has welcomed, and names the checkpoint that
// it took.  The first shard itself refuses to begin anew in a folder with checkpoints, whose run would
// otherwise be lost by a forgotten --resume.
std::unique_ptr<CheckpointReader> open_origin(const Hello& hello, const CheckpointSettings& settings) {
  const std::string& directory = settings.directory;
  if (hello.run != 0) {
    if (hello.checkpoint.empty()) return nullptr;
    return open_named(hello.checkpoint, settings);
  }
  if (checkpoint_steps(directory).empty()) return nullptr;
  if (!goes_back(hello, settings)) {
    fail(Code::kUsage, "checkpoint.directory: ", quote(directory),
         " holds checkpoints of an earlier run: --resume goes on from them; else name another folder");
  }
  ThreadPool pool(1);
  auto verify = [&](const CheckpointReader& reader) { reader.verify(pool, /*rows=*/false); };
  return open_newest_checkpoint(directory, verify, [&settings](const Error& error) {
    if (settings.log == nullptr) return;
    settings.log->warning("damaged, so an earlier checkpoint is looked for: ", error.message());
  });
}

void check_is_of_job(const CheckpointReader& checkpoint, const CheckpointSettings& settings) {
  const Json& earlier = checkpoint.manifest().job;
  auto difference =
      first_difference(without_cluster(comparable_job(settings.job, earlier)), without_cluster(earlier));
  if (!difference) return;
  fail(Code::kUsage, quote(checkpoint.folder()), " is of another job: ", *difference, " there");
}

// If the checkpoint cannot be opened, and there is a newer one, opens that: another shard may just have made
// the next checkpoint, of shards that are all there, and removed this one.
std::unique_ptr<CheckpointReader> open_for_log(const CheckpointSettings& settings) {
  std::string folder;
  try {
    folder = newest_folder(settings.directory);
    if (folder.empty()) return nullptr;
    return std::make_unique<CheckpointReader>(join_path(settings.directory, folder));
  } catch (const Error& error) {
    if (!folder.empty() && newest_folder(settings.directory) != folder) return open_for_log(settings);
    warn_of_damage(settings, error);
    return nullptr;
  }
}

void warn_of_damage(const CheckpointSettings& settings, const Error& error) {
  if (error.code() != Code::kCorrupt) throw error;
  if (settings.log == nullptr) return;
  settings.log->warning("damaged, so that the log after it is of no use: ", error.message());
}

}  // namespace ps
