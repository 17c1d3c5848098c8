// Tables of text in the form of RFC 4180 and of spreadsheets: a header, and a record for each example.
//
//   record = field { separator field }            as many fields as the header has
//   field  = text without separators and line ends, blanks around it left out
//          | quote { any byte but a quote, or two quotes, or escape and any byte } quote
//
// Each column is a slot; ps-data(5) describes how.  Values that were learnt from the training data are in
// data.csv.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/csv/columns.h"
#include "data/csv/field_rows.h"
#include "data/csv/record_encoder.h"
#include "data/csv/splitter.h"
#include "data/format.h"
#include "data/line_parser.h"
#include "data/negatives.h"
#include "data/part.h"

namespace ps {

namespace {

// Constant once parsing begins: many threads share one parser.
class CsvParser : public Parser {
 public:
  explicit CsvParser(const ParserSetup& setup)
      : options_(setup.options),
        schema_(setup.schema),
        dialect_(csv_dialect(options_)),
        part_(options_),
        negatives_(options_),
        encoder_(options_),
        by_column_(!negatives_.on() && !options_.multi_label && !options_.has_own_labels()) {}

  void check_labels(LabelCheck check) override { label_check_ = std::move(check); }
  bool has_parts() const override { return true; }
  bool has_parts_by(const std::string&) const override { return true; }  // each file has a header of its own

  // Parses a block in one of two ways, record by record or column by column, which give the same examples.
  // The fast way needs options in which columns are independent (by_column_), and a record of one line with
  // the right number of fields.  Such records wait in `together` until it is full, and are then encoded one
  // column at a time, so that the code and the words of one column stay in the cache.  Any other record is
  // first preceded by those that wait, because examples and bad lines must keep their order, and is then
  // parsed for itself.
  // `line` is the number of the line at p; a record with quotes may have several.  The loop ends at the
  // first bad line beyond max_bad_lines, since the run ends there.
  void parse(const Block& block, Parsed& out) const override {
    const Header header = read_header(block);
    const CsvDialect dialect = block_dialect(block);
    CsvFields fields(dialect);
    Together together(header.uses.size());
    out.batch.clear(schema_);
    out.bad.clear();
    const std::string_view text = block.text();
    const auto most_bad = static_cast<size_t>(options_.max_bad_lines);
    uint64_t line = block.position;
    for (const char *p = text.data(), *stop = p + text.size(); p < stop && out.bad.size() <= most_bad;) {
      const Context context{block, line, header};
      const char* end = by_column_ ? fields.cut_line(p, stop) : nullptr;
      if (end != nullptr && fields.size() == header.uses.size()) {
        if (keeps(p, end) && (!part_.by_column() || keeps(fields, header)))
          together.append(p, end, line, fields);
        if (together.rows.full()) parse_together(together, context, fields, out);
        ++line;
      } else {
        parse_together(together, context, fields, out);
        if (out.bad.size() > most_bad) break;
        bool open = false;
        end = find_record_end(p, stop, dialect, open);
        if (keeps(p, end)) parse_or_reject(p, end, context, fields, out);
        line += 1 + (dialect.quote == 0 ? 0 : static_cast<uint64_t>(std::count(p, end, '\n')));
      }
      p = end + 1;
    }
    parse_together(together, {block, line, header}, fields, out);
    if (negatives_.on()) NegativeFilter::end(out.batch);
  }

 private:
  struct Header {
    std::vector<FieldUse> uses;
    size_t part_column = 0;  // the column whose value decides about parts
  };

  struct Context {
    const Block& block;
    uint64_t line;
    const Header& header;
  };

  // Records that wait until there are enough of them to be encoded column by column.
  struct Together {
    struct Record {
      const char *begin, *end;
      uint64_t line;
    };

    explicit Together(size_t columns) : rows(columns) {}

    void append(const char* begin, const char* end, uint64_t line, const CsvFields& fields) {
      rows.append(fields.all());
      records.push_back({begin, end, line});
    }
    void clear() {
      rows.clear();
      records.clear();
    }

    FieldRows rows;
    std::vector<Record> records;
  };

  // Returns true if the record may be an example of the part; empty records are no examples.
  bool keeps(const char* p, const char* end) const {
    if (end > p && end[-1] == '\r') --end;
    return end > p && part_.keeps_line({p, static_cast<size_t>(end - p)});
  }

  // Returns true if the record is of the part by its column, or has another number of columns, which is refused
  // later.
  bool keeps(const CsvFields& fields, const Header& header) const {
    return fields.size() != header.uses.size() || part_.keeps_word(fields[header.part_column]);
  }

  // Returns the dialect for a block.  In a block without quotes, none are searched.
  CsvDialect block_dialect(const Block& block) const {
    CsvDialect dialect = dialect_;
    if (block.text().find(dialect.quote) == std::string_view::npos) dialect.quote = 0;
    return dialect;
  }

  Header read_header(const Block& block) const {
    try {
      const bool named = !options_.csv.names.empty();
      const std::vector<std::string> names = named ? record_names() : header_names(block.carry, dialect_);
      return {field_uses(options_, names),
              part_.by_column() ? need_name(names, options_.validation_by) : size_t{0}};
    } catch (const Error& error) {
      throw error.within(*block.file);
    }
  }

  // Returns the names of the columns.  Files without a header and without labels have no column for the label.
  std::vector<std::string> record_names() const {
    std::vector<std::string> names = options_.csv.names;
    if (options_.labelled()) return names;
    std::erase(names, options_.csv.label);
    for (const std::string& label : options_.csv.labels) std::erase(names, label);
    return names;
  }

  // Encodes the records that wait.  If one of them is no good, each of them is parsed for itself.
  void parse_together(Together& together, const Context& context, CsvFields& fields, Parsed& out) const {
    if (together.records.empty()) return;
    const int64_t size = out.batch.size();
    if (!add_columns(together.rows, context.header.uses, out.batch)) {
      out.batch.truncate(schema_, size);
      for (const Together::Record& record : together.records) {
        if (out.bad.size() > static_cast<size_t>(options_.max_bad_lines)) break;
        parse_or_reject(record.begin, record.end, {context.block, record.line, context.header}, fields, out);
      }
    }
    together.clear();
  }

  // Returns false if a record is no good; then the examples that it was adding are not whole.
  bool add_columns(const FieldRows& rows, const std::vector<FieldUse>& uses, Batch& batch) const {
    const int64_t size = batch.size();
    try {
      bool labelled = false;
      for (size_t i = 0; i < uses.size(); ++i) {
        encoder_.add_column(rows.column(i), uses[i], batch);
        labelled |= uses[i].kind == FieldKind::kLabel;
      }
      if (!labelled) batch.labels.resize(static_cast<size_t>(size) + rows.size(), 0.0f);
      if (label_check_) check_labels_from(label_check_, batch, /*sets=*/false, size);
      return true;
    } catch (const Error& error) {
      if (error.code() != Code::kData) throw;
      return false;
    }
  }

  // Adds the example of one record, or lists the record as a bad line.  Fields that were appended before
  // the error are taken off again.  The sampling of negative examples comes last, since it depends on the
  // label.
  void parse_or_reject(const char* p, const char* end, const Context& context, CsvFields& fields,
                       Parsed& out) const {
    const int64_t size = out.batch.size();
    try {
      if (end[-1] == '\r') --end;
      fields.cut(p, end);
      if (part_.by_column() && !keeps(fields, context.header)) return;
      parse_record(fields, context.header.uses, out.batch);
      if (label_check_) check_labels_from(label_check_, out.batch, options_.multi_label, size);
      if (negatives_.on() &&
          !negatives_.keeps_last({p, static_cast<size_t>(end - p)}, context.line, out.batch))
        out.batch.truncate(schema_, size);
    } catch (const Error& error) {
      if (error.code() != Code::kData) throw;
      out.batch.truncate(schema_, size);
      out.bad.push_back({size, cat(*context.block.file, ":", context.line, ": ", error.message())});
    }
  }

  // Appends one example.  Labels of several columns end with the record and not with a field; labels come
  // last, since their number is the number of whole examples.
  void parse_record(const CsvFields& fields, const std::vector<FieldUse>& uses, Batch& batch) const {
    if (fields.size() != uses.size())
      fail(Code::kData, "found ", fields.size(), " columns, expected ", uses.size());
    float label = 0;
    for (size_t i = 0; i < uses.size(); ++i) {
      const FieldUse& use = uses[i];
      if (use.kind == FieldKind::kLabel) {
        label = encoder_.label(fields[i]);
      } else if (use.kind != FieldKind::kIgnored) {
        encoder_.add(fields[i], use, batch);
      }
    }
    if (options_.multi_label) end_label_set(batch);
    if (options_.has_own_labels()) label = encoder_.end_own_labels(batch);
    batch.labels.push_back(label);
  }

  const DataOptions options_;
  const DataSchema schema_;
  const CsvDialect dialect_;
  const PartFilter part_;
  const NegativeFilter negatives_;
  const RecordEncoder encoder_;
  const bool by_column_;    // columns are independent, so records may be encoded together
  LabelCheck label_check_;  // empty: all labels are accepted
};

DataSchema schema(const DataOptions& data, std::string_view) {
  return learnt_table_schema(data);
}

std::unique_ptr<Splitter> split_records(const DataOptions& data, ByteSource& source) {
  return std::make_unique<CsvSplitter>(source, csv_dialect(data), data.csv.names.empty());
}

// Tables are recognised by their header: data/csv/learn.h.
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
    false,
    true,
};
const FormatEntry kTsv = {
    {"tsv", "a table with a header, and tabs between columns", no_own_keys},
    false,
    false,
    recognize,
    schema,
    split_records,
    make_parser<CsvParser>,
    false,
    true,
};

}  // namespace ps
