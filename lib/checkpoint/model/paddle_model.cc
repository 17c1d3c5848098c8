// Parameter files of PaddlePaddle v1 (paddle/parameter/Parameter.cpp): a file for each parameter, named after
// it.
//
//   file := format:i32 = 0, value_bytes:u32 = 4, count:u64, f32[count]
//
// A matrix is written as a whole, row by row; rows that were never trained have their initial weights.
#include "base/bytes.h"
#include "base/error.h"
#include "checkpoint/model/model_format.h"

namespace ps {

namespace {

// Gives all rows of a table from 0 on, and fills in missing ones.
class WholeRows {
 public:
  WholeRows(ModelSource& source, ByteSink& out) : source_(source), out_(out), table_(source.tables()[0]) {}

  // Row next_ is the next one to be written: rows of keys that the source leaves out get initial weights
  // first.
  void write() {
    auto cursor = source_.rows(0);
    while (const RowBlock* rows = out_.open() ? cursor->next() : nullptr) {
      for (size_t i = 0; i < rows->size(); ++i) {
        fill_up_to(rows->keys[i]);
        append(rows->values.data() + static_cast<int64_t>(i) * table_.values());
      }
    }
    fill_up_to(table_.rows);
    out_.write(bytes_);
  }

 private:
  void fill_up_to(uint64_t key) {
    std::vector<float> row(static_cast<size_t>(table_.width));
    while (next_ < key && out_.open()) {
      source_.untrained_row(0, next_, row.data());
      append(row.data());
    }
  }

  void append(const float* weights) {
    constexpr size_t kBufferBytes = 1 << 20;
    put_array(bytes_, std::span(weights, static_cast<size_t>(table_.width)));
    ++next_;
    if (bytes_.size() < kBufferBytes) return;
    out_.write(bytes_);
    bytes_.clear();
  }

  ModelSource& source_;
  ByteSink& out_;
  const ModelTable table_;
  uint64_t next_ = 0;
  std::string bytes_;
};

void write_paddle(ModelSource& source, const ModelSettings&, ByteSink& out) {
  const ModelTable& table = source.tables()[0];
  if (table.rows == 0) {
    fail(Code::kUsage, "format paddle holds whole matrices, but the ids of ", quote(table.name),
         " have no bound: set data.dim");
  }
  std::string header;
  put(header, int32_t{0});
  put(header, uint32_t{sizeof(float)});
  put(header, table.rows * static_cast<uint64_t>(table.width));
  out.write(header);
  WholeRows(source, out).write();
}

}  // namespace

constinit const ModelFormat kPaddleModel = {
    .name = "paddle",
    .help = "a folder of PaddlePaddle's v1 parameter files, whole matrices",
    .binary = true,
    .file_per_table = true,
    .write = write_paddle};

}  // namespace ps
