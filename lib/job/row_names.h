// The names of a model's rows, by the job that it is of: the words of a text, the columns and words of a table.  Used by
// ps-ckpt2model.
#ifndef PS_JOB_ROW_NAMES_H_
#define PS_JOB_ROW_NAMES_H_

#include <string>

#include "checkpoint/model/row_names.h"
#include "data/batch.h"
#include "job/job.h"

namespace ps {

// Names of the rows that belong to ids or values of slots:
//   of text, the words of the file `vocabulary`, "<other>" for id 0; without a file there are none
//   of a table (csv, tsv, jsonl), "column=word", "column=<other>", "column=<missing>", "25<=column<30", and "column" of
//   numbers; words that are hashed and were too many to be listed have no names, but are found by "column=word"
// None where ids are hashed (data.hash_bits), and of other formats.  Throws kUsage when the file is not one of words.
RowNames row_names(const Job& job, const DataSchema& schema, const std::string& vocabulary);

}  // namespace ps

#endif  // PS_JOB_ROW_NAMES_H_
