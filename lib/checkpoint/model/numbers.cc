#include "checkpoint/model/numbers.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "math/half.h"

namespace ps {

namespace {

// Calls body(rows) with each block, until the reading end has been closed.
template <class Body>
void each_block(ModelSource& source, size_t table, const ByteSink& out, Body&& body) {
  auto cursor = source.rows(table);
  while (const RowBlock* rows = out.open() ? cursor->next() : nullptr) body(*rows);
}

// Returns the scale of a row in 8 bits: its largest number is 127 times the scale; 1 when all numbers are 0.
float int8_scale(std::span<const float> row) {
  float largest = 0;
  for (float value : row) largest = std::max(largest, std::fabs(value));
  return largest > 0 ? largest / 127 : 1;
}

}  // namespace

int bytes_of(NumberType type) {
  return type == NumberType::kF32 ? 4 : type == NumberType::kI8 ? 1 : 2;
}

// Appends the values of one row.  In 8 bits they are whole multiples of the row's scale, rounded to the
// nearest, ties to even; write_table_scales writes the scales.
void append_numbers(NumberType type, std::span<const float> values, std::string& out) {
  if (type == NumberType::kF32) return put_array(out, values);
  if (type == NumberType::kF16) {
    for (float value : values) put(out, to_half(value));
  } else if (type == NumberType::kBf16) {
    for (float value : values) put(out, to_bfloat16(value));
  } else {
    const float scale = int8_scale(values);
    for (float value : values) {
      const float units = std::nearbyint(value / scale);
      put(out, static_cast<int8_t>(std::clamp(units, -127.0f, 127.0f)));
    }
  }
}

void write_table_keys(ModelSource& source, size_t table, ByteSink& out) {
  each_block(source, table, out, [&](const RowBlock& rows) {
    out.write({reinterpret_cast<const char*>(rows.keys.data()), rows.size() * sizeof(uint64_t)});
  });
}

// The scales depend on the weights alone, so they are computed again here instead of being kept.
void write_table_scales(ModelSource& source, size_t table, ByteSink& out) {
  const ModelTable& shape = source.tables()[table];
  std::string bytes;
  each_block(source, table, out, [&](const RowBlock& rows) {
    bytes.clear();
    const float* values = rows.values.data();
    for (size_t i = 0; i < rows.size(); ++i, values += shape.values()) {
      put(bytes, int8_scale({values, static_cast<size_t>(shape.width)}));
    }
    out.write(bytes);
  });
}

RowHistory counts_of(const RowBlock& rows, size_t index) {
  return RowLayout::to_history(rows.statistics.data() + index * RowLayout::history_names().size());
}

void write_table_counts(ModelSource& source, size_t table, size_t array, ByteSink& out) {
  std::string bytes;
  each_block(source, table, out, [&](const RowBlock& rows) {
    bytes.clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      const RowHistory counts = counts_of(rows, i);
      if (array < 2) put(bytes, array == 0 ? counts.shows : counts.clicks);
      if (array == 2) put(bytes, counts.unseen);
    }
    out.write(bytes);
  });
}

void write_table_array(ModelSource& source, size_t table, int array, NumberType type, ByteSink& out) {
  const ModelTable& shape = source.tables()[table];
  const NumberType stored = array == 0 ? type : NumberType::kF32;
  std::string bytes;
  each_block(source, table, out, [&](const RowBlock& rows) {
    bytes.clear();
    // Array 0 is the weights; the state arrays lie behind them in each row.
    const float* values = rows.values.data() + array * shape.width;
    for (size_t i = 0; i < rows.size(); ++i, values += shape.values()) {
      append_numbers(stored, {values, static_cast<size_t>(shape.width)}, bytes);
    }
    out.write(bytes);
  });
}

}  // namespace ps
