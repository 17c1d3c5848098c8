// ReaderWork: the batches of one reader at a compute trainer.  Used by ComputeService; OneBatchWork, AheadWork
// and CopiesWork implement it.
#ifndef PS_HETER_READER_WORK_H_
#define PS_HETER_READER_WORK_H_

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "heter/messages.h"
#include "math/device.h"
#include "model/computation.h"
#include "model/network.h"
#include "net/server.h"
#include "optim/parameter.h"
#include "ps/client/dense_link.h"
#include "store/parameter_tables.h"

namespace ps {

// The resources of a compute trainer.  All of them outlive the work of its readers.
struct ComputeSetup {
  Transport& transport;            // transport to readers and servers
  Device& device;                  // the processor
  Device* model_device = nullptr;  // device that computes batches; null: the processor computes them
  const ModelOptions& model;
  uint64_t seed = 1;  // seed of the job
  Json job;           // the part of the job that must equal that of the readers
  // Returns how to reach the servers for a reader of this rank.
  std::function<RemoteOptions(const ReaderHello& hello)> remote;
  // Returns the same with the hello of a reader that would come now.  Null: the servers are not asked if the run is
  // over.
  std::function<RemoteOptions()> remote_of_newcomer = {};
  // Readers have several batches on their way.
  bool ahead = false;
  bool asynchronous = false;
  OptimizerPlan optimizers = {};  // optimizers of the copies; used with `ahead` in synchronous mode
  uint64_t memory_limit = 0;      // bytes that the copies may take
  // The limit in bytes of waiting batches and of answers that are not sent, of all readers together.
  uint64_t held_bytes = UINT64_MAX;
  // Makes the computation that computes batches instead of the network itself; null: the network computes them.
  std::function<std::unique_ptr<Computation>(const Network<float>& network)> computation = {};
};

// Throws kUsage if the reader has another job, or if its rank is not below its number of readers.
void check_hello(const ReaderHello& hello, const ComputeSetup& setup);

// The bytes of waiting batches and of answers that are not sent, of all readers of a compute trainer.  Answers
// may outlive it, and so they share the counter.
struct HeldBatches {
  BufferPool waiting;
  std::shared_ptr<std::atomic<uint64_t>> answers = std::make_shared<std::atomic<uint64_t>>(0);

  uint64_t bytes() const { return waiting.bytes_in_use() + *answers; }
};

// A batch is answered when the servers hold the gradients of its dense parameters, so that the step lacks
// nothing if this process ends then.  One owner thread; the loop itself calls receive() alone.
class ReaderWork {
 public:
  // The hello has passed check_hello.  Throws kUsage if the network does not fit the reader's data.
  ReaderWork(const ComputeSetup& setup, const ReaderHello& hello, HeldBatches& held);
  virtual ~ReaderWork() = default;
  ReaderWork(const ReaderWork&) = delete;
  ReaderWork& operator=(const ReaderWork&) = delete;

  int rank() const { return hello_.rank; }
  int trainers() const { return hello_.trainers; }
  const std::vector<ParameterSpec>& parameters() const { return network_.parameters(); }

  // Throws kData for a message that must not come now.
  virtual void receive(Frame frame, Responder& responder) = 0;

  // Returns true if advance() has something to do.
  virtual bool ready() const = 0;

  // Does the work for one batch.  An error is sent to the reader; only WaitStopped is thrown.  It runs the loop
  // only while it connects to servers for the first time.
  void advance();

  int64_t num_batches() const { return num_batches_; }  // number of batches that were answered

  // The connection of the reader is gone, so no more work is to be done.
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

 protected:
  virtual void work() = 0;

  // Answers all open requests with this error, and forgets the state of their batches.
  virtual void fail_all(const Error& error) = 0;

  void connect();  // connects to the servers, unless a link exists

  // Takes the body of a batch that waits.  Throws kExhausted if the held bytes would exceed setup.held_bytes.
  Buffer hold(Frame& frame);

  // Computes prepared_ and returns the answer.  `views` has its weights and gradients; `gradients` are the
  // buffers of the gradients.
  Payload compute(std::span<const ParameterView<float>> views, const GradientBuffers& gradients);

  const ComputeSetup& setup_;
  const ReaderHello hello_;
  HeldBatches& held_;
  Network<float> network_;
  Network<float>::Planners planners_;
  std::unique_ptr<Computation> computation_;  // null: the network computes
  std::unique_ptr<DenseLink> link_;           // null: not connected yet, or failed
  PreparedBatch prepared_;
  int64_t num_batches_ = 0;

 private:
  bool closed_ = false;
};

}  // namespace ps

#endif  // PS_HETER_READER_WORK_H_
