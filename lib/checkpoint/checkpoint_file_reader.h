// CheckpointFileReader: reads a file that CheckpointFileWriter has written.  Used by CheckpointReader.
#ifndef PS_CHECKPOINT_CHECKPOINT_FILE_READER_H_
#define PS_CHECKPOINT_CHECKPOINT_FILE_READER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/row_chunks.h"
#include "checkpoint/row_cursor.h"
#include "chunk/chunk_reader.h"

namespace ps {

// Constant after construction: any threads may read.
class CheckpointFileReader {
 public:
  // Throws as ChunkReader does, and kCorrupt when the chunks of the file are inconsistent.
  explicit CheckpointFileReader(const std::string& path);

  const ChunkReader& chunks() const { return chunks_; }
  const std::vector<std::string>& states() const { return state_names_; }

  // Returns the section of this partition, or null.
  const Section* section(const std::string& table, uint32_t partition) const;

  // Rows and deletions of an existing section.  The file must outlive the cursors.  Cursors of one thread may
  // share buffers; a cursor without `buffers` reads all rows ahead.
  std::unique_ptr<RowCursor> rows(const Section& section,
                                  std::shared_ptr<ChunkBuffers> buffers = nullptr) const;
  std::unique_ptr<KeyCursor> gone(const Section& section) const;

  std::string state(const std::string& name) const;

 private:
  struct SectionEntry {
    Section section;
    size_t begin, end;  // range of the chunks after SECT
  };

  void add_section(size_t chunk, ChunkBuffers& buffers);
  void add_state(size_t chunk, ChunkBuffers& buffers);
  const SectionEntry& entry_of(const Section& section) const;

  ChunkReader chunks_;
  std::vector<SectionEntry> sections_;
  std::vector<std::string> state_names_;
  std::map<std::string, std::vector<size_t>> states_;  // chunk numbers of each state
};

}  // namespace ps

#endif  // PS_CHECKPOINT_CHECKPOINT_FILE_READER_H_
