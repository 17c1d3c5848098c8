// TrialRunner: trains a job with several trainers, each a process of ps-train, and a server if the strategy
// has servers, and tests its model.  Used by ps-bench accuracy.
#ifndef PS_BENCH_ACCURACY_TRIAL_RUN_H_
#define PS_BENCH_ACCURACY_TRIAL_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "bench/process/child.h"
#include "config/json.h"

namespace ps {

// A job whose training is measured.
struct AccuracyJob {
  std::string name = {};                  // name in tables
  std::string job = {};                   // file or name of a job, as ps-train takes it
  std::string data = {}, test_data = {};  // files of examples; the trainers share the data
  std::string measure = {};               // name of an evaluator's value; empty: the first value of the job
  std::optional<int64_t> passes = {};     // number of passes; nullopt: the number in the job
  int ranks = 4;
};

// The result of one training.
struct TrialResult {
  std::string measure;
  double value = 0;         // value of the measure over the test data
  int64_t steps = 0;        // number of steps of each trainer
  uint64_t bytes_sent = 0;  // bytes that trainer 0 sent
  double seconds = 0;       // seconds of the whole training
};

// Trains a job once for each call of run().  One owner thread.
class TrialRunner {
 public:
  // `programs` is the folder of ps-train and ps-serve; throws kUnavailable when one of them is not there.
  // Files are written into `folder`, which no other runner uses and which outlives this; runners of one
  // process have different numbers.
  TrialRunner(AccuracyJob job, const std::string& programs, const TemporaryFolder& folder,
              uint32_t number = 0);

  // Throws kUsage, as the first trainer would, when the job cannot be trained with this strategy.
  void check(const Json& strategy) const;

  // Trains once and tests the model.  Throws kUsage when the job has no such measure, kInternal with the last
  // message of a trainer that fails.
  TrialResult run(const Json& strategy, int64_t seed);

 private:
  // The addresses at which the trainers meet each other and the servers.  An empty address is not used.
  struct Addresses {
    std::string peers, servers;
  };
  std::vector<std::string> words(const Json& strategy, int64_t seed, int rank,
                                 const Addresses& addresses) const;
  Addresses start_server(const Json& strategy, int64_t seed, std::optional<RunningChild>& server);
  void run_trainers(const Json& strategy, int64_t seed);
  double find_measure(const Json& test, TrialResult& result) const;

  const AccuracyJob job_;
  const std::string program_, server_program_;
  const TemporaryFolder& folder_;
  const uint32_t number_;
  uint32_t num_runs_ = 0;
};

// Makes a training that anyone can repeat: a job of a dense network, and data for training and test, which
// follow the same law.  ps-datagen of the folder `programs` writes the files into `folder`.
AccuracyJob generated_accuracy_job(const std::string& programs, const TemporaryFolder& folder,
                                   int64_t samples);

}  // namespace ps

#endif  // PS_BENCH_ACCURACY_TRIAL_RUN_H_
