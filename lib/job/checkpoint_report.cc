#include "job/checkpoint_report.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "config/json.h"
#include "ps/server/run_state.h"

namespace ps {

namespace {

// Compares the rows of one table in two models.  Both cursors ascend, so that one pass over both finds the rows
// in both and in one alone.  One owner thread.
class TableComparison {
 public:
  explicit TableComparison(int64_t width) : width_(static_cast<size_t>(width)) {}

  void compare(RowCursor& a, RowCursor& b) {
    RowStepper left(&a), right(&b);
    while (left.valid() || right.valid()) {
      if (!right.valid() || (left.valid() && left.key() < right.key())) {
        ++only_a_;
        left.advance();
      } else if (!left.valid() || right.key() < left.key()) {
        ++only_b_;
        right.advance();
      } else {
        compare_row(left, right);
        left.advance();
        right.advance();
      }
    }
  }

  Json json(const std::string& name) const {
    Json out = {{"table", name},     {"both", both_},           {"only_a", only_a_},
                {"only_b", only_b_}, {"different", different_}, {"largest", largest_}};
    if (different_ > 0) out.update({{"key", key_}, {"column", column_}});
    return out;
  }

 private:
  void compare_row(const RowStepper& a, const RowStepper& b) {
    const float* x = a.block().values.data() + a.index() * width_;
    const float* y = b.block().values.data() + b.index() * width_;
    ++both_;
    bool same = true;
    for (size_t i = 0; i < width_; ++i) {
      if (x[i] == y[i]) continue;
      const double difference = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
      const bool first = same && different_ == 0;
      if (same) ++different_;
      same = false;
      if (difference > largest_ || first) {
        largest_ = difference;
        key_ = a.key();
        column_ = i;
      }
    }
  }

  const size_t width_;
  uint64_t both_ = 0, only_a_ = 0, only_b_ = 0, different_ = 0, key_ = 0;
  size_t column_ = 0;
  double largest_ = 0;
};

// Returns the table of this name, and sets `index` to its place; null if there is none.
const ModelTable* find_table(const ModelSource& source, const std::string& name, size_t& index) {
  for (index = 0; index < source.tables().size(); ++index) {
    if (source.tables()[index].name == name) return &source.tables()[index];
  }
  return nullptr;
}

// Compares two tables of one name.  Rows of different widths have nothing in common, so only the widths are
// told.
Json compare_table(ModelSource& a, size_t i, ModelSource& b, size_t j) {
  const ModelTable &left = a.tables()[i], &right = b.tables()[j];
  if (left.width != right.width)
    return {{"table", left.name}, {"width_a", left.width}, {"width_b", right.width}};
  TableComparison comparison(left.width);
  comparison.compare(*a.rows(i), *b.rows(j));
  return comparison.json(left.name);
}

uint64_t count(const Json& table, const char* key) {
  return table.contains(key) ? table[key].get<uint64_t>() : 0;
}

}  // namespace

// A folder with a manifest is a checkpoint itself.  In a folder of several, the file LATEST names the
// newest; the largest step is taken only if that file is missing.
std::string checkpoint_folder(const std::string& path) {
  if (exists(join_path(path, kManifestFile))) return path;
  if (const std::optional<Latest> latest = read_latest(path)) return join_path(path, latest->folder);
  const std::vector<int64_t> steps = checkpoint_steps(path);
  if (!steps.empty()) return join_path(path, step_folder(steps.back()));
  fail(Code::kUsage, quote(path), " is no checkpoint, and holds none");
}

bool is_checkpoint(const std::string& path) {
  return is_directory(path) && (exists(join_path(path, kManifestFile)) ||
                                exists(join_path(path, kLatestFile)) || !checkpoint_steps(path).empty());
}

// Sums up the files of the manifest, and reads how far the run of servers had come; no rows are read.
Json describe_checkpoint(const CheckpointReader& reader) {
  const Manifest& manifest = reader.manifest();
  Json out = {{"folder", reader.folder()}, {"step", manifest.step}, {"generation", manifest.generation}};
  if (manifest.base) out["base"] = manifest.base->folder;
  uint64_t bytes = 0;
  for (const FileEntry& file : manifest.files) bytes += file.sum.bytes;
  out["bytes"] = bytes;
  out["files"] = manifest.files.size();
  out["tables"] = Json::array();
  for (const TableLayout& layout : manifest.tables) {
    uint64_t rows = 0, gone = 0;
    for (const FileEntry& file : manifest.files) {
      for (const SectionEntry& section : file.sections) {
        if (section.table != layout.name) continue;
        rows += section.rows;
        gone += section.gone;
      }
    }
    out["tables"].push_back({{"name", layout.name},
                             {"kind", layout.sparse ? "sparse" : "dense"},
                             {"rows", rows},
                             {"gone", gone},
                             {"width", layout.width},
                             {"state_arrays", layout.state_arrays},
                             {"stamped", layout.stamped},
                             {"statistics", layout.statistics}});
  }
  out["states"] = reader.states();
  if (reader.has_state(kRunState)) {
    const std::string state = reader.state(kRunState);
    ByteReader in(state);
    const RunState run = RunState::load(in);
    out["passes"] = run.pass;
    out["batches"] = Json::array();
    for (const RunState::Progress& trainer : run.trainers) out["batches"].push_back(trainer.batches);
  }
  return out;
}

std::string checkpoint_text(const Json& description) {
  std::string out =
      cat(description["folder"].get<std::string>(), ": step ", description["step"].get<int64_t>(), ", ",
          human_bytes(count(description, "bytes")), " in ", count(description, "files"), " files");
  if (description.contains("base")) {
    out += cat(", what changed since ", description["base"].get<std::string>());
  }
  out += '\n';
  if (description.contains("batches")) {
    std::vector<std::string> batches;
    for (const Json& each : description["batches"]) batches.push_back(std::to_string(each.get<uint64_t>()));
    out += cat("  ", count(description, "passes"),
               " passes ended; batches of each trainer: ", join(batches, " "), "\n");
  }
  for (const Json& table : description["tables"]) {
    out += cat("  ", table["name"].get<std::string>(), ": ", table["kind"].get<std::string>(), ", ",
               count(table, "rows"), " rows of ", count(table, "width"), " floats");
    if (count(table, "state_arrays") > 0) out += cat(", ", count(table, "state_arrays"), " state arrays");
    if (table["stamped"].get<bool>()) out += ", stamps";
    if (count(table, "gone") > 0) out += cat(", ", count(table, "gone"), " rows gone");
    out += '\n';
  }
  return out;
}

// Compares the tables of `a` with those of the same name in `b`, then adds the tables that only `b` has.
Json compare_models(ModelSource& a, ModelSource& b) {
  Json out = Json::array();
  size_t other = 0;
  for (size_t i = 0; i < a.tables().size(); ++i) {
    const ModelTable& table = a.tables()[i];
    const bool both = find_table(b, table.name, other) != nullptr;
    out.push_back(both ? compare_table(a, i, b, other)
                       : Json{{"table", table.name}, {"only_a", table.count}});
  }
  for (const ModelTable& table : b.tables()) {
    if (find_table(a, table.name, other) == nullptr) {
      out.push_back({{"table", table.name}, {"only_b", table.count}});
    }
  }
  return out;
}

std::string comparison_text(const Json& comparison) {
  std::string out;
  for (const Json& table : comparison) {
    out += table["table"].get<std::string>() + ": ";
    if (table.contains("width_a")) {
      out += cat("rows of ", count(table, "width_a"), " floats against ", count(table, "width_b"), "\n");
      continue;
    }
    out += cat(count(table, "both"), " rows in both, ", count(table, "different"), " different");
    if (count(table, "different") > 0) {
      out += cat(" (largest difference ", table["largest"].get<double>(), ", key ", count(table, "key"),
                 " column ", count(table, "column"), ")");
    }
    out += cat(", ", count(table, "only_a"), " only in the first, ", count(table, "only_b"),
               " only in the second\n");
  }
  return out;
}

}  // namespace ps
