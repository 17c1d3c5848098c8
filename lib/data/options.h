// The "data" section of the job file: the files to read, and how their examples become batches.
#ifndef PS_DATA_OPTIONS_H_
#define PS_DATA_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fwd.h"
#include "data/batch.h"
#include "data/cross.h"
#include "data/csv/options.h"
#include "data/text_features.h"

namespace ps {

inline constexpr int64_t kMaxDenseWidth = int64_t{1} << 24;  // 64 MiB an example
inline constexpr int64_t kMaxDim = int64_t{1} << 62;

// One slot of the schema in the job file.
struct SlotOptions {
  std::string name;
  std::string type = "sparse";  // sparse | dense
  int64_t dim = 0;              // dense: width; sparse: ids below it, 0: any

  static const ObjectSpec<SlotOptions>& spec();
};

// Options of the format `text`.  Words get ids by frequency.  The features of a word are the `context` words
// before it, and the `context_after` words behind it.
struct TextOptions {
  int context = 3;              // words before the target
  int context_after = 0;        // words behind the target
  bool shrink_windows = false;  // the reach of each target's context is drawn at random
  double subsample = 0;         // words with a larger share of all words are left out at random; 0: none are
  int64_t vocabulary_size = 10000;  // most frequent words of the training files; id 0 stands for all others
  std::string vocabulary;  // a file of words, one a line with its count; empty: counted from the files

  static const ObjectSpec<TextOptions>& spec();
};

// Options of the format `fasttext`.
struct FastTextOptions : TextFeatureOptions {
  std::string label_prefix = "__label__";
  // Words of the labels, in the order of the classes; empty: labels are numbers.
  std::vector<std::string> classes;

  static const ObjectSpec<FastTextOptions>& spec();
};

// The use of labels by a task.  It is not a key of the job file: the task decides.
enum class LabelUse {
  kKept,     // labels of the data; 0 if there are none
  kNeeded,   // data without labels are refused
  kIgnored,  // labels may be invalid; data in which labels cannot be told from features are refused
};

// The part of the data that a reader gives, if some of them are kept for validation.  It is not a key of the
// job file: the task decides.
enum class DataPart { kAll, kTraining, kValidation };

// The slot of labels of data with multi_label.
inline constexpr std::string_view kLabelsSlot = "labels";

struct DataOptions {
  std::string format = "auto";
  std::vector<std::string> files;  // files, lists of files (*.list), folders, or "-"
  std::vector<std::string> test_files;
  int64_t dim = 0;                 // dim of the single slot "features"; 0: any 64-bit id
  bool dense = false;              // the single slot is read as dim dense values
  std::vector<SlotOptions> slots;  // multislot: the slots of a line, in order
  std::string label_slot;          // multislot: the slot that is the label; empty: the last one
  int index_base = 0;              // libsvm: the lowest id, 0 or 1
  TextOptions text;
  CsvOptions csv;
  FastTextOptions fasttext;
  std::vector<Cross> cross;   // slots whose ids are combinations of those of other slots
  double validation = 0;      // part of the lines that is kept for validation
  std::string validation_by;  // column or slot whose value decides, in place of the line; empty: none
  // values of that column in the validation data, instead of a part
  std::vector<std::string> validation_values;
  double negative_rate = 1;  // part of the negative examples that training uses
  // Seed of that part, and of the drawing of words.  It is not a key: the seed of the job is used.
  uint64_t sampling_seed = 0;
  DataPart part = DataPart::kAll;
  // The number of the part of the data that is used for validation; the parts of all folds do not overlap.  It
  // is not a key of the job file: ps-train sets it.
  int fold = 0;
  bool multi_label = false;    // examples have any number of labels, in a slot of their own
  std::optional<bool> labels;  // examples have labels, or have none; nullopt: the format decides
  LabelUse label_use = LabelUse::kKept;
  int64_t batch_size = 200;
  // Batch size of all trainers together; the job computes batch_size from it.
  std::optional<int64_t> global_batch_size;
  std::string shuffle = "none";     // none | window | full | global
  int64_t shuffle_window = 100000;  // examples
  bool unit_length = false;         // rows scaled to L2 norm 1
  bool log_counts = false;          // value v becomes sign(v) log2(1 + |v|); 1 stays 1
  int hash_bits = 0;                // ids hashed into 2^hash_bits; 0: as they are
  int64_t max_bad_lines = 0;        // bad lines are skipped and counted, up to this many a pass
  std::string cache = "auto";  // auto | memory | none: later passes are served from memory, or read again
  std::string memory_limit;    // for examples kept in memory, e.g. "2G"; empty: a part of free memory

  static const ObjectSpec<DataOptions>& spec();

  // Returns the schema of batches that are read with these options from a format other than "auto".  Files of
  // `records` have a schema of their own; for them it is the schema that the options lead to expect.  Throws
  // kUsage when they contradict each other.
  DataSchema schema(const std::string& resolved_format) const;

  // The schemas before ids are hashed; parsers check ids against them.  With multi_label the last slot is that
  // of labels.
  DataSchema single_slot() const;   // "features"
  DataSchema listed_slots() const;  // the slots, less the label

  // With multi_label, appends the slot of labels.  They are below num_classes, or any number if that is 0.  Without it,
  // appends a slot for each column that is a label of its own; an example has id 0 there with its label as the value,
  // or no id.
  DataSchema with_labels(DataSchema schema, size_t num_classes = 0,
                         const std::vector<std::string>& columns = {}) const;

  // Returns true if csv.labels are labels of their own, each for a cost that names it.
  bool has_own_labels() const { return !multi_label && !csv.labels.empty(); }

  // Returns true for a slot of labels, which does not change as the slots of features do.
  bool is_label(const SlotSchema& slot) const;

  // Returns true for the slot that multi_label makes.
  bool has_labels(const SlotSchema& slot) const { return multi_label && slot.name == kLabelsSlot; }
  size_t label_index() const;  // index of the label among the slots

  // Returns true if the order is a permutation, for which all examples must be in memory.
  bool shuffles_all() const { return shuffle == "full" || shuffle == "global"; }

  bool labelled() const { return labels.value_or(true); }

  // Returns true if negative examples are left out, which happens only in training data.
  bool samples_negatives() const { return negative_rate < 1 && part == DataPart::kTraining; }

  // Returns true if contexts of plain text are drawn, which happens only in training data.
  bool samples_words() const {
    return (text.shrink_windows || text.subsample > 0) && part == DataPart::kTraining;
  }

  // Returns true if a part of the training data is kept for validation.
  bool validates() const { return validation > 0 || !validation_values.empty(); }
};

}  // namespace ps

#endif  // PS_DATA_OPTIONS_H_
