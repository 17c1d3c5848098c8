#include "job/saved_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/model/numbers.h"
#include "job/row_names.h"
#include "model/wiring.h"
#include "train/model_file.h"
#include "train/stored_rows.h"

namespace ps {

namespace {

constexpr std::string_view kKeys = ".keys", kRows = ".rows", kScales = ".scales";

// Reads the rows of a table, some at a time.  One owner thread.
class SavedRows final : public RowCursor {
 public:
  SavedRows(SafetensorsReader& file, const ModelTable& table)
      : rows_(file, {table.name, table.sparse ? 0 : static_cast<int64_t>(table.rows), table.width}),
        width_(table.width) {}

  const RowBlock* next() override {
    constexpr int64_t kFloats = 1 << 18;
    const int64_t size = std::min(rows_.count() - next_, std::max<int64_t>(1, kFloats / width_));
    if (size <= 0) return nullptr;
    block_.keys.resize(static_cast<size_t>(size));
    block_.values.resize(static_cast<size_t>(size * width_));
    rows_.read(next_, block_.keys, block_.values);
    next_ += size;
    return &block_;
  }

 private:
  StoredRows rows_;
  const int64_t width_;
  int64_t next_ = 0;
  RowBlock block_;
};

}  // namespace

// A table is one tensor, or the tensor of keys of a sparse one, whose rows, scales, state and counts are
// found by its name and are skipped here.  All tables are collected before the wanted ones are chosen, so
// that the message for a wrong name lists them.
SavedModel::SavedModel(const std::string& path, const std::vector<std::string>& tables)
    : given_(path), file_(model_file_path(path)), metadata_(file_.metadata()) {
  metadata_.erase("checksum");
  if (is_directory(path)) read_job(join_path(path, kModelJob));
  std::vector<std::string> names;
  for (const TensorInfo& tensor : file_.tensors()) {
    const std::string& name = tensor.name;
    if (name.ends_with(kRows) || name.ends_with(kScales) || name.find(".state.") != std::string::npos)
      continue;
    if (is_counts(name)) continue;
    add_table(tensor);
    names.push_back(tables_.back().name);
  }
  for (const std::string& name : tables) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    fail(Code::kUsage, quote(path), ": no table ", quote(name), did_you_mean(name, names), "; it has ",
         join(names, ", "));
  }
  std::erase_if(tables_, [&](const ModelTable& table) {
    return !tables.empty() && std::find(tables.begin(), tables.end(), table.name) == tables.end();
  });
}

// Reads the job beside the model.  If the data themselves define their slots, the shapes stay open.
void SavedModel::read_job(const std::string& path) {
  if (!exists(path)) return;
  try {
    job_ = Job::spec().parse(parse_json(read_file(path), path), "");
    if (job_->data.format == "auto" || job_->data.format == "records") return;
    specs_ = model_parameters(job_->model, job_->data.schema(job_->data.format), job_->job.seed);
  } catch (const Error& error) {
    throw error.within(path);
  }
}

const ParameterSpec* SavedModel::spec_of(const std::string& name) const {
  const auto found = std::find_if(specs_.begin(), specs_.end(),
                                  [&](const ParameterSpec& spec) { return spec.name == name; });
  return found == specs_.end() ? nullptr : &*found;
}

// Returns true if the tensor has counts of a table's rows, which are stored beside the table.
bool SavedModel::is_counts(const std::string& name) const {
  return std::ranges::any_of(kCountArrays, [&](const CountArray& counts) {
    if (!name.ends_with(counts.suffix)) return false;
    return file_.find(name.substr(0, name.size() - std::string_view(counts.suffix).size()) + ".keys") !=
           nullptr;
  });
}

// A vector is a table of one column.  The number of possible rows of a sparse table is not in the file; it
// is that of the job beside it, or 0, which is unknown.
void SavedModel::add_table(const TensorInfo& tensor) {
  ModelTable table{.name = tensor.name};
  const TensorInfo* rows = &tensor;
  if (tensor.name.ends_with(kKeys)) {
    table.name.resize(table.name.size() - kKeys.size());
    table.sparse = true;
    rows = file_.find(cat(table.name, kRows));
    if (rows == nullptr) fail(Code::kCorrupt, file_.path(), ": no ", quote(cat(table.name, kRows)));
  }
  if (rows->shape.empty() || rows->shape.size() > 2) {
    fail(Code::kUsage, file_.path(), ": ", quote(rows->name), " has ", rows->shape.size(),
         " extents, and a table has rows and columns");
  }
  table.count = static_cast<uint64_t>(rows->shape[0]);
  table.width = rows->shape.size() == 2 ? rows->shape[1] : 1;
  if (table.width < 1) fail(Code::kUsage, file_.path(), ": ", quote(rows->name), " has no columns");
  const ParameterSpec* spec = spec_of(table.name);
  table.rows = !table.sparse ? table.count : spec != nullptr ? static_cast<uint64_t>(spec->rows) : 0;
  tables_.push_back(std::move(table));
}

std::unique_ptr<RowCursor> SavedModel::rows(size_t table) {
  return std::make_unique<SavedRows>(file_, tables_[table]);
}

void SavedModel::untrained_row(size_t table, uint64_t key, float* weights) {
  const ModelTable& wanted = tables_[table];
  const ParameterSpec* spec = spec_of(wanted.name);
  if (spec == nullptr) {
    fail(Code::kUsage, quote(file_.path()), " does not tell how rows of ", quote(wanted.name),
         " begin that were never trained, such as ", key,
         ": give the folder with its job.json, or a checkpoint");
  }
  spec->initializer.fill(key, {weights, static_cast<size_t>(wanted.width)}, best_cpu_level());
}

RowNames SavedModel::names(const std::string& vocabulary) const {
  const bool known = job_ && job_->data.format != "auto" && job_->data.format != "records";
  if (!known) return {};
  std::string words = vocabulary;
  if (words.empty() && exists(join_path(given_, kModelVocabulary)))
    words = join_path(given_, kModelVocabulary);
  return row_names(*job_, job_->data.schema(job_->data.format), words);
}

void SavedModel::verify() {
  for (const TensorInfo& tensor : file_.tensors()) file_.verify(tensor);
}

}  // namespace ps
