// Lines of JSON (JSON Lines, NDJSON): an object for each example, whose fields are the columns of a table.
//
//   line = "{" [ name ":" value { "," name ":" value } ] "}"         RFC 8259; names in any order, none twice
//
// Each field is a slot as a column of csv is, with data.csv; ps-data(5) describes how.  A field that is null or
// absent has no value.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/csv/columns.h"
#include "data/csv/json_fields.h"
#include "data/csv/record_encoder.h"
#include "data/line_parser.h"
#include "data/splitter.h"

namespace ps {

namespace {

// Constant once parsing begins: many threads share one parser.
class JsonLinesParser : public LineParser {
 public:
  explicit JsonLinesParser(const ParserSetup& setup)
      : LineParser(setup),
        own_labels_(setup.options.has_own_labels()),
        encoder_(setup.options),
        uses_(field_uses(setup.options, used_names(setup.options))) {
    const std::vector<std::string> names = used_names(setup.options);
    for (size_t i = 0; i < names.size(); ++i) positions_.emplace(names[i], i);
    if (part().by_column()) part_use_ = use_of(setup.options.validation_by);
  }

  bool has_parts_by(const std::string&) const override { return true; }

 private:
  // Returns the names of the fields that are used, those of slots in the order of the slots.
  static std::vector<std::string> used_names(const DataOptions& options) {
    const CsvOptions& csv = options.csv;
    std::vector<std::string> names;
    for (const CsvColumn& column : csv.columns) {
      if (column.type != "ignore") names.push_back(column.name);
    }
    for (const std::string& name : {csv.weight, csv.group}) {
      if (!name.empty()) names.push_back(name);
    }
    if (options.labelled() && csv.labels.empty()) names.push_back(csv.label);
    if (options.labelled()) names.insert(names.end(), csv.labels.begin(), csv.labels.end());
    const std::string& part_by = options.validation_by;
    if (!part_by.empty() && std::find(names.begin(), names.end(), part_by) == names.end())
      names.push_back(part_by);
    return names;
  }

  // Memory for the names of fields.  Lines of a file mostly have the same fields in the same order, so a name
  // is first compared with the name that was last seen at its index.
  struct Scratch final : LineScratch {
    struct Known {
      std::string name;
      uint64_t head;  // its first 8 bytes, with 0 for bytes behind its end
      size_t use;

      bool is(std::string_view other) const {
        return name.size() == other.size() && head == head_of(other) &&
               (other.size() <= 8 || name.compare(8, std::string::npos, other.substr(8)) == 0);
      }
    };

    // Returns the first 8 bytes of a name.  Behind it lie 8 bytes that may be read.
    static uint64_t head_of(std::string_view text) {
      uint64_t bytes;
      std::memcpy(&bytes, text.data(), 8);
      if (text.size() < 8) bytes &= (uint64_t{1} << (8 * text.size())) - 1;
      return bytes;
    }

    JsonFields fields;
    std::vector<Known> order;
    std::vector<const JsonField*> found;  // by index in uses_: the field; null: it is absent
  };

  static constexpr size_t kNoUse = SIZE_MAX;

  std::unique_ptr<LineScratch> make_scratch() const override { return std::make_unique<Scratch>(); }

  void parse_line(const char* p, const char* end, Batch& batch) const override {
    parse_with(make_scratch().get(), p, end, batch);
  }

  void parse_with(LineScratch* scratch, const char* p, const char* end, Batch& batch) const override {
    if (is_blank({p, static_cast<size_t>(end - p)})) return;
    Scratch& memory = static_cast<Scratch&>(*scratch);
    memory.fields.parse(p, end);
    find_fields(memory);
    put_all(memory.fields, memory.found, batch);
  }

  size_t use_of(std::string_view name) const {
    const auto position = positions_.find(name);
    return position == positions_.end() ? kNoUse : static_cast<size_t>(position->second);
  }

  // Returns the index in uses_ of the index-th field of a line.
  // The name is compared with order[index].  If it differs, it is searched in positions_, and takes that
  // place for the next line.  Names that are of no use are remembered too.
  size_t use_of(std::string_view name, size_t index, Scratch& memory) const {
    constexpr size_t kMostKnown = 10000;  // the largest number of columns too
    std::vector<Scratch::Known>& order = memory.order;
    if (index < order.size() && order[index].is(name)) return order[index].use;
    const size_t use = use_of(name);
    if (index >= kMostKnown) return use;
    if (index == order.size()) order.emplace_back();
    order[index] = {std::string(name), Scratch::head_of(name), use};
    return use;
  }

  // Sets found[use] to the field for each use.  A name that comes twice is refused, since RFC 8259 leaves
  // open which of the two counts.
  void find_fields(Scratch& memory) const {
    memory.found.assign(uses_.size(), nullptr);
    size_t index = 0;
    for (const JsonField& field : memory.fields.fields()) {
      const size_t use = use_of(field.name, index++, memory);
      if (use == kNoUse) continue;
      if (memory.found[use] != nullptr)
        fail(Code::kData, "column ", field.column, ": a second field ", quote(field.name));
      memory.found[use] = &field;
    }
  }

  // Appends an example.  It goes through the uses and not through the fields of the line, so that slots are
  // filled in the same order whatever the order of the names.
  void put_all(const JsonFields& fields, const std::vector<const JsonField*>& found, Batch& batch) const {
    if (part().by_column() && !keeps(fields, found[part_use_])) return;
    float label = 0;
    for (size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].kind == FieldKind::kIgnored) continue;
      if (found[i] == nullptr) {
        put_missing(uses_[i], label, batch);
      } else {
        put(fields, *found[i], uses_[i], label, batch);
      }
    }
    if (has_label_sets()) end_label_set(batch);
    if (own_labels_) label = encoder_.end_own_labels(batch);
    batch.labels.push_back(label);
  }

  // Decides by the word of the field for parts; null: it is absent.
  bool keeps(const JsonFields& fields, const JsonField* field) const {
    if (field == nullptr || field->kind == JsonField::Kind::kNull) return part().keeps_word({});
    if (field->kind == JsonField::Kind::kWord) return part().keeps_word(fields.word(*field));
    fail(Code::kData, "column ", field->column, ": field ", quote(field->name),
         ", which data.validation_by names, is no single value");
  }

  bool keeps_last(const Batch&) const override { return true; }  // parse_line has decided

  static bool is_blank(std::string_view line) {
    return line[0] != '{' && line.find_first_not_of(" \t") == std::string_view::npos;
  }

  void put_missing(const FieldUse& use, float& label, Batch& batch) const {
    if (use.kind == FieldKind::kLabel) {
      label = encoder_.missing_label();
    } else {
      encoder_.add_missing(use, batch);
    }
  }

  // Appends one field that is there.  A null is as good as an absent field.  Messages of the encoder get
  // the position in the line.
  void put(const JsonFields& fields, const JsonField& field, const FieldUse& use, float& label,
           Batch& batch) const {
    if (field.kind == JsonField::Kind::kNull) return put_missing(use, label, batch);
    if (field.kind == JsonField::Kind::kNested) fail_nested(field);
    try {
      if (use.kind == FieldKind::kLabel) {
        label = encoder_.label(label_word(fields, field));
      } else if (field.kind == JsonField::Kind::kList) {
        encoder_.add_list(fields.words(field), use, batch);
      } else {
        encoder_.add(fields.word(field), use, batch);
      }
    } catch (const Error& error) {
      throw error.within(cat("column ", field.column));
    }
  }

  static std::string_view label_word(const JsonFields& fields, const JsonField& field) {
    if (field.kind == JsonField::Kind::kWord) return fields.word(field);
    fail(Code::kData, "the label, field ", quote(field.name), ", is a list");
  }

  const bool own_labels_;  // each label column is a label of its own
  const RecordEncoder encoder_;
  const std::vector<FieldUse> uses_;  // in the order in which fields are put into a batch
  size_t part_use_ = 0;               // index in uses_ of the field that decides about parts
  WordNumbers positions_;             // by name: index in uses_
};

DataSchema jsonl_schema(const DataOptions& data, std::string_view) {
  return learnt_table_schema(data);
}

bool recognize_jsonl(std::string_view line, const DataOptions&) {
  const size_t begin = line.find_first_not_of(" \t");
  return begin != std::string_view::npos && line[begin] == '{';
}

}  // namespace

extern const FormatEntry kJsonl;
const FormatEntry kJsonl = {
    {"jsonl", "lines of JSON: an object for each example, its fields by name", no_own_keys},
    false,
    false,
    recognize_jsonl,
    jsonl_schema,
    split_lines,
    make_parser<JsonLinesParser>,
    false,
    true,
};

}  // namespace ps
