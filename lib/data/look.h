// A look at data, to fill in the values that a job leaves open.  Used by ps-train before it makes a model.
#ifndef PS_DATA_LOOK_H_
#define PS_DATA_LOOK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/options.h"

namespace ps {

// The ids and values of one slot.
struct SlotLook {
  SlotSchema schema;
  uint64_t num_keys = 0;
  double sum_of_squares = 0;  // sum over examples of the squared number of keys
  Key largest_key = 0;
  bool all_ones = true;   // every id has the value 1
  bool all_whole = true;  // all values are whole numbers and not negative
  float largest_value = 0;
};

// Returns the standard deviation of the number of keys in an example, divided by its mean; 0 if there are none.
double spread_of_lengths(const SlotLook& slot, int64_t examples);

struct DataLook {
  std::string format;              // never "auto"
  std::vector<SlotOptions> slots;  // for multislot, if the options have none
  std::string label_slot;
  std::optional<CsvOptions> csv;     // for csv and tsv, if the options have not learnt it
  std::vector<std::string> classes;  // for fasttext, if the options have none and labels are words
  std::vector<SlotLook> seen;        // one for each slot of the schema, without the slot of labels
  std::optional<SlotLook> labels;    // the slot of labels, with data.multi_label

  int64_t seen_examples = 0;  // number of examples that were read
  int64_t examples = 0;       // number of all examples; estimated from their size if not all were read
  bool whole = true;          // all examples were read
  bool stream = false;        // standard input or a pipe
  uint64_t bytes = 0;         // stored bytes of the files

  float smallest_label = 0, largest_label = 0;
  bool whole_labels = true;
};

// The first bytes of standard input, which the look reads, and which the reader of the data gets again.
struct InputHead {
  std::shared_ptr<const std::string> bytes;
  bool whole = false;  // there are no further bytes
};

// Reads up to `most` bytes from `descriptor`.  Blocks until they have come or the input has ended.
InputHead read_input_head(int descriptor, size_t most);

struct LookSettings {
  int threads = 1;
  int64_t most_examples = 1 << 20;  // the most examples that are read
  InputHead head;                   // the first bytes of "-"
};

// Reads the data that `options` describe, ignoring their slots, dim and transformations.  If there are no
// slots, those of multislot are inferred from its first lines.  Throws the errors of reading, and kUsage for a
// pipe with a name, which could not be read again.
DataLook look_at_data(const DataOptions& options, const std::vector<std::string>& paths,
                      const LookSettings& settings);

}  // namespace ps

#endif  // PS_DATA_LOOK_H_
