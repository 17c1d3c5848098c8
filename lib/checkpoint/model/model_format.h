// ModelFormat: one format of model files.  The catalogue has a file for each; used by ps-ckpt2model.
#ifndef PS_CHECKPOINT_MODEL_MODEL_FORMAT_H_
#define PS_CHECKPOINT_MODEL_MODEL_FORMAT_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model/model_source.h"

namespace ps {

// Where the bytes of one file go.  One owner thread.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::string_view bytes) = 0;

  // Puts bytes in place of the first ones that were written.  False when they cannot be taken back.
  virtual bool replace_head(std::string_view) { return false; }
  virtual bool can_replace_head() const { return false; }

  // False once nobody reads any more: what is still written is dropped.
  virtual bool open() const { return true; }
};

enum class NumberType { kF32, kF16, kBf16, kI8 };

struct ModelSettings {
  NumberType type = NumberType::kF32;
  std::vector<std::string>
      labels;  // liblinear: of the classes; empty: as many as there are, from 0 on, or 1 and -1
};

struct ModelFormat {
  std::string_view name;
  std::string_view help;        // a phrase for --help and the manual
  bool binary = false;          // not for terminals
  bool file_per_table = false;  // each table is a file of its own; the source that write gets has one table
  bool other_types = false;     // than f32
  bool holds_state = false;     // of the optimizer
  void (*write)(ModelSource& source, const ModelSettings& settings, ByteSink& out);
};

// Each is the last line of a file of this folder.
extern const ModelFormat kSafetensorsModel, kNpzModel, kPaddleModel, kLiblinearModel, kTextModel;

// Every format, in the order of the manual.
std::span<const ModelFormat* const> model_format_catalog();

std::vector<std::string> model_format_names();

// Throws kUsage "unknown format …".
const ModelFormat& find_model_format(const std::string& name);

// Throws kData when a weight of a row is infinite or no number.
void check_finite_row(const std::string& table, uint64_t key, std::span<const float> weights);

// Writes the model, whose weights must be finite (else kData), to a file, to a folder of files when the format has one for each table and there are
// several, or to standard output ("-").  A file appears whole or not at all, unless it is a pipe or a device;
// a link goes on pointing to it.
void write_model(const ModelFormat& format, ModelSource& source, const ModelSettings& settings,
                 const std::string& output);

}  // namespace ps

#endif  // PS_CHECKPOINT_MODEL_MODEL_FORMAT_H_
