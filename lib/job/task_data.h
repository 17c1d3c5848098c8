// TaskData: the data of a task of ps-train, and its readers.  Used by run_job for training, testing and
// predicting, and by convert_data.
#ifndef PS_JOB_TASK_DATA_H_
#define PS_JOB_TASK_DATA_H_

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/options.h"
#include "data/reader.h"
#include "job/job.h"
#include "job/run_options.h"

namespace ps {

// The share of the data that one of several trainers reads, and its batches first, first + stride and so on.
struct DataShare {
  int rank = 0, trainers = 1;
  int64_t first = 0, stride = 1;
  int64_t accumulate = 1;  // number of batches of the job that are read as one
};

// One owner thread.
class TaskData {
 public:
  // All arguments outlive this.
  TaskData(const Job& job, const RunOptions& options, Log& log);

  // Returns the job's options, with the labels that the task needs, and the words of the initial model.
  const DataOptions& options() const { return data_; }

  // Makes a reader.  Without paths the data come from standard input.  Throws kUsage if that is a terminal, and
  // as BatchReader does.
  std::unique_ptr<BatchReader> make_reader(const std::vector<std::string>& paths, const std::string& shuffle,
                                           int passes, const DataShare& share = {},
                                           DataPart part = DataPart::kAll);

  // The words of text that the first reader has found; null: there is no text.
  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }

 private:
  const Job& job_;
  const RunOptions& options_;
  Log& log_;
  DataOptions data_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace ps

#endif  // PS_JOB_TASK_DATA_H_
