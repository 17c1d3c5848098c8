// Tables of text, as RFC 4180 and spreadsheets have them: a header, and a record for each example.
//
//   record = field { separator field }            as many fields as the header has
//   field  = text without separators and line ends, blanks around it left out
//          | quote { any byte but a quote, or two quotes, or escape and any byte } quote
//
// Each column is a slot: ps-data(5) says how.  Values that were learnt from the training data are in data.csv.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "data/csv/columns.h"
#include "data/csv/splitter.h"
#include "data/format.h"
#include "data/part.h"
#include "data/scan.h"

namespace ps {

namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return static_cast<size_t>(hash_bytes(text)); }
};
using Numbers = std::unordered_map<std::string, uint64_t, TextHash, std::equal_to<>>;

// Words with their places in the list.
Numbers numbered(const std::vector<std::string>& words) {
  Numbers out;
  for (const std::string& word : words) out.emplace(word, out.size());
  return out;
}

// The words that stand for no value.  Most fields have another length than they.
class MissingValues {
 public:
  explicit MissingValues(const std::vector<std::string>& words) : words_(words) {
    for (const std::string& word : words_) lengths_ |= bit(word.size());
  }

  bool contain(std::string_view field) const {
    if ((lengths_ & bit(field.size())) == 0) return false;
    return std::find(words_.begin(), words_.end(), field) != words_.end();
  }

 private:
  static uint64_t bit(size_t length) { return uint64_t{1} << std::min<size_t>(length, 63); }

  const std::vector<std::string> words_;
  uint64_t lengths_ = 0;
};

// One column, prepared.
struct Column {
  CsvColumn options;
  float offset, scale;
  bool logarithm, indicates_missing;
  uint64_t seed;     // of hashes
  Key first_id = 0;  // of bins or words: then come the others, of words, and the missing
  Numbers words;

  Column(const CsvColumn& column, Key first)
      : options(column),
        offset(static_cast<float>(column.offset)),
        scale(static_cast<float>(1 / column.divisor)),
        logarithm(column.scale == "log"),
        indicates_missing(column.indicates_missing()),
        seed(hash_bytes(column.ids_of.empty() ? column.name : column.ids_of)),
        first_id(first),
        words(numbered(column.words)) {}

  float scaled(float value) const {
    if (logarithm) value = std::copysign(std::log1p(std::fabs(value)), value);
    return (value - offset) * scale;
  }
  Key bin(float value) const {
    const auto edge = std::upper_bound(options.edges.begin(), options.edges.end(), double{value});
    return first_id + static_cast<Key>(edge - options.edges.begin());
  }
  Key word(std::string_view field) const {
    if (options.dictionary == 0) return hash_bytes(field, seed);
    const auto found = words.find(field);
    return first_id + (found == words.end() ? 0 : found->second + 1);
  }
  Key missing() const {
    if (options.num_ids() == 0) return hash_bytes("missing", seed + 1);
    return first_id + static_cast<Key>(options.num_ids()) - 1;
  }
};

class CsvParser : public Parser {
 public:
  explicit CsvParser(const ParserSetup& setup)
      : options_(setup.options),
        schema_(setup.schema),
        dialect_(csv_dialect(options_)),
        part_(options_),
        missing_(options_.csv.missing_values),
        classes_(numbered(options_.csv.classes)) {
    Key first = 0;
    for (const CsvColumn& column : options_.csv.columns) {
      columns_.emplace_back(column, first);
      first += static_cast<Key>(column.num_ids());
    }
  }

  void check_labels(LabelCheck check) override { label_check_ = std::move(check); }
  bool has_parts() const override { return true; }

  void parse(const Block& block, Parsed& out) const override {
    const std::vector<FieldUse> uses = block_uses(block);
    const CsvDialect dialect = block_dialect(block);
    CsvFields fields(dialect);
    out.batch.clear(schema_);
    out.bad.clear();
    const std::string_view text = block.text();
    uint64_t line = block.place;
    for (const char *p = text.data(), *stop = p + text.size(); p < stop;) {
      bool open = false;
      const char* end = find_record_end(p, stop, dialect, open);
      if (keeps(p, end)) parse_or_reject(p, end, {block, line, uses}, fields, out);
      if (out.bad.size() > static_cast<size_t>(options_.max_bad_lines)) return;
      line += 1 + (dialect.quote == 0 ? 0 : static_cast<uint64_t>(std::count(p, end, '\n')));
      p = end + 1;
    }
  }

 private:
  struct Place {
    const Block& block;
    uint64_t line;
    const std::vector<FieldUse>& uses;
  };

  // Empty records are no examples.
  bool keeps(const char* p, const char* end) const {
    if (end > p && end[-1] == '\r') --end;
    return end > p && part_.keeps({p, static_cast<size_t>(end - p)});
  }

  // Nothing looks for quotes in a block that has none.
  CsvDialect block_dialect(const Block& block) const {
    CsvDialect dialect = dialect_;
    if (block.text().find(dialect.quote) == std::string_view::npos) dialect.quote = 0;
    return dialect;
  }

  std::vector<FieldUse> block_uses(const Block& block) const {
    try {
      const bool named = !options_.csv.names.empty();
      return field_uses(options_, named ? record_names() : header_names(block.carry, dialect_));
    } catch (const Error& error) {
      throw error.within(*block.file);
    }
  }

  // Files without a header have no place for the label where there is none.
  std::vector<std::string> record_names() const {
    std::vector<std::string> names = options_.csv.names;
    if (!options_.labelled()) std::erase(names, options_.csv.label);
    return names;
  }

  void parse_or_reject(const char* p, const char* end, const Place& place, CsvFields& fields,
                       Parsed& out) const {
    const int64_t size = out.batch.size();
    try {
      if (end[-1] == '\r') --end;
      fields.cut(p, end);
      parse_record(fields, place.uses, out.batch);
      if (label_check_) label_check_(out.batch.labels.back());
    } catch (const Error& error) {
      if (error.code() != Code::kData) throw;
      out.batch.truncate(schema_, size);
      out.bad.push_back({size, cat(*place.block.file, ":", place.line, ": ", error.message())});
    }
  }

  void parse_record(const CsvFields& fields, const std::vector<FieldUse>& uses, Batch& batch) const {
    if (fields.size() != uses.size())
      fail(Code::kData, "found ", fields.size(), " columns, expected ", uses.size());
    float label = 0;
    for (size_t i = 0; i < uses.size(); ++i) {
      const FieldUse& use = uses[i];
      switch (use.kind) {
        case FieldKind::kIgnored:
          break;
        case FieldKind::kLabel:
          label = parse_label(fields[i]);
          break;
        case FieldKind::kWeight:
          put_weight(fields[i], batch);
          break;
        case FieldKind::kGroup:
          put_group(fields[i], batch);
          break;
        case FieldKind::kNumber:
          put_number(fields[i], columns_[use.column], batch.slots[use.slot]);
          break;
        default:
          put_ids(fields[i], use.kind, columns_[use.column], batch.slots[use.slot]);
      }
    }
    batch.labels.push_back(label);
  }

  float parse_label(std::string_view field) const {
    if (missing_.contain(field)) {
      if (options_.label_use == LabelUse::kIgnored) return 0;
      fail(Code::kData, "the label, column ", quote(options_.csv.label), ", is missing");
    }
    if (classes_.empty()) return parse_number(field, options_.csv.label);
    if (const std::optional<uint64_t> found = find_class(field)) return static_cast<float>(*found);
    if (options_.label_use == LabelUse::kIgnored) return 0;
    fail(Code::kData, "label ", quote(field), " is none of ", join(options_.csv.classes, ", "));
  }

  // A few words are compared faster than they are hashed.
  std::optional<uint64_t> find_class(std::string_view field) const {
    constexpr size_t kFew = 8;
    const std::vector<std::string>& words = options_.csv.classes;
    for (size_t i = 0; i < words.size() && words.size() <= kFew; ++i) {
      if (words[i] == field) return i;
    }
    if (words.size() <= kFew) return std::nullopt;
    const auto found = classes_.find(field);
    return found == classes_.end() ? std::nullopt : std::optional(found->second);
  }

  static float parse_number(std::string_view field, const std::string& column) {
    const char* p = field.data();
    float value = 0;
    const Scan found = scan_float(p, value);
    if (found == Scan::kNumber && p == field.data() + field.size()) return value;
    fail(Code::kData, "value ", quote(field), " of column ", quote(column),
         found == Scan::kNotFinite ? " is not finite" : " is not a number");
  }

  void put_weight(std::string_view field, Batch& batch) const {
    const float weight = parse_number(field, options_.csv.weight);
    if (weight < 0) fail(Code::kData, "weight ", quote(field), " is negative");
    batch.weights.push_back(weight);
  }

  static void put_group(std::string_view field, Batch& batch) {
    batch.groups.push_back(parse_uint(field).value_or(hash_bytes(field)));
  }

  // False when the field has no value.
  bool read_number(std::string_view field, const Column& column, float& value) const {
    const char* p = field.data();
    if (!field.empty() && scan_float(p, value) == Scan::kNumber && p == field.data() + field.size())
      return true;
    if (missing_.contain(field)) return false;
    value = parse_number(field, column.options.name);
    return true;
  }

  void put_number(std::string_view field, const Column& column, SlotData& slot) const {
    float value = 0;
    const bool present = read_number(field, column, value);
    const float scaled = present ? column.scaled(value) : 0;
    if (!std::isfinite(scaled)) {
      fail(Code::kData, "value ", quote(field), " of column ", quote(column.options.name),
           " is not finite once it is scaled");
    }
    slot.values.push_back(scaled);
    if (column.indicates_missing) slot.values.push_back(present ? 0.0f : 1.0f);
  }

  void put_ids(std::string_view field, FieldKind kind, const Column& column, SlotData& slot) const {
    float value = 0;
    bool present = true;
    if (kind == FieldKind::kBins) {
      present = read_number(field, column, value);
      if (present) slot.keys.push_back(column.bin(value));
    } else if (missing_.contain(field)) {
      present = false;
    } else if (kind == FieldKind::kWord) {
      slot.keys.push_back(column.word(field));
    } else if (kind == FieldKind::kWholeText) {
      add_text_features(column.options, field, column.seed, /*blanks=*/false, slot.keys);
    } else {
      put_words(field, column, slot);
    }
    if (!present && column.indicates_missing) slot.keys.push_back(column.missing());
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
  }

  static void put_words(std::string_view field, const Column& column, SlotData& slot) {
    while (!field.empty()) {
      const size_t size = std::min(field.find(column.options.separator[0]), field.size());
      if (size > 0) slot.keys.push_back(column.word(field.substr(0, size)));
      field.remove_prefix(std::min(size + 1, field.size()));
    }
  }

  const DataOptions options_;
  const DataSchema schema_;
  const CsvDialect dialect_;
  const PartFilter part_;
  const MissingValues missing_;
  const Numbers classes_;
  std::vector<Column> columns_;
  LabelCheck label_check_;  // empty: all labels are accepted
};

DataSchema schema(const DataOptions& data, std::string_view) {
  if (data.csv.learnt) return data.csv.schema();
  fail(Code::kUsage,
       "data.csv: nothing is known of the columns: ps-train learns it from the data that it trains on, and "
       "--model DIR has it");
}

std::unique_ptr<Splitter> split_records(const DataOptions& data, ByteSource& source) {
  return std::make_unique<CsvSplitter>(source, csv_dialect(data), data.csv.names.empty());
}

// Tables are told from other formats by their header: data/csv/learn.h.
bool recognize(std::string_view, const DataOptions&) {
  return false;
}

}  // namespace

extern const FormatEntry kCsv, kTsv;
const FormatEntry kCsv = {
    {"csv", "a table with a header, and commas between columns", no_own_keys},
    false,
    false,
    recognize,
    schema,
    split_records,
    make_parser<CsvParser>,
};
const FormatEntry kTsv = {
    {"tsv", "a table with a header, and tabs between columns", no_own_keys},
    false,
    false,
    recognize,
    schema,
    split_records,
    make_parser<CsvParser>,
};

}  // namespace ps
