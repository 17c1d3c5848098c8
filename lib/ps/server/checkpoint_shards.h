// A checkpoint that several shards write, each its own files, and the functions that join them to one.  Used by
// ShardCheckpoint.
//
// All shards write into one folder of the checkpoint directory, which is named after the run and the step:
// writing-<run>-<step>.  A shard whose files are there and synced leaves a manifest of its own files beside them,
// shard-….part.  The job's first shard waits for those of all shards, makes the folder step-… of it, with the
// manifest of all files, and then removes the manifests of shards.  So a shard that is started again finds its
// manifest at any time, and does not write its files over.  ps-checkpoint(5).
#ifndef PS_PS_SERVER_CHECKPOINT_SHARDS_H_
#define PS_PS_SERVER_CHECKPOINT_SHARDS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_file_writer.h"
#include "checkpoint/checkpoint_reader.h"
#include "config/fwd.h"
#include "ps/server/run_state.h"
#include "ps/server/shard_tables.h"
#include "ps/wire/checkpoint_step.h"
#include "store/placement.h"

namespace ps {

std::string writing_folder(const CheckpointStep& checkpoint);

// Writes one shard's files.  Any one thread at a time.  Throws as ChunkWriter does.
class CheckpointShardWriter {
 public:
  // Makes the folder, if it is not there.  The files hold the rows that have changed since the full checkpoint of
  // this run at step `base`, if there is one; else all rows.
  CheckpointShardWriter(const std::string& directory, const CheckpointStep& checkpoint,
                        const ShardPlace& place, const ChunkWriting& writing,
                        std::optional<int64_t> base = std::nullopt);
  ~CheckpointShardWriter();

  void rows(const TableLayout& layout, uint32_t partition, const RowBlock& rows);
  void dense(const TableLayout& layout, const BlockCyclicRows& deal, std::span<const float> floats);

  // Writes the states, and then the manifest, which it returns.
  Manifest finish(const std::vector<TableLayout>& layouts, const std::map<std::string, std::string>& states,
                  const SharedStates& shared = {});

 private:
  struct TableFile {
    std::unique_ptr<CheckpointFileWriter> writer;
    uint32_t next = 0;  // partition: those before have come
  };

  TableFile& file_of(const TableLayout& layout);
  void begin_emptied(TableFile& file, const TableLayout& layout, uint32_t end);

  const std::unique_ptr<CheckpointReader> base_;  // null: all rows are written
  const CheckpointTarget target_;
  const CheckpointStep checkpoint_;
  const ShardPlace place_;
  std::vector<FileEntry> files_;
  std::map<std::string, TableFile> sparse_;      // by table
  std::unique_ptr<CheckpointFileWriter> dense_;  // null: none begun
};

// Returns the manifest of the files that a process before this one has written as this shard, in a checkpoint that
// counts or is still being written; nothing when there is none.
std::optional<Manifest> find_shard_manifest(const std::string& directory, const CheckpointStep& checkpoint,
                                            const ShardPlace& place);

// Returns true when every shard has left its manifest; `place` is that of any shard.
bool all_shards_written(const std::string& directory, const CheckpointStep& checkpoint,
                        const ShardPlace& place);

// Makes one checkpoint of the files of all shards, with a manifest and LATEST.  `job` is the fingerprint that a
// job must have to go on from it.  Returns the bytes of all files.  Throws as join_manifests.
uint64_t commit_shards(FileSystem& files, const std::string& directory, const CheckpointStep& checkpoint,
                       const Json& job);

// Removes checkpoints that were left half written, at steps before `checkpoint` and of other runs; and of
// `checkpoint` itself, once it counts, the manifests of shards.
void remove_stale_shards(FileSystem& files, const std::string& directory, const CheckpointStep& checkpoint);

}  // namespace ps

#endif  // PS_PS_SERVER_CHECKPOINT_SHARDS_H_
