// OneBatchWork: the batches of a reader that sends a batch when the one before is answered.  Used by
// ComputeService.
#ifndef PS_HETER_ONE_BATCH_WORK_H_
#define PS_HETER_ONE_BATCH_WORK_H_

#include <vector>

#include "heter/reader_work.h"

namespace ps {

// A batch is decoded, waits for the dense weights of its step, is computed and pushed, and is answered.  The
// weights of the next step are pulled when a batch is pushed; asynchronous jobs do not do so, since the weights
// would lack their own last step.  One owner thread, that of the service.
class OneBatchWork final : public ReaderWork {
 public:
  using ReaderWork::ReaderWork;

  // Throws kData for a message of another mode, or if a batch is not answered yet; and as hold().
  void receive(Frame frame, Responder& responder) override;
  bool ready() const override;

 private:
  enum class Stage { kIdle, kArrived, kPulling, kPushing };

  void work() override;
  void fail_all(const Error& error) override;
  void begin();
  void train();
  void finish();

  Stage stage_ = Stage::kIdle;
  Responder responder_;  // responder of the current batch; all members below belong to this batch too
  Buffer body_;
  std::vector<std::vector<float*>> rows_;  // by parameter: pointers into body_
  std::vector<ParameterView<float>> views_;
  Payload result_;
};

}  // namespace ps

#endif  // PS_HETER_ONE_BATCH_WORK_H_
