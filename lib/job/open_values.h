// Open values of a job file: keys with the value "auto", which are filled in from a look at the data.  Used by
// load_job; recipes consist mostly of them.
#ifndef PS_JOB_OPEN_VALUES_H_
#define PS_JOB_OPEN_VALUES_H_

#include <string>
#include <vector>

#include "config/json.h"
#include "data/look.h"

namespace ps {

// Returns the paths of the keys that are open, such as "data.dim".
std::vector<std::string> open_values(const Json& document);

// Returns the data section without its open values.  Throws kUsage.
DataOptions known_data_options(const Json& document);

// Sets every open key of the document to the value that follows from the data:
//   data.format          the format of the data, if slots are open
//   data.slots           slot1, slot2, … and label for multislot; none for other formats
//   data.csv             the columns of a table, and what was learnt about them; left out for other formats
//   data.dim             one more than the largest id
//   data.batch_size      the power of 2 next to a 200th of the examples, from 32 to 1024
//   data.shuffle         full for files of up to 256 MiB, else window
//   data.unit_length     true for one sparse slot with whole numbers, as words in texts of different lengths
//   data.log_counts      true for criteo, whose integers are counts
//   train.passes         such that a million examples are trained on, but at most 10, or 20 for a linear model of one output
//   optimizer.schedule.period    train.passes
//   size of a layer      the number of classes: one more than the largest label
// Throws kUsage "data.dim: …" for a value that does not follow from these data.
void fill_in(Json& document, const DataLook& look);

}  // namespace ps

#endif  // PS_JOB_OPEN_VALUES_H_
