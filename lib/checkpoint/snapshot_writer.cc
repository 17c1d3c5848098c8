#include "checkpoint/snapshot_writer.h"

#include <utility>

#include "base/error.h"
#include "checkpoint/row_chunks.h"

namespace ps {

SnapshotWriter::SnapshotWriter(CheckpointTarget target, uint64_t max_bytes)
    : target_(std::move(target)), max_bytes_(max_bytes) {
  thread_ = std::thread([this] { run(); });
}

SnapshotWriter::~SnapshotWriter() {
  if (is_joined_) return;
  {
    std::lock_guard lock(mutex_);
    gives_up_ = ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SnapshotWriter::begin_file(const std::string& name) {
  add({[this, name] {
         end_file();
         writer_ = std::make_unique<CheckpointFileWriter>(target_, name);
       },
       0});
}

void SnapshotWriter::begin(const TableLayout& layout, uint32_t partition) {
  layout_ = layout;
  add({[this, layout, partition] { writer_->begin(layout, partition); }, 0});
}

void SnapshotWriter::then(std::function<void(CheckpointFileWriter&)> write) {
  add({[this, write = std::move(write)] { write(*writer_); }, 0});
}

// Sorting is the thread's too.
void SnapshotWriter::rows(SnapshotRows&& rows) {
  const uint64_t bytes = rows.size() * layout_.row_bytes();
  const size_t at_once = rows_of_a_block(layout_);
  auto shared = std::make_shared<SnapshotRows>(std::move(rows));  // std::function wants what can be copied
  add({[this, shared, at_once] {
         shared->sorted(at_once, [this](const RowBlock& block) { writer_->rows(block); });
       },
       bytes});
}

void SnapshotWriter::add(Part part) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return part.bytes == 0 || waiting_bytes_ < max_bytes_; });
  waiting_bytes_ += part.bytes;
  parts_.push_back(std::move(part));
  changed_.notify_all();
}

bool SnapshotWriter::has_room() {
  std::lock_guard lock(mutex_);
  return waiting_bytes_ < max_bytes_;
}

bool SnapshotWriter::is_idle() {
  std::lock_guard lock(mutex_);
  return parts_.empty() && !is_writing_;
}

// After an error parts are taken and dropped, so that nobody waits for room.
void SnapshotWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !parts_.empty(); });
    if (gives_up_ || parts_.empty()) return;
    const Part part = std::move(parts_.front());
    parts_.pop_front();
    is_writing_ = true;
    lock.unlock();
    try {
      if (!error_) part.write();
    } catch (...) {
      error_ = std::current_exception();
    }
    lock.lock();
    waiting_bytes_ -= part.bytes;
    is_writing_ = false;
    changed_.notify_all();
  }
}

void SnapshotWriter::end_file() {
  if (writer_) files_.push_back(writer_->finish());
  writer_.reset();
}

std::vector<FileEntry> SnapshotWriter::finish() {
  add({[this] { end_file(); }, 0});
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  is_joined_ = true;
  if (error_) std::rethrow_exception(error_);
  return std::move(files_);
}

}  // namespace ps
