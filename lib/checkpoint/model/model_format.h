// ModelFormat: a format of model files.  Each entry of the catalogue has a file of its own.  Used by
// ps-ckpt2model.
#ifndef PS_CHECKPOINT_MODEL_MODEL_FORMAT_H_
#define PS_CHECKPOINT_MODEL_MODEL_FORMAT_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model/model_source.h"
#include "checkpoint/model/row_names.h"

namespace ps {

// Receives the bytes of one file.  One owner thread.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::string_view bytes) = 0;

  // Replaces the first bytes that were written.  Returns false when that is impossible.
  virtual bool replace_head(std::string_view) { return false; }
  virtual bool can_replace_head() const { return false; }

  // Returns false once the reading end of a pipe has been closed; further bytes are dropped.
  virtual bool open() const { return true; }
};

enum class NumberType { kF32, kF16, kBf16, kI8 };

struct ModelSettings {
  NumberType type = NumberType::kF32;
  std::vector<std::string>
      labels;           // liblinear: labels of the classes; empty: 0, 1, …, or 1 and -1 for two classes
  RowNames names = {};  // word2vec, npy: names of rows
  bool counts = false;  // shows, clicks and age of the rows of tables that count them
};

// One of several files that a format makes of each table.
struct TableFile {
  std::string_view suffix;  // suffix of its name, after the table's name
  bool (*has)(const ModelTable& table, const ModelSettings& settings);
  void (*write)(ModelSource& source, const ModelSettings& settings, ByteSink& out);  // source: of one table
};

struct ModelFormat {
  std::string_view name;
  std::string_view help;        // a phrase for --help and the manual
  bool binary = false;          // not for terminals
  bool file_per_table = false;  // each table is a file of its own; the source that write gets has one table
  bool other_types = false;     // it also has types other than f32
  bool holds_state = false;     // it can hold the optimizer's state
  bool holds_counts = false;    // it can hold counts of rows
  void (*write)(ModelSource& source, const ModelSettings& settings, ByteSink& out) = nullptr;
  std::span<const TableFile> table_files = {};  // instead of `write`: these files, always in a folder
};

// Each file of this folder ends in one of these.
extern const ModelFormat kSafetensorsModel, kNpzModel, kNpyModel, kPaddleModel, kLiblinearModel,
    kWord2vecModel, kTextModel;

// Returns the names of all formats, in the order of the manual.
std::vector<std::string> model_format_names();

// Throws kUsage "unknown format …".
const ModelFormat& find_model_format(const std::string& name);

// Throws kData when a weight of a row is not finite.
void check_finite_row(const std::string& table, uint64_t key, std::span<const float> weights);

// Writes the model, whose weights must be finite (else kData), to a file, to a folder of files when the format
// has several of each table, or one and there are several tables, or to standard output ("-").  A file appears
// complete or not at all, unless it is a pipe or a device.  A symbolic link stays, and points to the new file.
void write_model(const ModelFormat& format, ModelSource& source, const ModelSettings& settings,
                 const std::string& output);

}  // namespace ps

#endif  // PS_CHECKPOINT_MODEL_MODEL_FORMAT_H_
