// The parts of a checkpoint that several shards write, and what makes one checkpoint of them.
//
// All write into one folder of the checkpoint directory, which is named after the run and the cut:
// writing-<run>-<step>.  A shard whose files are there and synced leaves a part file beside them, a manifest
// of its own files.  The job's first shard, once there are those of all, makes the folder step-… of it, with
// the manifest of all files, and then removes the part files: a shard that comes again finds its part at any
// time, and does not write it over.  ps-checkpoint(5).
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

std::string writing_folder(const CheckpointStep& cut);

// One shard's files.  Any one thread at a time.  Throws as ChunkWriter does.
class CheckpointShardWriter {
 public:
  // Makes the folder, if it is not there.  Holds what has changed since the full checkpoint of this run at
  // step `base`, if there is one; else everything.
  CheckpointShardWriter(const std::string& directory, const CheckpointStep& cut, const ShardPlace& place,
                        const ChunkWriting& writing, std::optional<int64_t> base = std::nullopt);
  ~CheckpointShardWriter();

  void rows(const TableLayout& layout, uint32_t partition, const RowBlock& rows);
  void dense(const TableLayout& layout, const BlockCyclicRows& deal, std::span<const float> floats);

  // Writes the states, and then that all is there, which it returns.
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
  const CheckpointStep cut_;
  const ShardPlace place_;
  std::vector<FileEntry> files_;
  std::map<std::string, TableFile> sparse_;      // by table
  std::unique_ptr<CheckpointFileWriter> dense_;  // null: none begun
};

// This shard's part, if it is there and whole, or in a checkpoint that counts: one that a process before this
// one has written.
std::optional<Manifest> find_part(const std::string& directory, const CheckpointStep& cut,
                                  const ShardPlace& place);

// Whether the parts of all shards are there; `place` is of one of them.
bool parts_complete(const std::string& directory, const CheckpointStep& cut, const ShardPlace& place);

// Makes the parts a checkpoint: manifest, LATEST.  `job` is what must be equal to go on.  Returns its bytes.
// Throws as join_manifests.
uint64_t commit_parts(FileSystem& files, const std::string& directory, const CheckpointStep& cut,
                      const Json& job);

// Removes what was left half written: all before `cut`, and all of other runs; and of the checkpoint of `cut`
// itself, once it counts, the manifests of its parts.
void remove_stale_parts(FileSystem& files, const std::string& directory, const CheckpointStep& cut);

}  // namespace ps

#endif  // PS_PS_SERVER_CHECKPOINT_SHARDS_H_
