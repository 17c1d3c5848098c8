#include "checkpoint/model/imported_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "base/error.h"
#include "base/file.h"

namespace ps {

namespace {

constexpr std::string_view kIdsSuffix = ".keys", kRowsSuffix = ".rows", kTransposedSuffix = ".T";

std::string without(const std::string& name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

// Returns the two names of THEIRS=OURS.  Throws kUsage, naming `where`, if one of them is empty.
NamePair parse_pair(std::string_view text, const std::string& where) {
  const size_t equals = text.find('=');
  if (equals != std::string_view::npos && equals > 0 && equals + 1 < text.size())
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  fail(Code::kUsage, where, ": ", quote(text), " is not THEIRS=OURS");
}

std::vector<std::string> names_of(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  return names;
}

}  // namespace

// An entry with an equals sign is a pair, and any other is the path of a file with a pair a line, whose
// number the messages name.
std::vector<NamePair> parse_name_pairs(const std::vector<std::string>& entries) {
  std::vector<NamePair> pairs;
  for (const std::string& entry : entries) {
    if (entry.find('=') != std::string::npos) {
      pairs.push_back(parse_pair(entry, "--map"));
      continue;
    }
    const std::string text = read_file(entry);
    size_t number = 0;
    for (std::string_view line : split(text, '\n')) {
      ++number;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty() && line[0] != '#') pairs.push_back(parse_pair(line, cat(entry, ":", number)));
    }
  }
  return pairs;
}

// A tensor as a matrix [rows, cols]: the tensor of the file, or its transpose.
struct ImportedModel::Tensor {
  const TensorInfo* info;
  bool transposed;
  uint64_t rows;
  int64_t cols;
};

// The ids of a table, ascending, and where the row of each stands; `positions` is empty where they ascend in the file.
struct ImportedModel::Keys {
  std::vector<uint64_t> ids;
  std::vector<uint32_t> positions;
};

struct ImportedModel::Source {
  Tensor tensor;
  std::shared_ptr<const Keys> keys;  // null: the row numbers
};

// Reads rows some at a time, in the order of their keys.  A transposed tensor is held as a whole.
class ImportedModel::Rows final : public RowCursor {
 public:
  Rows(SafetensorsReader& file, const ModelTable& table, const Source& source)
      : file_(file), table_(table), source_(source) {
    if (!source.tensor.transposed) return;
    whole_.resize(static_cast<size_t>(source.tensor.info->elements()));
    file_.read_floats(*source.tensor.info, 0, whole_);
  }

  // A block has about kFloats values, but at least one row.  read_run fills it in runs of rows that are
  // neighbours in the file, each of which takes one read.
  const RowBlock* next() override {
    constexpr uint64_t kFloats = 1 << 18;
    const uint64_t left = table_.count - next_;
    const uint64_t size =
        std::min(left, std::max<uint64_t>(1, kFloats / static_cast<uint64_t>(table_.width)));
    if (size == 0) return nullptr;
    block_.keys.resize(size);
    block_.values.resize(size * static_cast<size_t>(table_.width));
    for (uint64_t i = 0; i < size;) i += read_run(i, size);
    check_finite();
    next_ += size;
    return &block_;
  }

 private:
  uint64_t position_of(uint64_t number) const {
    return source_.keys && !source_.keys->positions.empty() ? source_.keys->positions[number] : number;
  }

  // Reads row `i` of the block, and those after it that follow it in the file too.  Returns their number.
  uint64_t read_run(uint64_t i, uint64_t size) {
    const uint64_t begin = position_of(next_ + i);
    uint64_t count = 0;
    for (; i + count < size && position_of(next_ + i + count) == begin + count; ++count) {
      const uint64_t number = next_ + i + count;
      block_.keys[i + count] = source_.keys ? source_.keys->ids[number] : number;
    }
    const size_t width = static_cast<size_t>(table_.width);
    read_rows(begin, std::span(block_.values).subspan(i * width, count * width));
    return count;
  }

  //   out [rows of the run, width] <- rows begin, begin + 1, … of the matrix
  // The transpose of a tensor [width, rows] has value [row, col] at col x rows + row.
  void read_rows(uint64_t begin, std::span<float> out) {
    const size_t width = static_cast<size_t>(table_.width);
    if (!source_.tensor.transposed) {
      return file_.read_floats(*source_.tensor.info, static_cast<int64_t>(begin * width), out);
    }
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = whole_[i % width * source_.tensor.rows + begin + i / width];
  }

  void check_finite() const {
    const auto bad = std::ranges::find_if(block_.values, [](float weight) { return !std::isfinite(weight); });
    if (bad == block_.values.end()) return;
    const size_t width = static_cast<size_t>(table_.width);
    const size_t at = static_cast<size_t>(bad - block_.values.begin());
    // The message names the place in the file's tensor, which is not transposed, and the row by its key.
    const uint64_t row = position_of(next_ + at / width), col = at % width;
    const bool transposed = source_.tensor.transposed;
    fail(Code::kData, file_.path(), ": tensor ", quote(source_.tensor.info->name), " has ", *bad, " at [",
         transposed ? col : row, ", ", transposed ? row : col, "], in row ", block_.keys[at / width], " of ",
         quote(table_.name), ": weights must be finite");
  }

  SafetensorsReader& file_;
  const ModelTable table_;
  const Source source_;
  std::vector<float> whole_;  // the values of a transposed tensor, in the order of the file
  uint64_t next_ = 0;
  RowBlock block_;
};

// Checksums that this toolkit has written hold for the file only.  They are dropped from the metadata of
// the model, and are checked here for each tensor that is used, before any row is given out.
ImportedModel::ImportedModel(const std::string& path, const std::vector<NamePair>& pairs)
    : file_(path), metadata_(file_.metadata()) {
  const bool summed = metadata_.erase("checksum") > 0;
  metadata_["format"] = "pskit";
  add_tables(pairs);
  for (const Source& source : sources_) {
    if (summed) file_.verify(*source.tensor.info);
  }
}

ImportedModel::~ImportedModel() = default;

const TensorInfo& ImportedModel::use(const std::string& theirs) {
  const TensorInfo* info = file_.find(theirs);
  if (info == nullptr) {
    const std::vector<std::string> names = names_of(file_.tensors());
    fail(Code::kUsage, quote(file_.path()), ": no tensor ", quote(theirs), did_you_mean(theirs, names),
         "; it has ", join(names, ", "));
  }
  used_.insert(theirs);
  return *info;
}

// The exact name comes first: a tensor may be called "x.T".
ImportedModel::Tensor ImportedModel::use_matrix(const std::string& theirs) {
  const bool transposed = theirs.ends_with(kTransposedSuffix) && file_.find(theirs) == nullptr;
  const TensorInfo& info = use(transposed ? without(theirs, kTransposedSuffix) : theirs);
  const std::vector<int64_t>& shape = info.shape;
  if (shape.empty() || shape.size() > 2 || (transposed && shape.size() != 2)) {
    fail(Code::kUsage, file_.path(), ": ", quote(info.name), " has ", shape.size(), " extents, and ",
         transposed ? "a transpose has two" : "a table has rows and columns");
  }
  const int64_t second = shape.size() == 2 ? shape[1] : 1;
  if (transposed) return {&info, true, static_cast<uint64_t>(second), shape[0]};
  return {&info, false, static_cast<uint64_t>(shape[0]), second};
}

// Goes through the pairs in the order in which they were given.  A name with the suffix of ids or of rows
// is half of a sparse table and needs the other half; the table is added at its rows, so that it is added
// once.  Any other name is a dense table.
void ImportedModel::add_tables(const std::vector<NamePair>& pairs) {
  std::map<std::string, std::string> theirs;  // by our name: the name in the file
  for (const NamePair& pair : pairs) {
    if (!theirs.emplace(pair.ours, pair.theirs).second)
      fail(Code::kUsage, "--map gives ", quote(pair.ours), " two tensors");
  }
  for (const NamePair& pair : pairs) {
    const std::string name = without(without(pair.ours, kIdsSuffix), kRowsSuffix);
    if (name == pair.ours) {
      add_table(name, use_matrix(pair.theirs), nullptr);
      continue;
    }
    const auto rows = theirs.find(cat(name, kRowsSuffix)), keys = theirs.find(cat(name, kIdsSuffix));
    if (rows == theirs.end() || keys == theirs.end() || theirs.contains(name)) {
      fail(Code::kUsage, "--map: a sparse parameter has both ", quote(cat(name, kIdsSuffix)), " and ",
           quote(cat(name, kRowsSuffix)), ", and no tensor of its own name");
    }
    if (pair.ours.ends_with(kRowsSuffix)) add_table(name, use_matrix(rows->second), &use(keys->second));
  }
}

// A sparse table takes its keys from the tensor of ids, which must be as many as the rows of the matrix;
// its number of rows is then unknown, 0.
void ImportedModel::add_table(const std::string& name, const Tensor& rows, const TensorInfo* keys) {
  if (rows.cols < 1) fail(Code::kUsage, file_.path(), ": ", quote(rows.info->name), " has no columns");
  Source source{rows, keys != nullptr ? read_keys(*keys) : nullptr};
  if (keys != nullptr && source.keys->ids.size() != rows.rows) {
    fail(Code::kUsage, file_.path(), ": ", quote(keys->name), " has ", source.keys->ids.size(), " ids, ",
         quote(rows.info->name), " ", rows.rows, " rows");
  }
  tables_.push_back({.name = name,
                     .sparse = keys != nullptr,
                     .rows = keys != nullptr ? 0 : rows.rows,
                     .count = rows.rows,
                     .width = rows.cols,
                     .state_arrays = 0,
                     .counted = false});
  sources_.push_back(std::move(source));
}

// Reads ids of this type, of which those below 0 are taken bit by bit if they have 64 bits.
template <class Id>
static std::vector<uint64_t> read_ids(SafetensorsReader& file, const TensorInfo& tensor) {
  std::vector<Id> stored(static_cast<size_t>(tensor.elements()));
  file.read<Id>(tensor, 0, stored);
  if constexpr (std::is_same_v<Id, int32_t>) {
    const auto negative = std::ranges::find_if(stored, [](Id id) { return id < 0; });
    if (negative != stored.end()) {
      fail(Code::kUsage, file.path(), ": ", quote(tensor.name), " has the id ", *negative, " at ",
           negative - stored.begin(), ", and ids of 32 bits are not below 0");
    }
  }
  return {stored.begin(), stored.end()};
}

// Reads all ids of a table at once, since their order must be known before the first row is given out.
// Positions have 32 bits, which bounds the number of ids.
std::shared_ptr<const ImportedModel::Keys> ImportedModel::read_keys(const TensorInfo& tensor) {
  auto keys = std::make_shared<Keys>();
  if (tensor.dtype == "I64") {
    keys->ids = read_ids<int64_t>(file_, tensor);
  } else if (tensor.dtype == "U64") {
    keys->ids = read_ids<uint64_t>(file_, tensor);
  } else if (tensor.dtype == "I32") {
    keys->ids = read_ids<int32_t>(file_, tensor);
  } else if (tensor.dtype == "U32") {
    keys->ids = read_ids<uint32_t>(file_, tensor);
  } else {
    fail(Code::kUsage, file_.path(), ": ", quote(tensor.name), " is ", tensor.dtype,
         ", expected ids: I64, U64, I32 or U32");
  }
  if (keys->ids.size() > UINT32_MAX)
    fail(Code::kUsage, file_.path(), ": ", quote(tensor.name), " has more than 2^32 ids");
  // Sorts the positions by id, and then gives the ids the same order: row number n of the table stands at
  // positions[n] of the file.
  if (!std::ranges::is_sorted(keys->ids)) {
    const std::vector<uint64_t> unsorted = keys->ids;
    keys->positions.resize(unsorted.size());
    std::iota(keys->positions.begin(), keys->positions.end(), 0u);
    std::ranges::stable_sort(keys->positions, {}, [&](uint32_t position) { return unsorted[position]; });
    std::ranges::transform(keys->positions, keys->ids.begin(),
                           [&](uint32_t position) { return unsorted[position]; });
  }
  const auto twice = std::ranges::adjacent_find(keys->ids);
  if (twice == keys->ids.end()) return keys;
  fail(Code::kData, file_.path(), ": ", quote(tensor.name), " has the id ", *twice, " twice");
}

std::unique_ptr<RowCursor> ImportedModel::rows(size_t table) {
  return std::make_unique<Rows>(file_, tables_[table], sources_[table]);
}

void ImportedModel::untrained_row(size_t table, uint64_t key, float*) {
  fail(Code::kUsage, quote(file_.path()), " does not tell how rows of ", quote(tables_[table].name),
       " begin that were never trained, such as ", key);
}

std::vector<std::string> ImportedModel::left_out() const {
  std::vector<std::string> names = names_of(file_.tensors());
  std::erase_if(names, [&](const std::string& name) { return used_.contains(name); });
  return names;
}

}  // namespace ps
