// CheckpointReader: reads a checkpoint: its tables, their rows, its states.  Used to resume, and by
// ps-ckpt2model.
#ifndef PS_CHECKPOINT_CHECKPOINT_READER_H_
#define PS_CHECKPOINT_CHECKPOINT_READER_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "checkpoint/checkpoint_file_reader.h"
#include "checkpoint/manifest.h"
#include "checkpoint/manifest_lock.h"
#include "checkpoint/row_cursor.h"

namespace ps {

// Any threads may read.  Damage throws kCorrupt "file: … offset …: reason".  While the object exists, neither
// the checkpoint nor its base is removed as an old one.
class CheckpointReader {
 public:
  // Reads the manifest of a folder step-…, and that of its base; files are opened when they are needed.
  // Throws kUsage when there is no manifest, kCorrupt when it is damaged.
  explicit CheckpointReader(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  uint64_t checksum() const { return checksum_; }
  const TableLayout* table(const std::string& name) const;  // or null

  // Returns the partitions of a table that have rows, or may have some, ascending.
  std::vector<uint32_t> partitions(const std::string& table) const;

  // Returns true if it has this partition of a table of exactly this layout.
  bool has(const TableLayout& layout, uint32_t partition) const;

  // Returns the number of rows of a partition; for an increment, an upper bound of it.
  uint64_t max_rows(const std::string& table, uint32_t partition) const;

  // Returns the rows of one partition, keys ascending.  The checkpoint must outlive the cursor.  Cursors of
  // one thread take less memory if they share buffers; a cursor with buffers of its own reads ahead.
  std::unique_ptr<RowCursor> rows(const std::string& table, uint32_t partition,
                                  std::shared_ptr<ChunkBuffers> buffers = nullptr) const;

  std::vector<std::string> states() const;
  bool has_state(const std::string& name) const { return states_.contains(name); }

  // Returns a state.  Throws kCorrupt when there is none of this name.
  std::string state(const std::string& name) const;

  // Reads and checks all states.
  void verify_states() const;

  // Reads every byte that a restore would read and checks it against its checksums; with `rows`, also checks
  // that all rows are valid.
  void verify(ThreadPool& pool, bool rows) const;

 private:
  enum class Part { kWhole, kBase };  // kBase: it is the base of another one, and must be full
  CheckpointReader(const std::string& folder, Part part);

  struct OpenFile {
    const FileEntry* entry;
    std::mutex mutex;
    std::unique_ptr<CheckpointFileReader> reader;  // guarded by mutex
  };

  const CheckpointFileReader& file(size_t index) const;
  void check_sections(const CheckpointFileReader& file, const FileEntry& entry) const;
  void verify_rows(const SectionEntry& entry, const std::shared_ptr<ChunkBuffers>& buffers) const;

  const std::string folder_;
  const ManifestLock lock_;
  Manifest manifest_;
  uint64_t checksum_ = 0;
  std::unique_ptr<CheckpointReader> base_;  // null: this checkpoint is full
  std::map<std::pair<std::string, uint32_t>, size_t> sections_;
  std::map<std::string, size_t> states_;
  mutable std::vector<OpenFile> files_;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_CHECKPOINT_READER_H_
