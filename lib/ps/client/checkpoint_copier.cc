#include "ps/client/checkpoint_copier.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/manifest.h"
#include "ps/wire/checkpoint_messages.h"

namespace ps {

// The state of one copy.  Its callbacks share it until the last shard is done.
struct CheckpointCopier::Copying {
  uint64_t run_of_servers = 0, step = 0;
  std::string folder;
  std::function<void(const std::optional<Error>&)> done;
  CopyingPtr increment;  // the increment that waits for this base; may be null

  std::vector<Manifest> shards;                    // by shard; empty until it has answered
  std::vector<std::unique_ptr<OutputFile>> files;  // by shard, the file that is being written
  size_t shards_left = 0;
  Manifest whole;       // joined when all shards have answered
  bool failed = false;  // done() was called

  // Runs a part of the copying.  Its errors go to done(), and do not end the trainer.
  template <class Body>
  void run(Body&& body) {
    if (failed) return;
    try {
      body();
    } catch (const Error& error) {
      failed = true;
      files.clear();
      done(error);
    }
  }

  void join() {
    whole = join_manifests(shards);
    whole.step = static_cast<int64_t>(step);
    whole.generation = run_of_servers;
    if (whole.base && increment) fail(Code::kData, whole.base->folder, " is the base of a base");
  }

  // All files are copied: makes the folder a checkpoint.  An increment that builds on it now refers to the
  // copy.  The order is from the base upwards, since the manifest of an increment has the checksum of its
  // base's, and a folder counts as a checkpoint only when its manifest is there.
  void finish() {
    const std::string manifest = encode_manifest(whole);
    write_file(join_path(folder, kManifestFile), manifest, unsynced_files());
    if (!increment) return done(std::nullopt);
    increment->whole.base->checksum = manifest_checksum(manifest);
    increment->finish();
  }
};

void CheckpointCopier::copy(const AskedCheckpoint& checkpoint, const std::string& directory,
                            std::function<void(const std::optional<Error>&)> done) {
  auto copying = std::make_shared<Copying>();
  copying->run_of_servers = checkpoint.run;
  copying->done = std::move(done);
  copying->run([&] { begin(copying, directory, checkpoint.text); });
}

// The copying is a chain of answers, one chain for each shard: ask_shard gets the list of files, copy_file
// opens the next one, copy_slice asks for its next slice and calls itself from the answer.  The last file
// of the last shard ends the chains, and end() joins the manifests.  Every link of a chain runs in
// Copying::run, so that the first error ends all chains and is told once.
void CheckpointCopier::begin(const CopyingPtr& copying, const std::string& directory,
                             const std::string& name) {
  const std::optional<int64_t> step = step_of_folder(name);
  if (!step) fail(Code::kData, "the servers' checkpoint is called ", quote(name));
  copying->step = static_cast<uint64_t>(*step);
  copying->folder = join_path(directory, name);
  make_directories(copying->folder);
  copying->shards.resize(links_.size());
  copying->files.resize(links_.size());
  copying->shards_left = links_.size();
  for (size_t s = 0; s < links_.size(); ++s) ask_shard(copying, s);
}

void CheckpointCopier::ask_shard(const CopyingPtr& copying, size_t shard) {
  auto on_answer = [this, copying, shard](const Frame& frame) {
    copying->run([&] {
      // decode_shard_answer refuses file names that contain folders.
      CheckpointShardAnswer answer = decode_shard_answer(frame.body.bytes());
      if (!answer.manifest) fail(Code::kUnavailable, "a server's shard of the checkpoint: ", answer.why);
      copying->shards[shard] = std::move(*answer.manifest);
      copy_file(copying, shard, 0);
    });
  };
  links_.request(shard, Message::kCheckpointShard, Payload(encode_shard_request(copying->step)),
                 std::move(on_answer));
}

void CheckpointCopier::copy_file(const CopyingPtr& copying, size_t shard, size_t file) {
  const std::vector<FileEntry>& files = copying->shards[shard].files;
  copying->files[shard].reset();
  if (file == files.size()) {
    if (--copying->shards_left == 0) end(copying);
    return;
  }
  copying->files[shard] = unsynced_files().create(join_path(copying->folder, files[file].path));
  copy_slice(copying, shard, file, 0);
}

void CheckpointCopier::copy_slice(const CopyingPtr& copying, size_t shard, size_t file, uint64_t offset) {
  const FileEntry& entry = copying->shards[shard].files[file];
  if (offset == entry.sum.bytes) return copy_file(copying, shard, file + 1);
  const uint64_t size = std::min<uint64_t>(kShardSliceBytes, entry.sum.bytes - offset);
  const CheckpointShardSlice slice{copying->step, offset, static_cast<uint32_t>(size), entry.path};
  auto on_answer = [this, copying, shard, file, offset, size](const Frame& frame) {
    copying->run([&] {
      const auto bytes = decode_shard_bytes(frame.body.bytes());
      if (!bytes || bytes->size() != size) {
        fail(Code::kUnavailable, "a server has not kept its shard of the checkpoint until it was copied");
      }
      copying->files[shard]->write(*bytes);
      copy_slice(copying, shard, file, offset + size);
    });
  };
  links_.request(shard, Message::kCheckpointSlice, Payload(encode_shard_slice(slice)), std::move(on_answer));
}

// The files of all shards are copied.  If the checkpoint is an increment, its base is copied next, and the
// increment waits for it.
void CheckpointCopier::end(const CopyingPtr& copying) {
  copying->join();
  if (!copying->whole.base) return copying->finish();
  auto base = std::make_shared<Copying>();
  base->run_of_servers = copying->run_of_servers;
  base->done = copying->done;
  base->increment = copying;
  base->run([&] { begin(base, parent_directory(copying->folder), copying->whole.base->folder); });
}

}  // namespace ps
