// Generates tables of text: clicks as those of the generator criteo, in csv and in lines of JSON.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "base/text.h"
#include "bench/parse/text.h"
#include "data/criteo_columns.h"
#include "data/row_text.h"

namespace ps {

namespace {

constexpr int64_t kBlockRows = 1024;  // rows that are generated at a time

CsvColumn table_column_of(const std::string& name, const char* type) {
  CsvColumn out;
  out.name = name;
  out.type = type;
  out.scale = out.missing = "none";
  return out;
}

// Returns the options to read the tables.  Files have no header, and the first column is the label.
DataOptions table_options(const std::string& format) {
  DataOptions options;
  options.format = format;
  CsvOptions& csv = options.csv;
  csv.label = "label";
  for (int c = 1; c <= kCriteoIntegers; ++c) csv.columns.push_back(table_column_of(cat("I", c), "number"));
  for (int c = 1; c <= kCriteoCategories; ++c)
    csv.columns.push_back(table_column_of(cat("C", c), "category"));
  csv.names = {csv.label};
  for (const CsvColumn& each : csv.columns) csv.names.push_back(each.name);
  csv.learnt = true;
  return options;
}

// Writes the fields of a row, one after the other.  In JSON they have names, and a field without a value is
// null.
class RowFields {
 public:
  RowFields(bool json, const std::vector<std::string>& names, std::string& out)
      : json_(json), names_(names), row_(out, 4 * names.size(), 0) {}

  void integer(float value) {
    begin();
    const bool missing = value == 0 && std::signbit(value);
    missing ? add_missing() : row_.add_int(static_cast<int64_t>(value));
  }

  void category(std::span<const Key> keys) {
    begin();
    if (keys.empty()) return add_missing();
    if (json_) row_.add('"');
    row_.add_hex8(static_cast<uint32_t>(keys[0]));
    if (json_) row_.add('"');
  }

  void end() { row_.add(json_ ? "}\n" : "\n"); }

 private:
  void begin() {
    const bool first = index_ == 0;
    if (!json_ && !first) row_.add(',');
    if (json_) {
      row_.add(first ? "{\"" : ",\"");
      row_.add(names_[index_]);
      row_.add("\":");
    }
    ++index_;
  }

  void add_missing() {
    if (json_) row_.add("null");
  }

  const bool json_;
  const std::vector<std::string>& names_;
  RowText row_;
  size_t index_ = 0;
};

void write_row(const Batch& batch, size_t b, RowFields row) {
  row.integer(batch.labels[b]);
  const std::span integers = std::span(batch.slots[0].values).subspan(b * kCriteoIntegers, kCriteoIntegers);
  for (float value : integers) row.integer(value);
  for (const SlotData& slot : std::span(batch.slots).subspan(1)) {
    row.category(std::span(slot.keys).subspan(slot.offsets[b], slot.offsets[b + 1] - slot.offsets[b]));
  }
  row.end();
}

}  // namespace

SyntheticData make_table(const std::string& format, double scale, uint64_t full_samples) {
  const uint64_t samples = scaled_samples(scale, full_samples);
  const std::unique_ptr<Generator> generator = make_generator({"criteo", "criteo"}, scale);
  SyntheticData data;
  data.options = table_options(format);
  Sample sample;
  for (uint64_t first = 0; first < samples; first += kBlockRows) {
    generator->generate(first, std::min<int64_t>(kBlockRows, static_cast<int64_t>(samples - first)), sample);
    for (size_t b = 0; b < sample.batch.labels.size(); ++b)
      write_row(sample.batch, b, {format == "jsonl", data.options.csv.names, data.bytes});
    data.digest.add(sample.batch);
  }
  return data;
}

}  // namespace ps
