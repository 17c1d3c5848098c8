// OneBatchWork: of a reader that sends a batch when the one before is answered.  Used by ComputeService.
#ifndef PS_HETER_ONE_BATCH_WORK_H_
#define PS_HETER_ONE_BATCH_WORK_H_

#include <vector>

#include "heter/reader_work.h"

namespace ps {

// A batch is decoded, waits for the dense weights of its step, is computed and pushed, and is answered.  The weights of the
// next step are asked for when one is pushed; not in asynchronous jobs, which would not see their own last step.
class OneBatchWork final : public ReaderWork {
 public:
  using ReaderWork::ReaderWork;

  // Throws kData while another batch is not answered; and as hold().
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
  Responder responder_;  // of the batch, as are all below
  Buffer body_;
  std::vector<std::vector<float*>> rows_;  // by parameter, in the body
  std::vector<ParameterView<float>> views_;
  Payload result_;
};

}  // namespace ps

#endif  // PS_HETER_ONE_BATCH_WORK_H_
