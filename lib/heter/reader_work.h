// ReaderWork: the batches of one reader at a compute trainer.  Used by ComputeService.
#ifndef PS_HETER_READER_WORK_H_
#define PS_HETER_READER_WORK_H_

#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "heter/messages.h"
#include "math/device.h"
#include "model/network.h"
#include "net/server.h"
#include "ps/client/dense_link.h"

namespace ps {

// The things that a compute trainer computes with.  All outlive its readers' work.
struct ComputeSetup {
  Transport& transport;  // of readers and servers
  Device& device;
  const ModelOptions& model;
  uint64_t seed = 1;  // the job's
  Json job;           // what readers must have in common with it
  // The servers, for a reader of this rank, and how to reach them.
  std::function<RemoteOptions(const ReaderHello& hello)> remote;
  // The weights of a step are asked for when the step before is pushed.  Not for asynchronous jobs, which would not see
  // their own last step.
  bool pulls_ahead = true;
};

// A batch is decoded, waits for the dense weights of its step, is computed and pushed, and is answered when the servers
// hold its gradients: should this process end then, the step lacks nothing.  One owner thread; take() alone may be called
// by the loop.
class ReaderWork {
 public:
  // Throws kUsage when the reader has another job, or data for which there is no such network.
  ReaderWork(const ComputeSetup& setup, const ReaderHello& hello, BufferPool& pool);

  int rank() const { return hello_.rank; }
  int trainers() const { return hello_.trainers; }

  // Throws kData while another batch is not answered.
  void take(Frame frame, Responder& responder);

  // True when advance() has something to do.  It drives the loop only when it connects to servers for the first time.
  bool ready() const;
  void advance();

  int64_t num_batches() const { return num_batches_; }  // that were answered

  // The connection of the reader is gone: nothing more is to be done.
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

 private:
  enum class Stage { kIdle, kArrived, kPulling, kPushing };

  void begin();
  void compute();
  void finish(const Error& error);
  void finish();

  const ComputeSetup& setup_;
  const ReaderHello hello_;
  BufferPool& pool_;
  Network<float> network_;
  Network<float>::Planners planners_;
  std::unique_ptr<DenseLink> link_;  // null: not needed yet, or failed

  Stage stage_ = Stage::kIdle;
  bool closed_ = false;
  int64_t num_batches_ = 0;
  Responder responder_;  // of the batch, as are all below
  Buffer body_;
  PreparedBatch prepared_;
  std::vector<std::vector<float*>> rows_;  // by parameter, in the body
  std::vector<ParameterView<float>> views_;
  Payload result_;
};

}  // namespace ps

#endif  // PS_HETER_READER_WORK_H_
