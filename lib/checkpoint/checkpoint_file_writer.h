// CheckpointFileWriter: writes one file of a checkpoint: sections of rows, and states: bytes by name whose
// meaning is their owner's.
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

// Where one process writes a checkpoint.
struct CheckpointTarget {
  std::string folder;  // of the checkpoint; it is there
  ChunkWriting writing;
  const CheckpointReader* base = nullptr;  // a full checkpoint, against which sparse tables are incremental
};

// One owner thread; several may write different files of one checkpoint.  Throws as ChunkWriter does.
class CheckpointFileWriter {
 public:
  // `target` must outlive it.
  CheckpointFileWriter(const CheckpointTarget& target, const std::string& name);
  ~CheckpointFileWriter();

  // What rows() then adds belongs to this partition of this table.  Every partition of a sparse table that
  // has rows, or that has some in the base, must come once in a checkpoint.
  void begin(const TableLayout& layout, uint32_t partition);

  // Rows whose keys are above those before.  Of an increment, only those that differ from the base are
  // written.
  void rows(const RowBlock& rows);

  void state(const std::string& name, std::string_view bytes);

  // Table of contents, sync.
  FileEntry finish();

 private:
  class Increment;

  void end_section();
  void write(const RowBlock& rows);

  const CheckpointTarget& target_;
  ChunkWriter writer_;
  FileEntry entry_;
  std::unique_ptr<Increment> increment_;  // of the section begun last; null when it is whole
};

}  // namespace ps

#endif  // PS_CHECKPOINT_CHECKPOINT_FILE_WRITER_H_
