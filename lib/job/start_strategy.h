// RunningStrategy: the running strategy of a job, and its network.  Used by run_job.
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

// The device that computes the model, and for each parameter whether all layers that use it run there.  Null:
// the processor computes the model.
struct ModelPlacement {
  std::shared_ptr<ModelDevice> device;
  const std::vector<bool>* on_devices = nullptr;
};

// One owner thread.
class RunningStrategy {
 public:
  // Connects to the servers, if there are any, and logs which of them it waits for.  Throws as
  // StrategyEntry::make does, and ServersMoved if a server has moved to another address.
  RunningStrategy(const Job& job, const RunOptions& options, const DataSchema& schema,
                  const std::vector<ParameterSpec>& parameters, ServerFinder& servers, Device& device,
                  const ModelPlacement& model, Log& log);

  Strategy& operator*() const { return *strategy_; }
  Strategy* operator->() const { return strategy_.get(); }

  // The transport to the servers.
  Transport& transport() { return *transport_; }

  // Returns the exchange of examples, if trainers meet each other over the network and not only at servers;
  // else null.  All trainers call it once.  Throws as StrategyEntry::make does.
  std::shared_ptr<ExampleExchange> exchange_examples(const Job& job, const RunOptions& options,
                                                     const DataSchema& schema);

  // Throws StateLost if the error came from the exchange of examples because another trainer is gone; all then
  // go back to a checkpoint.
  void note_error(const Error& error);

  // Returns the number of bytes of examples sent to other trainers.
  uint64_t example_bytes_sent() const { return examples_ ? examples_->bytes_sent() : 0; }

  // Must be called at least every few seconds: tells the servers that this process lives.
  void keep_alive();

 private:
  // The network, which servers and other trainers share, so that one loop serves both.  Null: the process uses none.
  std::unique_ptr<Transport> network_;
  // Secure transports to servers and to other trainers, over network_; null: there are none.
  std::unique_ptr<Transport> transport_, peer_transport_;
  std::shared_ptr<void> renewal_, peer_renewal_;  // of their credentials
  std::unique_ptr<Strategy> strategy_;
  std::shared_ptr<PeerExamples> examples_;  // null: no examples are exchanged
};

// Returns the options by which servers are reached, and the hello that is sent to them.
RemoteOptions remote_options(const Job& job, const RunOptions& options, const DataSchema& schema,
                             ServerFinder& servers, Log& log);

// Throws kUsage unless this process can take part in the run of this job with these options.
void check_part(const Job& job, const RunOptions& options);

// Returns a line for each cache of rows that the job's device would get, for --dry-run.  Throws as plan_caches
// does.
std::string describe_device(const Job& job, const std::vector<ParameterSpec>& parameters);

// Makes a RunningStrategy, and looks for the servers again as long as they move.
std::unique_ptr<RunningStrategy> start_strategy(const Job& job, const RunOptions& options,
                                                const DataSchema& schema,
                                                const std::vector<ParameterSpec>& parameters,
                                                ServerFinder& servers, Device& device,
                                                const ModelPlacement& model, Log& log);

}  // namespace ps

#endif  // PS_JOB_START_STRATEGY_H_
