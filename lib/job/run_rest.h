// RunRest: the data that a trainer takes over from others that were lost, where the run goes on without them.  Used by
// run_job, beside the trainer's own share.
#ifndef PS_JOB_RUN_REST_H_
#define PS_JOB_RUN_REST_H_

#include <functional>
#include <memory>

#include "base/log.h"
#include "data/reader.h"
#include "feed/batch_source.h"
#include "job/job.h"
#include "job/task_data.h"
#include "model/network.h"
#include "store/run_control.h"

namespace ps {

// One owner thread.
class RunRest {
 public:
  using MakeSource = std::function<std::unique_ptr<BatchSource>(BatchReader& reader)>;

  // `own` reads the trainer's share.  All outlive this.
  RunRest(const Job& job, TaskData& data, const Network<float>& network, RunControl& run, BatchReader& own,
          MakeSource make_source, Log& log);

  // The trainer begins the pass with this: its share, or, in a pass that it takes up, what it has of the rest.
  BatchSource& first(int pass, BatchSource& share);

  // This comes after that, once all trainers have come so far; null: the pass is to end.
  BatchSource* next(int pass);

 private:
  BatchSource& open(const DataStrand& strand);

  const Job& job_;
  TaskData& data_;
  const Network<float>& network_;
  RunControl& run_;
  const bool reads_once_;
  const MakeSource make_source_;
  Log& log_;
  std::unique_ptr<BatchReader> reader_;
  std::unique_ptr<BatchSource> source_;  // of the reader, or none
};

}  // namespace ps

#endif  // PS_JOB_RUN_REST_H_
