#include "ps/client/residual_chunks.h"

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

namespace {

constexpr uint64_t kHeadBytes = 9;  // bytes of a section's head
constexpr const char* kDamagedResiduals = "what rounding took from gradients is damaged: ";

// Checks the head of a section.  The number of rows of a sparse parameter is not known here, and is not checked.
void check_section(const ParameterSpec& spec, ErrorRows rows) {
  const bool whole = rows == ErrorRows::kWhole;
  if (rows <= ErrorRows::kOld && spec.kind == (whole ? ParameterKind::kMatrix : ParameterKind::kRows)) return;
  fail(Code::kCorrupt, kDamagedResiduals, quote(spec.name), " has no rows of kind ", static_cast<int>(rows));
}

}  // namespace

void ResidualChunks::add_whole(uint32_t parameter, int64_t cols, std::span<const float> errors) {
  const size_t width = static_cast<size_t>(cols);
  for (size_t row = 0; row < errors.size() / width; ++row) {
    add({parameter, ErrorRows::kWhole, row, errors.subspan(row * width, width)});
  }
}

void ResidualChunks::add_keyed(uint32_t parameter, int64_t cols, const ResidualRows& errors) {
  errors.for_each([&](uint64_t key, const float* error, bool young) {
    const ErrorRows rows = young ? ErrorRows::kYoung : ErrorRows::kOld;
    add({parameter, rows, key, {error, static_cast<size_t>(cols)}});
  });
}

// Appends a row to the last chunk, or begins another chunk if the row, with the head of a section, would
// make the last one too long.  A row of another section than the one before adds a head.
void ResidualChunks::add(const Row& row) {
  rows_.push_back(row);
  const size_t last = rows_.size() - 1;
  const uint64_t row_bytes = sizeof row.key + row.error.size_bytes();
  const bool begins = begins_.empty() || last_bytes_ + kHeadBytes + row_bytes > most_bytes_;
  if (begins) {
    begins_.push_back(last);
    last_bytes_ = sizeof(StateChunkKind);
  }
  if (begins || !continues_section(last)) last_bytes_ += kHeadBytes;
  last_bytes_ += row_bytes;
}

// Returns true if the row belongs to the same section of the same chunk as the row before it.
bool ResidualChunks::continues_section(size_t row) const {
  return rows_[row].parameter == rows_[row - 1].parameter && rows_[row].rows == rows_[row - 1].rows;
}

// Rows [row, next) of the loop are one section: neighbours of the same parameter and kind.
std::string ResidualChunks::encode(size_t chunk) const {
  std::string out;
  put(out, StateChunkKind::kErrors);
  const size_t begin = begins_[chunk], end = chunk + 1 < size() ? begins_[chunk + 1] : rows_.size();
  for (size_t row = begin, next = begin; row < end; row = next) {
    for (++next; next < end && continues_section(next);) ++next;
    put(out, rows_[row].parameter);
    put(out, rows_[row].rows);
    put(out, static_cast<uint32_t>(next - row));
    for (size_t n = row; n < next; ++n) {
      put(out, rows_[n].key);
      put_array(out, rows_[n].error);
    }
  }
  return out;
}

// The loop reads one section in each turn.  It checks that all its rows are there before it passes the
// first one on; the keys of sparse parameters cannot be checked here.
void read_error_chunk(std::string_view chunk, std::span<const ParameterSpec> specs,
                      const OnErrorRow& on_row) {
  ByteReader in(chunk);
  if (in.get<StateChunkKind>() != StateChunkKind::kErrors)
    fail(Code::kCorrupt, kDamagedResiduals, "it is something else");
  while (in.remaining() > 0) {
    const uint32_t parameter = in.get<uint32_t>();
    const ErrorRows rows = in.get<ErrorRows>();
    const uint32_t count = in.get<uint32_t>();
    if (!in.ok() || parameter >= specs.size())
      fail(Code::kCorrupt, kDamagedResiduals, "no parameter ", parameter);
    const ParameterSpec& spec = specs[parameter];
    check_section(spec, rows);
    const size_t error_bytes = static_cast<size_t>(spec.cols) * sizeof(float);
    if (in.remaining() / (sizeof(uint64_t) + error_bytes) < count) {
      fail(Code::kCorrupt, kDamagedResiduals, count, " rows of ", quote(spec.name), " are cut short");
    }
    for (uint32_t n = 0; n < count; ++n) {
      const uint64_t key = in.get<uint64_t>();
      if (!spec.sparse && key >= static_cast<uint64_t>(spec.rows)) {
        fail(Code::kCorrupt, kDamagedResiduals, quote(spec.name), " has no row ", key);
      }
      on_row(parameter, rows, key, in.get_bytes(error_bytes));
    }
  }
}

}  // namespace ps
