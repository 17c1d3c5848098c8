// How a remote store copies the servers' files of a checkpoint: all shards at the same time, each a file
// after the other, a piece at a time, so that pulls and pushes wait for one piece at most.  The checkpoint on
// which it builds, if there is one, comes after it.
#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/manifest.h"
#include "ps/client/remote_store.h"
#include "ps/wire/checkpoint_messages.h"

namespace ps {

// What the callbacks share until the last shard is done.
struct RemoteStore::Taking {
  uint64_t run_of_servers = 0, step = 0;
  std::string folder;
  std::function<void(const std::optional<Error>&)> done;
  std::shared_ptr<Taking> increment;  // which builds on this one, and waits for it; may be null

  std::vector<Manifest> parts;                     // by shard, as they come
  std::vector<std::unique_ptr<OutputFile>> files;  // by shard, those that are being copied
  size_t shards_left = 0;
  Manifest whole;       // once all are there
  bool failed = false;  // done() was called

  // What goes wrong on this side is told, and ends nothing else.
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

  void add(size_t shard, Manifest part) {
    for (const FileEntry& file : part.files) {
      if (file.path.find('/') != std::string::npos) fail(Code::kData, "a part has a file ", quote(file.path));
    }
    parts[shard] = std::move(part);
  }

  void join() {
    whole = join_manifests(parts);
    whole.step = static_cast<int64_t>(step);
    whole.generation = run_of_servers;
    if (whole.base && increment) fail(Code::kData, whole.base->folder, " is the base of a base");
  }

  // The copies are a checkpoint.  What builds on this one builds on the copy from here on.
  void finish() {
    const std::string manifest = encode_manifest(whole);
    write_file(join_path(folder, kManifestFile), manifest, unsynced_files());
    if (!increment) return done(std::nullopt);
    increment->whole.base->checksum = manifest_checksum(manifest);
    increment->finish();
  }
};

void RemoteStore::take_checkpoint(const AskedCheckpoint& checkpoint, const std::string& directory,
                                  std::function<void(const std::optional<Error>&)> done) {
  auto taking = std::make_shared<Taking>();
  taking->run_of_servers = checkpoint.run;
  taking->done = std::move(done);
  taking->run([&] { take_all(taking, directory, checkpoint.text); });
}

void RemoteStore::take_all(const std::shared_ptr<Taking>& taking, const std::string& directory,
                           const std::string& name) {
  const std::optional<int64_t> step = step_of_folder(name);
  if (!step) fail(Code::kData, "the servers' checkpoint is called ", quote(name));
  taking->step = static_cast<uint64_t>(*step);
  taking->folder = join_path(directory, name);
  make_directories(taking->folder);
  taking->parts.resize(links_.size());
  taking->files.resize(links_.size());
  taking->shards_left = links_.size();
  for (size_t s = 0; s < links_.size(); ++s) take_part(taking, s);
}

void RemoteStore::end_all(const std::shared_ptr<Taking>& taking) {
  taking->join();
  if (!taking->whole.base) return taking->finish();
  auto base = std::make_shared<Taking>();
  base->run_of_servers = taking->run_of_servers;
  base->done = taking->done;
  base->increment = taking;
  base->run([&] { take_all(base, parent_directory(taking->folder), taking->whole.base->folder); });
}

void RemoteStore::take_part(std::shared_ptr<Taking> taking, size_t shard) {
  links_.request(shard, Message::kPart, Payload(encode_shard_request(taking->step)),
                 [this, taking, shard](const Frame& frame) {
                   CheckpointShardAnswer answer = decode_shard_answer(frame.body.bytes());
                   taking->run([&] {
                     if (!answer.part) fail(Code::kUnavailable, "a server's part: ", answer.why);
                     taking->add(shard, std::move(*answer.part));
                     take_file(taking, shard, 0);
                   });
                 });
}

void RemoteStore::take_file(std::shared_ptr<Taking> taking, size_t shard, size_t file) {
  const std::vector<FileEntry>& files = taking->parts[shard].files;
  taking->files[shard].reset();
  if (file == files.size()) {
    if (--taking->shards_left == 0) end_all(taking);
    return;
  }
  taking->files[shard] = unsynced_files().create(join_path(taking->folder, files[file].path));
  take_piece(std::move(taking), shard, file, 0);
}

void RemoteStore::take_piece(std::shared_ptr<Taking> taking, size_t shard, size_t file, uint64_t offset) {
  const FileEntry& entry = taking->parts[shard].files[file];
  if (offset == entry.sum.bytes) return take_file(std::move(taking), shard, file + 1);
  const uint64_t size = std::min<uint64_t>(kShardSliceBytes, entry.sum.bytes - offset);
  const CheckpointShardSlice piece{taking->step, offset, static_cast<uint32_t>(size), entry.path};
  links_.request(shard, Message::kPartPiece, Payload(encode_shard_slice(piece)),
                 [this, taking, shard, file, offset, size](const Frame& frame) {
                   const auto bytes = decode_shard_bytes(frame.body.bytes());
                   taking->run([&] {
                     if (!bytes || bytes->size() != size) {
                       fail(Code::kUnavailable, "a server has not kept its part until it was copied");
                     }
                     taking->files[shard]->write(*bytes);
                     take_piece(taking, shard, file, offset + size);
                   });
                 });
}

}  // namespace ps
