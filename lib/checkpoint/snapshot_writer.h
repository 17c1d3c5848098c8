// SnapshotWriter: writes the rows that snapshots give out to files of a checkpoint, on a thread of its own,
// so that who serves rows need not wait for a disk or a compressor.
#ifndef PS_CHECKPOINT_SNAPSHOT_WRITER_H_
#define PS_CHECKPOINT_SNAPSHOT_WRITER_H_

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/checkpoint_file_writer.h"
#include "table/snapshot_rows.h"

namespace ps {

// One owner thread.  Errors of writing come out of finish(); after one, what is given is dropped.
class SnapshotWriter {
 public:
  // From `max_bytes` of rows that are not written on, there is no room.
  SnapshotWriter(CheckpointTarget target, uint64_t max_bytes);

  // Without finish() gives up what was not written; its files are then not whole.
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // What comes next goes to this file, and to this section of it.
  void begin_file(const std::string& name);
  void begin(const TableLayout& layout, uint32_t partition);

  // Waits while there is no room.
  void rows(SnapshotRows&& rows);

  // Anything else to be done with the file, on the thread.
  void then(std::function<void(CheckpointFileWriter&)> write);

  // False: rows() would wait, so that whoever can should give rows later.  A pause is no error.
  bool has_room();

  // True when all that was given is written, but for what ends the last file.
  bool is_idle();

  // Waits until all files are written and synced.  Throws what went wrong with the first that failed.
  std::vector<FileEntry> finish();

 private:
  struct Part {
    std::function<void()> write;
    uint64_t bytes;
  };

  void add(Part part);
  void run();
  void end_file();

  const CheckpointTarget target_;
  const uint64_t max_bytes_;

  // Owner thread only.
  TableLayout layout_;  // of the section begun last
  bool is_joined_ = false;

  // The writing thread's, until it has ended.
  std::unique_ptr<CheckpointFileWriter> writer_;
  std::vector<FileEntry> files_;
  std::exception_ptr error_;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> parts_;
  uint64_t waiting_bytes_ = 0;  // of parts_ and of the one being written
  bool is_writing_ = false;
  bool ends_ = false, gives_up_ = false;

  std::thread thread_;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_SNAPSHOT_WRITER_H_
