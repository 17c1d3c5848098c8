// CheckpointFileWriter: writes one file of a checkpoint: sections of rows, and states, which are named byte
// strings that only their owners interpret.  Used by Checkpointer and by shards.
#ifndef PS_CHECKPOINT_CHECKPOINT_FILE_WRITER_H_
#define PS_CHECKPOINT_CHECKPOINT_FILE_WRITER_H_

#include <memory>
#include <string>
#include <string_view>

#include "checkpoint/manifest.h"
#include "chunk/chunk_writer.h"
#include "table/row_block.h"

namespace ps {

class CheckpointReader;

// The folder of a checkpoint that one process writes.
struct CheckpointTarget {
  std::string folder;  // existing folder of the checkpoint
  ChunkWriting writing;
  const CheckpointReader* base = nullptr;  // full checkpoint to which sparse tables are incremental, or null
};

// One owner thread; several may write different files of one checkpoint.  Throws as ChunkWriter does.
class CheckpointFileWriter {
 public:
  // `target` must outlive it.
  CheckpointFileWriter(const CheckpointTarget& target, const std::string& name);
  ~CheckpointFileWriter();

  // Begins a section: the following calls of rows() add to this partition of this table.  Every partition of
  // a sparse table that has rows, or has some in the base, must have one section in a checkpoint.
  void begin(const TableLayout& layout, uint32_t partition);

  // Adds rows whose keys are above all keys before.  In an increment, only rows that differ from the base are
  // written.
  void rows(const RowBlock& rows);

  void state(const std::string& name, std::string_view bytes);

  // Writes the table of contents, and syncs the file.
  FileEntry finish();

 private:
  class Increment;

  void end_section();
  void write(const RowBlock& rows);

  const CheckpointTarget& target_;
  ChunkWriter writer_;
  FileEntry entry_;
  std::unique_ptr<Increment> increment_;  // of the section begun last; null if that is full
};

}  // namespace ps

#endif  // PS_CHECKPOINT_CHECKPOINT_FILE_WRITER_H_
