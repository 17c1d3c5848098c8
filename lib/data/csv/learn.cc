#include "data/csv/learn.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "data/csv/columns.h"
#include "data/csv/json_fields.h"
#include "data/csv/record_encoder.h"
#include "data/csv/splitter.h"
#include "data/csv/table_columns.h"
#include "data/format.h"
#include "data/splitter.h"

namespace ps {

namespace {

// Reads files until enough records were seen.
class Learner {
 public:
  Learner(const DataOptions& options, int64_t most_records)
      : csv_(options.csv),
        missing_(csv_.missing_values),
        columns_(csv_, options.validation_values.empty() ? std::string() : options.validation_by,
                 options.multi_label),
        left_(most_records),
        most_(most_records) {}
  virtual ~Learner() = default;

  virtual void read(ByteSource& source) = 0;

  bool enough() const { return left_ <= 0; }
  bool empty() const { return columns_.empty(); }

  // The fault of the first record that is no good, where it is known; nothing was learnt from that one.
  const std::optional<Error>& fault() const { return fault_; }
  CsvOptions finish() { return columns_.finish(most_ - left_); }

 protected:
  void learn(std::string_view field, ColumnStatistics& seen) const {
    missing_.contain(field) ? seen.add_missing() : seen.add(field);
  }

  const CsvOptions csv_;
  const MissingValues missing_;
  TableColumns columns_;
  int64_t left_;  // records
  std::optional<Error> fault_;

 private:
  const int64_t most_;
};

// Records are cut one by one, and learnt from column by column: threads share the columns of some records, of which each
// belongs to one thread, so that their number changes nothing of what is learnt.
class CsvLearner final : public Learner {
 public:
  CsvLearner(const DataOptions& options, int64_t most_records, int threads)
      : Learner(options, most_records), dialect_(csv_dialect(options)), pool_(threads) {}

  // The first file's header decides which columns there are.  Each block brings the header of its file with
  // it, since the columns of another file may have another order.
  void read(ByteSource& source) override {
    CsvSplitter splitter(source, dialect_, csv_.names.empty());
    Block block;
    std::vector<std::string> names = csv_.names;
    while (left_ > 0 && splitter.next(block)) {
      if (csv_.names.empty()) names = header_names(block.carry, dialect_);
      if (columns_.empty()) begin(names, *source.name());
      read(block.text(), names);
    }
  }

 private:
  void begin(const std::vector<std::string>& names, const std::string& file) {
    try {
      columns_.set_header(names);
    } catch (const Error& error) {
      throw error.code() == Code::kUsage ? error : error.within(file);
    }
  }

  // columns[i] has the statistics of field i, or is null if nothing is learnt from it.  Records that are no
  // good are left to the parser, which counts them as bad lines.  The fields of records of one line are views into the
  // text, so that many such records can wait; any other record is learnt from at once, after those that wait.
  void read(std::string_view text, const std::vector<std::string>& names) {
    std::vector<ColumnStatistics*> columns;
    for (const std::string& name : names) columns.push_back(columns_.find(name));
    shared_ = !all_differ(columns);
    CsvDialect dialect = dialect_;
    if (text.find(dialect.quote) == std::string_view::npos) dialect.quote = 0;
    CsvFields fields(dialect);
    bool open = false;
    for (const char *p = text.data(), *stop = p + text.size(); p < stop && left_ > 0;) {
      const char* end = fields.cut_line(p, stop);
      const bool one_line = end != nullptr;
      if (!one_line) {
        learn_waiting(columns);
        end = find_record_end(p, stop, dialect, open);
      }
      if ((one_line ? has_text(p, end) : cut(p, end, fields)) && fields.size() == columns.size()) {
        waiting_.insert(waiting_.end(), fields.all().begin(), fields.all().end());
        --left_;
      }
      if (!one_line || waiting_.size() >= kFieldsAtOnce) learn_waiting(columns);
      p = end + 1;
    }
    learn_waiting(columns);
  }

  static bool has_text(const char* p, const char* end) { return end > p && !(end == p + 1 && *p == '\r'); }

  // False for a record that is empty or no good.
  static bool cut(const char* p, const char* end, CsvFields& fields) {
    if (!has_text(p, end)) return false;
    try {
      fields.cut(p, end[-1] == '\r' ? end - 1 : end);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  // Learns from waiting_ [records, columns].  A header in which a name comes twice is refused later; until then no two
  // threads may share its statistics.  Few fields are not worth waking threads.
  void learn_waiting(const std::vector<ColumnStatistics*>& columns) {
    if (waiting_.empty()) return;
    auto learn_column = [&](int64_t c) {
      ColumnStatistics* seen = columns[static_cast<size_t>(c)];
      if (seen == nullptr) return;
      for (size_t i = static_cast<size_t>(c); i < waiting_.size(); i += columns.size())
        learn(waiting_[i], *seen);
    };
    const auto size = static_cast<int64_t>(columns.size());
    if (waiting_.size() >= kFewestFields && !shared_) {
      pool_.run(size, learn_column);
    } else {
      for (int64_t c = 0; c < size; ++c) learn_column(c);
    }
    waiting_.clear();
  }

  static bool all_differ(std::vector<ColumnStatistics*> columns) {
    std::erase(columns, nullptr);
    std::ranges::sort(columns);
    return std::ranges::adjacent_find(columns) == columns.end();
  }

  static constexpr size_t kFieldsAtOnce = 1 << 14;  // some half a millisecond of learning
  static constexpr size_t kFewestFields = 1 << 10;

  const CsvDialect dialect_;
  ThreadPool pool_;
  bool shared_ = false;  // two columns of the present file have the same statistics
  std::vector<std::string_view>
      waiting_;  // the fields of records, of which each has as many as there are columns
};

// The columns of lines of JSON are all fields that come in any of them, in the order in which they come first.
class JsonLearner final : public Learner {
 public:
  using Learner::Learner;

  void read(ByteSource& source) override {
    LineSplitter splitter(source);
    Block block;
    while (left_ > 0 && splitter.next(block)) read(block);
  }

 private:
  // Learns from each line that is one object.  Errors of the learning itself name the line.
  void read(const Block& block) {
    std::string_view text = block.text();
    for (uint64_t line = block.position; !text.empty() && left_ > 0; ++line) {
      std::string_view object = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(object.size() + 1, text.size()));
      if (object.ends_with('\r')) object.remove_suffix(1);
      if (!parse(object, block, line)) continue;
      try {
        learn();
      } catch (const Error& error) {
        throw error.within(place(block, line));
      }
    }
  }

  static std::string place(const Block& block, uint64_t line) { return cat(*block.file, ":", line); }

  // False for a line that is blank or no good.
  bool parse(std::string_view object, const Block& block, uint64_t line) {
    try {
      fields_.parse(object.data(), object.data() + object.size());
      return true;
    } catch (const Error& error) {
      const bool is_blank = object.find_first_not_of(" \t") == std::string_view::npos;
      if (!fault_ && !is_blank) fault_ = error.within(place(block, line));
      return false;
    }
  }

  // A nested value ends the learning unless its column is ignored: no type of column could hold it, and the
  // message says how to go on.
  void learn() {
    --left_;
    for (const JsonField& field : fields_.fields()) {
      if (field.kind == JsonField::Kind::kNested && !columns_.ignores(field.name)) fail_nested(field);
      if (ColumnStatistics* seen = columns_.find_or_add(field.name)) learn(field, *seen);
    }
  }

  void learn(const JsonField& field, ColumnStatistics& seen) const {
    const bool is_list = field.kind == JsonField::Kind::kList;
    if (is_list && field.num_words > 0) {
      seen.add_list(fields_.words(field));
    } else if (field.kind == JsonField::Kind::kWord) {
      Learner::learn(fields_.word(field), seen);
    } else {
      seen.add_missing();
    }
  }

  JsonFields fields_;
};

// Takes the first record off `text`, and returns it without its end.
std::string_view read_record(std::string_view& text, const CsvDialect& dialect) {
  bool open = false;
  const char* end = find_record_end(text.data(), text.data() + text.size(), dialect, open);
  std::string_view record = text.substr(0, static_cast<size_t>(end - text.data()));
  text.remove_prefix(std::min(record.size() + 1, text.size()));
  if (record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

// Returns true if the names are those of a header: two or more that differ, are not empty, and are no
// numbers.
bool is_header(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty() || parse_double(name) || !seen.insert(name).second) return false;
  }
  return names.size() > 1;
}

}  // namespace

bool is_table_format(std::string_view format) {
  return format == "csv" || format == "tsv" || format == "jsonl";
}

// Tries the separators from the most usual one on.  A text with commas in it may also be cut at its commas,
// so the second line must have as many columns as the first.
std::optional<TableGuess> guess_table(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  for (const char separator : {',', '\t', ';', '|'}) {
    const CsvDialect dialect{separator, '"', 0};
    std::string_view rest = head;
    const std::string_view first = read_record(rest, dialect), second = read_record(rest, dialect);
    try {
      const std::vector<std::string> names = header_names(first, dialect);
      if (!is_header(names) || header_names(second, dialect).size() != names.size()) continue;
    } catch (const Error&) {  // quotes that are not closed
      continue;
    }
    const bool usual = separator == ',' || separator == '\t';
    return TableGuess{separator == '\t' ? "tsv" : "csv", usual ? std::string() : std::string(1, separator)};
  }
  return std::nullopt;
}

CsvOptions learn_table(const DataOptions& options, const std::vector<std::string>& paths,
                       const SourceContext& context, int64_t most_records, bool cut_short, int threads) {
  std::unique_ptr<Learner> learner;
  if (options.format == "jsonl") {
    learner = std::make_unique<JsonLearner>(options, most_records);
  } else {
    learner = std::make_unique<CsvLearner>(options, most_records, threads);
  }
  try {
    for (const InputFile& file : expand_inputs(paths)) {
      if (learner->enough()) break;
      ByteSource source(file, context);
      learner->read(source);
    }
  } catch (const Error& error) {
    // Data that are cut short end within a record or a compressed block.  Whatever was learnt before is
    // good then.
    const bool at_the_cut = error.code() == Code::kCorrupt || error.code() == Code::kData;
    if (!cut_short || !at_the_cut || learner->empty()) throw;
  }
  if (learner->empty() && learner->fault()) throw *learner->fault();
  if (learner->empty()) fail(Code::kData, paths.front(), ": a table without a record");
  return learner->finish();
}

}  // namespace ps
