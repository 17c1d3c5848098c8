// `records`: the reading side of data/records.h.
#include "data/records.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/format.h"
#include "data/negatives.h"
#include "data/part.h"
#include "data/splitter.h"

namespace ps {

namespace {

std::string_view body(std::string_view bytes) {
  return bytes.substr(kRecordsHeaderBytes);
}

// Constant once parsing begins: many threads share one parser.
class RecordsParser : public Parser {
 public:
  explicit RecordsParser(const ParserSetup& setup)
      : schema_(setup.schema),
        part_(setup.options),
        negatives_(setup.options),
        part_slot_(setup.schema.find(setup.options.validation_by)) {}

  bool has_parts() const override { return true; }
  bool has_parts_by(const std::string& column) const override {
    return column == "qid" || schema_.find(column) >= 0;
  }

  // A block is one part of the stream.  Chunks give examples; headers give none, but their schema is
  // compared with that of the first file.
  void parse(const Block& block, Parsed& out) const override {
    out.bad.clear();
    try {
      RecordsHead decoded = decode_records_head(block.text());
      if (decoded.kind == RecordsHead::kChunk) {
        decode_records_chunk(schema_, decoded, body(block.text()), out.batch);
        if (part_.on() || negatives_.on()) choose(block.position, out.batch);
        return;
      }
      out.batch.clear(schema_);
      if (decoded.kind == RecordsHead::kHeader)
        check_schema(decode_records_schema(decoded, body(block.text())));
    } catch (const Error& error) {
      throw error.within(cat(*block.file, ": offset ", block.position));
    }
  }

 private:
  void check_schema(const DataSchema& found) const {
    bool same = found.slots.size() == schema_.slots.size();
    for (size_t s = 0; same && s < found.slots.size(); ++s) {
      const SlotSchema &a = found.slots[s], &b = schema_.slots[s];
      same = a.name == b.name && a.dense == b.dense && (!a.dense || a.dim == b.dim);
    }
    if (!same) fail(Code::kData, "the slots are not those of the first file");
  }

  // Keeps the examples of the part, and a sample of their negatives, drawn by the offset of the chunk and the
  // position of an example in it.
  void choose(uint64_t offset, Batch& batch) const {
    Batch all;
    std::swap(all, batch);
    batch.slots.resize(all.slots.size());
    batch.clear(schema_);
    for (int64_t b = 0; b < all.size(); ++b) {
      if (!in_part(all, static_cast<size_t>(b))) continue;
      batch.append(schema_, all, b);
      if (negatives_.on() && !negatives_.keeps_last({}, hash_key(offset) + static_cast<uint64_t>(b), batch))
        batch.truncate(schema_, batch.size() - 1);
    }
    if (negatives_.on()) NegativeFilter::end(batch);
  }

  bool in_part(const Batch& batch, size_t index) const {
    if (!part_.on()) return true;
    if (part_.by_column()) return part_.keeps_by_slot(schema_, part_slot_, batch, index);
    return part_.keeps_example(schema_, batch, index);
  }

  const DataSchema schema_;
  const PartFilter part_;
  const NegativeFilter negatives_;
  const int part_slot_;  // the slot whose value decides about parts; -1: none, or the groups
};

// Returns the schema of the file's header.  For a single slot, a dim of the job file that is smaller than the
// file's replaces it.
DataSchema schema_records(const DataOptions& data, std::string_view head) {
  if (!is_records(head)) return data.slots.empty() ? data.single_slot() : data.listed_slots();
  RecordsHead decoded = decode_records_head(head);
  if (body(head).size() < decoded.size) fail(Code::kCorrupt, "the first file of records is cut short");
  DataSchema schema = decode_records_schema(decoded, body(head).substr(0, decoded.size));
  if (schema.slots.size() != 1 || data.dim == 0) return schema;
  SlotSchema& slot = schema.slots[0];
  if (slot.dense && slot.dim != data.dim) {
    fail(Code::kUsage, "data.dim: ", data.dim, ", but the records have ", slot.dim, " values each");
  }
  if (slot.dim == 0 || data.dim < slot.dim) slot.dim = data.dim;
  return schema;
}

}  // namespace

extern const FormatEntry kRecords;
const FormatEntry kRecords = {
    {"records", "binary examples with checksums, which need no parsing", no_own_keys},
    true,
    false,
    [](std::string_view, const DataOptions&) { return false; },
    schema_records,
    [](const DataOptions&, ByteSource& source) -> std::unique_ptr<Splitter> {
      return std::make_unique<RecordsSplitter>(source);
    },
    make_parser<RecordsParser>,
    /*always_labelled=*/true,
    /*label_sets=*/true,
};

}  // namespace ps
