// RunningStrategy: the strategy of a job at work, and the network that it has.  Used by run_job.
#ifndef PS_JOB_START_STRATEGY_H_
#define PS_JOB_START_STRATEGY_H_

#include <memory>
#include <vector>

#include "base/log.h"
#include "data/batch.h"
#include "job/job.h"
#include "job/peer_examples.h"
#include "job/run_options.h"
#include "math/device.h"
#include "membership/server_finder.h"
#include "net/network.h"
#include "net/secure_transport.h"
#include "strategy/strategy.h"

namespace ps {

// The device that computes the model, and the parameters whose layers all run there; null: the processor.
struct ModelPlacement {
  std::shared_ptr<ModelDevice> device;
  const std::vector<bool>* on_devices = nullptr;
};

// One owner thread.
class RunningStrategy {
 public:
  // Connects to the servers, if there are any, telling people whom it waits for.  Throws as
  // StrategyEntry::make, and ServersMoved when a server is elsewhere by now.
  RunningStrategy(const Job& job, const RunOptions& options, const DataSchema& schema,
                  const std::vector<ParameterSpec>& parameters, ServerFinder& servers, Device& device,
                  const ModelPlacement& model, Log& log);

  Strategy& operator*() const { return *strategy_; }
  Strategy* operator->() const { return strategy_.get(); }

  // Reaches the servers.
  Transport& transport() { return *transport_; }

  // Where trainers meet each other over the network, and not just servers: how they give each other examples; else null.
  // Called by all trainers, once; throws as StrategyEntry::make.
  std::shared_ptr<ExampleExchange> exchange_examples(const Job& job, const RunOptions& options,
                                                     const DataSchema& schema);

  // Throws StateLost when the error came of that, because another trainer is gone, and all go back to a checkpoint.
  void note_error(const Error& error);

  // That went to others as examples.
  uint64_t example_bytes_sent() const { return examples_ ? examples_->bytes_sent() : 0; }

  // To be called at least every few seconds: lets servers know that this process lives.
  void keep_alive();

 private:
  std::unique_ptr<Transport> network_;  // null: the process is alone
  // In front of it, to servers and to other trainers; null: there are none.
  std::unique_ptr<SecureTransport> transport_, peer_transport_;
  std::unique_ptr<Strategy> strategy_;
  std::shared_ptr<PeerExamples> examples_;  // null: none are exchanged
};

// How the servers are reached, and what they are told.
RemoteOptions remote_options(const Job& job, const RunOptions& options, const DataSchema& schema,
                             ServerFinder& servers, Log& log);

// Throws kUsage unless this process can take part in the run that job and options ask for.
void check_part(const Job& job, const RunOptions& options);

// In a line each, the rows of a job that its device would get, for --dry-run.  Throws as plan_caches.
std::string describe_device(const Job& job, const std::vector<ParameterSpec>& parameters);

// A RunningStrategy, with servers that are looked for again as long as they move.
std::unique_ptr<RunningStrategy> start_strategy(const Job& job, const RunOptions& options,
                                                const DataSchema& schema,
                                                const std::vector<ParameterSpec>& parameters,
                                                ServerFinder& servers, Device& device,
                                                const ModelPlacement& model, Log& log);

}  // namespace ps

#endif  // PS_JOB_START_STRATEGY_H_
