// ReaderWork: the batches of one reader at a compute trainer.  Used by ComputeService; OneBatchWork, AheadWork and
// CopiesWork implement it.
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

// The things that a compute trainer computes with.  All outlive its readers' work.
struct ComputeSetup {
  Transport& transport;            // of readers and servers
  Device& device;                  // the processor
  Device* model_device = nullptr;  // computes batches; null: the processor does
  const ModelOptions& model;
  uint64_t seed = 1;  // the job's
  Json job;           // what readers must have in common with it
  // The servers, for a reader of this rank, and how to reach them.
  std::function<RemoteOptions(const ReaderHello& hello)> remote;
  // Readers have several batches on their way.
  bool ahead = false;
  bool asynchronous = false;
  OptimizerPlan optimizers = {};  // of the copies, with `ahead`, in synchronous mode
  uint64_t memory_limit = 0;      // of these, bytes
  // Batches of all readers that wait for their turn, and answers that are not sent, have so many bytes together.
  uint64_t held_bytes = UINT64_MAX;
  // Computes the batches of a network instead of the network itself; null: nothing does.
  std::function<std::unique_ptr<Computation>(const Network<float>& network)> computation = {};
};

// Throws kUsage when the reader has another job, or no rank of those that it tells.
void check_hello(const ReaderHello& hello, const ComputeSetup& setup);

// The bytes of batches that wait, and of answers that are not sent, of all readers of a compute trainer.  Answers may
// outlive it.
struct HeldBatches {
  BufferPool waiting;
  std::shared_ptr<std::atomic<uint64_t>> answers = std::make_shared<std::atomic<uint64_t>>(0);

  uint64_t bytes() const { return waiting.bytes_in_use() + *answers; }
};

// A batch is answered when the servers hold the gradients of its dense parameters: should this process end then, the step
// lacks nothing.  One owner thread; receive() alone may be called by the loop.
class ReaderWork {
 public:
  // The hello is checked.  Throws kUsage when there is no such network for the reader's data.
  ReaderWork(const ComputeSetup& setup, const ReaderHello& hello, HeldBatches& held);
  virtual ~ReaderWork() = default;
  ReaderWork(const ReaderWork&) = delete;
  ReaderWork& operator=(const ReaderWork&) = delete;

  int rank() const { return hello_.rank; }
  int trainers() const { return hello_.trainers; }
  const std::vector<ParameterSpec>& parameters() const { return network_.parameters(); }

  // Throws kData for a message that must not come now.
  virtual void receive(Frame frame, Responder& responder) = 0;

  // True when advance() has something to do.  It drives the loop only when it connects to servers for the first time.
  virtual bool ready() const = 0;

  // Does it, of one batch.  A fault is answered to the reader; throws WaitStopped alone.
  void advance();

  int64_t num_batches() const { return num_batches_; }  // that were answered

  // The connection of the reader is gone: nothing more is to be done.
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

 protected:
  virtual void work() = 0;

  // Answers all that is not answered, and forgets the rest.
  virtual void fail_all(const Error& error) = 0;

  void connect();  // unless that has been done

  // Takes the body of a batch that waits.  Throws kExhausted when that is more than setup.held_bytes.
  Buffer hold(Frame& frame);

  // Returns the answer to prepared_, whose weights and gradients are those of `views`.  `gradients` are their buffers.
  Payload compute(std::span<const ParameterView<float>> views, const GradientBuffers& gradients);

  const ComputeSetup& setup_;
  const ReaderHello hello_;
  HeldBatches& held_;
  Network<float> network_;
  Network<float>::Planners planners_;
  std::unique_ptr<Computation> computation_;  // null: the network's own
  std::unique_ptr<DenseLink> link_;           // null: not needed yet, or failed
  PreparedBatch prepared_;
  int64_t num_batches_ = 0;

 private:
  bool closed_ = false;
};

class SharedCopies;

// `copies` are of all readers.
std::shared_ptr<ReaderWork> make_reader_work(const ComputeSetup& setup, const ReaderHello& hello,
                                             HeldBatches& held, SharedCopies& copies);

}  // namespace ps

#endif  // PS_HETER_READER_WORK_H_
