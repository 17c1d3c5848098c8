// TaskData: the data of a task of ps-train, and the readers of them.  Used by run_job for training, testing and predicting,
// and by convert_data.
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

// The share of the data that one of several trainers reads, and of its batches first, first + stride and so on.
struct DataShare {
  int rank = 0, trainers = 1;
  int64_t first = 0, stride = 1;
  int64_t accumulate = 1;  // batches of the job that are read as one
};

// One owner thread.
class TaskData {
 public:
  // All outlive this.
  TaskData(const Job& job, const RunOptions& options, Log& log);

  // The job's, with the labels that the task needs, and the words of the model that it begins with.
  const DataOptions& options() const { return data_; }

  // Without paths the data come from standard input.  Throws kUsage when nobody pipes them there, and as BatchReader.
  std::unique_ptr<BatchReader> make_reader(const std::vector<std::string>& paths, const std::string& shuffle,
                                           int passes, const DataShare& share = {},
                                           DataPart part = DataPart::kAll);

  // The words of text, as the first reader has found them; null: there is no text.
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
