// A look at data, to fill in what a job leaves to them.  Used by ps-train before it makes a model.
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
  double sum_of_squares = 0;  // of the number of keys of each example
  Key largest_key = 0;
  bool all_ones = true;   // every id has the value 1
  bool all_whole = true;  // values are whole numbers, none of them negative
};

// Returns the standard deviation of the number of keys in an example, divided by its mean; 0 when there are none.
double spread_of_lengths(const SlotLook& slot, int64_t examples);

struct DataLook {
  std::string format;              // never "auto"
  std::vector<SlotOptions> slots;  // of multislot, where the options have none
  std::string label_slot;
  std::optional<CsvOptions> csv;     // of csv and tsv, where the options have not learnt it
  std::vector<std::string> classes;  // of fasttext, where the options have none and labels are words
  std::vector<SlotLook> seen;        // by the schema of the data, without the slot of labels
  std::optional<SlotLook> labels;    // that slot, with data.multi_label

  int64_t seen_examples = 0;  // that were looked at
  int64_t examples = 0;       // of all data; where not all were looked at, as many as their size lets expect
  bool whole = true;          // all were looked at
  bool stream = false;        // standard input or a pipe
  uint64_t bytes = 0;         // stored bytes of the files

  float smallest_label = 0, largest_label = 0;
  bool whole_labels = true;
};

// The first bytes of standard input, which are looked at, and read again by whoever reads it then.
struct InputHead {
  std::shared_ptr<const std::string> bytes;
  bool whole = false;  // there are no more
};

// Reads up to `most` bytes from `descriptor`, and blocks until they have come or the input has ended.
InputHead read_input_head(int descriptor, size_t most);

struct LookSettings {
  int threads = 1;
  int64_t most_examples = 1 << 20;  // no more are looked at
  InputHead head;                   // of "-"
};

// Reads the data that `options` describe, of which slots, dim and transformations do not count: the slots of multislot
// are told from its first lines when there are none.  Throws what reading throws, and kUsage for a pipe
// with a name, which could not be read again.
DataLook look_at_data(const DataOptions& options, const std::vector<std::string>& paths,
                      const LookSettings& settings);

}  // namespace ps

#endif  // PS_DATA_LOOK_H_
