// A checkpoint that several shards write, each of them its own files, and the functions that join the files
// to one checkpoint.  Used by ShardCheckpoint.
//
// All shards write into one folder of the checkpoint directory, which is named after the run and the step:
// writing-<run>-<step>.  A shard whose files are complete and synced leaves a manifest of its own files
// beside them, shard-….part.  The job's first shard waits for the manifests of all shards, renames the folder
// to step-…, writes the manifest of all files, and then removes the manifests of shards.  So a shard that is
// started again finds its manifest at any time, and does not overwrite its files.  The format is in
// ps-checkpoint(5).
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

// Writes one shard's files.  One thread at a time may use it.  Throws as ChunkWriter does.
class CheckpointShardWriter {
 public:
  // Makes the folder, if it is not there.  The files hold the rows that have changed since the full
  // checkpoint of this run at step `base`, if there is one; else all rows.
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
    uint32_t next = 0;  // the next partition; all before it were written
  };

  TableFile& file_of(const TableLayout& layout);
  void begin_emptied(TableFile& file, const TableLayout& layout, uint32_t end);

  const std::unique_ptr<CheckpointReader> base_;  // null: all rows are written
  const CheckpointTarget target_;
  const CheckpointStep checkpoint_;
  const ShardPlace place_;
  std::vector<FileEntry> files_;
  std::map<std::string, TableFile> sparse_;      // by table
  std::unique_ptr<CheckpointFileWriter> dense_;  // null: not begun
};

// Returns the manifest of the files that an earlier process of this shard has written, in a checkpoint that
// counts or is still being written; nothing if there is none.
std::optional<Manifest> find_shard_manifest(const std::string& directory, const CheckpointStep& checkpoint,
                                            const ShardPlace& place);

// Returns true if every shard has left its manifest; `place` is the place of any shard.
bool all_shards_written(const std::string& directory, const CheckpointStep& checkpoint,
                        const ShardPlace& place);

// Joins the files of all shards to one checkpoint, with a manifest and LATEST. `job` is the fingerprint that
// a job must have to go on from it.  Returns the bytes of all files.  Throws as join_manifests does.
uint64_t commit_shards(FileSystem& files, const std::string& directory, const CheckpointStep& checkpoint,
                       const Json& job);

// Removes half-written checkpoints: of this run those at steps before `checkpoint`, and all of other runs.
// If `checkpoint` counts, also removes its manifests of shards.
void remove_stale_shards(FileSystem& files, const std::string& directory, const CheckpointStep& checkpoint);

}  // namespace ps

#endif  // PS_PS_SERVER_CHECKPOINT_SHARDS_H_
