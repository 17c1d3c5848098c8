#include "checkpoint/model/model_format.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/diverged.h"
#include "base/error.h"
#include "base/file.h"
#include "data/output.h"

namespace ps {

namespace {

// Returns every format, in the order of the manual.
std::span<const ModelFormat* const> model_format_catalog() {
  static constexpr const ModelFormat* kAll[] = {&kSafetensorsModel, &kNpzModel,       &kNpyModel,
                                                &kPaddleModel,      &kLiblinearModel, &kWord2vecModel,
                                                &kTextModel};
  return kAll;
}

}  // namespace

std::vector<std::string> model_format_names() {
  std::vector<std::string> names;
  for (const ModelFormat* format : model_format_catalog()) names.emplace_back(format->name);
  return names;
}

const ModelFormat& find_model_format(const std::string& name) {
  for (const ModelFormat* format : model_format_catalog()) {
    if (format->name == name) return *format;
  }
  const std::vector<std::string> names = model_format_names();
  fail(Code::kUsage, "unknown format ", quote(name), did_you_mean(name, names), "; expected one of ",
       join(names, ", "));
}

namespace {

// Writes to a file that appears, whole, at commit.
class FileSink final : public ByteSink {
 public:
  explicit FileSink(const std::string& path) : file_(path) {}
  void write(std::string_view bytes) override { file_.write(bytes); }
  bool replace_head(std::string_view bytes) override {
    file_.overwrite(0, bytes);
    return true;
  }
  bool can_replace_head() const override { return true; }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
};

// Writes to standard output, a pipe or a device, whose bytes cannot be taken back.  After the reading end
// has been closed all bytes are dropped.
class PipeSink final : public ByteSink {
 public:
  PipeSink(const std::string& path, bool binary) : stream_(path, Compression::kNone, binary) {}
  void write(std::string_view bytes) override { open_ = open_ && stream_.write(bytes); }
  bool open() const override { return open_; }

 private:
  OutputStream stream_;
  bool open_ = true;
};

// A source that has only one table of another source.
class OneTable final : public ModelSource {
 public:
  OneTable(ModelSource& source, size_t table)
      : source_(source), table_(table), tables_{source.tables()[table]} {}
  const std::vector<ModelTable>& tables() const override { return tables_; }
  std::unique_ptr<RowCursor> rows(size_t) override { return source_.rows(table_); }
  bool knows_untrained_rows(size_t) const override { return source_.knows_untrained_rows(table_); }
  void untrained_row(size_t, uint64_t key, float* weights) override {
    source_.untrained_row(table_, key, weights);
  }
  const std::map<std::string, std::string>& metadata() const override { return source_.metadata(); }
  int index_base() const override { return source_.index_base(); }

 private:
  ModelSource& source_;
  const size_t table_;
  const std::vector<ModelTable> tables_;
};

// A cursor that throws unless all weights of its rows are finite.
class FiniteRows final : public RowCursor {
 public:
  FiniteRows(std::unique_ptr<RowCursor> from, const ModelTable& table)
      : from_(std::move(from)), table_(table) {}

  const RowBlock* next() override {
    const RowBlock* rows = from_->next();
    for (size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
      check_finite_row(table_.name, rows->keys[i],
                       {rows->values.data() + static_cast<int64_t>(i) * table_.values(),
                        static_cast<size_t>(table_.width)});
    }
    return rows;
  }

 private:
  const std::unique_ptr<RowCursor> from_;
  const ModelTable& table_;
};

// Checks the rows of another source while they are read, so that no format writes a model that has
// diverged.
class FiniteModel final : public ModelSource {
 public:
  explicit FiniteModel(ModelSource& source) : source_(source) {}
  const std::vector<ModelTable>& tables() const override { return source_.tables(); }
  std::unique_ptr<RowCursor> rows(size_t table) override {
    return std::make_unique<FiniteRows>(source_.rows(table), source_.tables()[table]);
  }
  bool knows_untrained_rows(size_t table) const override { return source_.knows_untrained_rows(table); }
  void untrained_row(size_t table, uint64_t key, float* weights) override {
    source_.untrained_row(table, key, weights);
  }
  const std::map<std::string, std::string>& metadata() const override { return source_.metadata(); }
  int index_base() const override { return source_.index_base(); }

 private:
  ModelSource& source_;
};

// Returns true for a pipe or a device: bytes are written to it directly, and it must not be replaced by a
// file.
bool is_stream(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

// Follows symbolic links to the final path, which need not exist.
std::filesystem::path behind_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;
  for (int link = 0; link < kMostLinks; ++link) {
    std::error_code none;
    const std::filesystem::path target = std::filesystem::read_symlink(path, none);
    if (none) return path;
    path = path.parent_path() / target;
  }
  fail(Code::kUsage, "too many links at ", quote(path.string()));
}

template <class Format>
void write_file(const Format& format, ModelSource& source, const ModelSettings& settings,
                const std::string& path) {
  if (is_directory(path))
    fail(Code::kUsage, "cannot write ", quote(path), ": it is a folder, and the model is a file");
  FileSink sink(behind_links(path));
  format.write(source, settings, sink);
  sink.commit();
}

// Throws kUsage if --with-counts is given in vain: for a format that has no place for counts, or a model
// without any.
void check_counts(const ModelFormat& format, const ModelSource& source) {
  if (!format.holds_counts) {
    fail(Code::kUsage, "format ", format.name, " holds no counts of rows: leave out --with-counts");
  }
  if (std::ranges::any_of(source.tables(), &ModelTable::counted)) return;
  fail(Code::kUsage,
       "no table counts shows and clicks, since none has a row policy: leave out --with-counts");
}

void write_table_files(const ModelFormat& format, ModelSource& source, const ModelSettings& settings,
                       const std::string& base) {
  for (const TableFile& file : format.table_files) {
    if (file.has(source.tables()[0], settings)) write_file(file, source, settings, cat(base, file.suffix));
  }
}

// Throws kUsage for a table whose name would lead out of the folder in which its file is to be.
void check_is_file_name(const std::string& name) {
  if (name.find('/') == std::string::npos && name != "." && name != "..") return;
  fail(Code::kUsage, "table ", quote(name),
       " gives its name to a file, and is none: choose others with --tables, or a format of one file");
}

// Writes a file for each table, or the several files that the format makes of each, under the table's name.
void write_folder(const ModelFormat& format, ModelSource& source, const ModelSettings& settings,
                  const std::string& folder) {
  for (const ModelTable& table : source.tables()) check_is_file_name(table.name);
  make_directories(folder);
  for (size_t t = 0; t < source.tables().size(); ++t) {
    OneTable one(source, t);
    const std::string path = join_path(folder, source.tables()[t].name);
    if (format.write == nullptr) {
      write_table_files(format, one, settings, path);
    } else {
      write_file(format, one, settings, path);
    }
  }
}

}  // namespace

void check_finite_row(const std::string& table, uint64_t key, std::span<const float> weights) {
  const auto bad = std::find_if(weights.begin(), weights.end(), [](float w) { return !std::isfinite(w); });
  if (bad == weights.end()) return;
  throw Diverged(cat("the model is not finite: a weight of ", quote(table), ", row ", key, ", is ", *bad,
                     ": training has diverged"));
}

// Refuses settings that the format cannot hold before any byte is written.  Then the output decides: a pipe
// takes exactly one file, a format with a file per table takes a folder unless there is only one table, and
// all else is a file.
void write_model(const ModelFormat& format, ModelSource& given, const ModelSettings& settings,
                 const std::string& output) {
  FiniteModel source(given);
  if (settings.type != NumberType::kF32 && !format.other_types) {
    fail(Code::kUsage, "format ", format.name, " holds floats of 32 bits alone: leave out --type");
  }
  auto has_state = [](const ModelTable& table) { return table.state_arrays > 0; };
  if (!format.holds_state && std::ranges::any_of(source.tables(), has_state)) {
    fail(Code::kUsage, "format ", format.name, " holds no state of the optimizer: leave out --with-state");
  }
  if (settings.counts) check_counts(format, source);
  // `many`: the format makes several files of each table.  `folder`: the output is a folder, in which each
  // table has its own files.
  const bool many = !format.table_files.empty();
  const bool folder = many || (format.file_per_table && source.tables().size() != 1);
  if (output == "-" || is_stream(output)) {
    if (many) fail(Code::kUsage, "format ", format.name, " is several files: name a folder with --output");
    if (folder)
      fail(Code::kUsage, "format ", format.name, " is a file for each table: choose one with --tables");
    PipeSink sink(output, format.binary);
    return format.write(source, settings, sink);
  }
  if (folder) return write_folder(format, source, settings, output);
  write_file(format, source, settings, output);
}

}  // namespace ps
