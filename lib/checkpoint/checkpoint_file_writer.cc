#include "checkpoint/checkpoint_file_writer.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_reader.h"

namespace ps {

// Compares the written rows with the rows of the base by walking both in key order: keeps rows that are new
// or differ, and collects the keys of the base that are gone.
class CheckpointFileWriter::Increment {
 public:
  Increment(const TableLayout& layout, std::unique_ptr<RowCursor> base)
      : layout_(layout), cursor_(std::move(base)), base_(cursor_.get()) {}

  // Returns the rows that differ from the base, valid until the next call.
  const RowBlock& compare(const RowBlock& rows) {
    changed_.clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      drop_below(rows.keys[i]);
      const bool known = base_.valid() && base_.key() == rows.keys[i];
      if (!known || !same_row(layout_, base_.block(), base_.index(), rows, i)) {
        append_row(layout_, rows, i, changed_);
      }
      if (known) base_.advance();
    }
    return changed_;
  }

  // Returns the keys of the base that are gone, after adding all keys of the base that were not reached.
  const std::vector<uint64_t>& finish() {
    while (base_.valid()) drop();
    return gone_;
  }

 private:
  void drop_below(uint64_t key) {
    while (base_.valid() && base_.key() < key) drop();
  }
  void drop() {
    gone_.push_back(base_.key());
    base_.advance();
  }

  const TableLayout layout_;
  const std::unique_ptr<RowCursor> cursor_;
  RowStepper base_;
  RowBlock changed_;
  std::vector<uint64_t> gone_;
};

CheckpointFileWriter::CheckpointFileWriter(const CheckpointTarget& target, const std::string& name)
    : target_(target), writer_(join_path(target.folder, name), kCheckpointFileKind, target.writing) {
  entry_.path = name;
}

CheckpointFileWriter::~CheckpointFileWriter() = default;

// A sparse partition that the base has too, with the same layout, is written as an increment.
void CheckpointFileWriter::begin(const TableLayout& layout, uint32_t partition) {
  end_section();
  if (layout.sparse && target_.base != nullptr && target_.base->has(layout, partition)) {
    increment_ = std::make_unique<Increment>(layout, target_.base->rows(layout.name, partition));
  }
  writer_.add(kSectionChunk, encode_section({layout, partition, increment_ != nullptr}));
  entry_.sections.push_back({layout.name, partition, 0, 0});
}

void CheckpointFileWriter::rows(const RowBlock& rows) {
  write(increment_ ? increment_->compare(rows) : rows);
}

void CheckpointFileWriter::write(const RowBlock& rows) {
  if (rows.size() == 0) return;
  write_rows(writer_, rows);
  entry_.sections.back().rows += rows.size();
}

// The keys that are gone are known only when all rows of the section were compared, so they end it.
void CheckpointFileWriter::end_section() {
  constexpr size_t kKeysOfAChunk = (1 << 20) / sizeof(uint64_t);
  if (!increment_) return;
  const std::vector<uint64_t>& gone = increment_->finish();
  for (size_t begin = 0; begin < gone.size(); begin += kKeysOfAChunk) {
    const size_t count = std::min(kKeysOfAChunk, gone.size() - begin);
    write_keys(writer_, kGoneChunk, std::span(gone).subspan(begin, count));
  }
  entry_.sections.back().gone = gone.size();
  increment_.reset();
}

// BLOB := name_bytes:u32 name bytes.  A long state is several consecutive chunks.
void CheckpointFileWriter::state(const std::string& name, std::string_view bytes) {
  constexpr size_t kPieceBytes = 1 << 20;
  end_section();
  entry_.states.push_back(name);
  std::string piece;
  do {
    piece.clear();
    put(piece, static_cast<uint32_t>(name.size()));
    piece += name;
    piece += bytes.substr(0, kPieceBytes);
    writer_.add(kStateChunk, piece);
    bytes.remove_prefix(std::min(bytes.size(), kPieceBytes));
  } while (!bytes.empty());
}

FileEntry CheckpointFileWriter::finish() {
  end_section();
  entry_.sum = writer_.finish();
  return entry_;
}

}  // namespace ps
