// RunRest: the data that a trainer takes over from lost trainers, if the run goes on without them.  Used by
// run_job, in addition to the trainer's own share.
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

  // `own` reads the trainer's share.  All arguments outlive this.
  RunRest(const Job& job, TaskData& data, const Network<float>& network, RunControl& run, BatchReader& own,
          MakeSource make_source, Log& log);

  // Returns the source with which the trainer begins the pass: its share, or, in a resumed pass, its strand of
  // the rest.
  BatchSource& first(int pass, BatchSource& share);

  // Returns the next source, after all trainers have come to the end of theirs; null: the pass is to end.
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
  std::unique_ptr<BatchSource> source_;  // batches of the reader, or an empty source
};

}  // namespace ps

#endif  // PS_JOB_RUN_REST_H_
