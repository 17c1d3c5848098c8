// AheadWork: the batches of one asynchronous reader that has several batches on their way.  Used by
// ComputeService.  A batch comes with all its rows; its dense weights are pulled when it arrives.
#ifndef PS_HETER_AHEAD_WORK_H_
#define PS_HETER_AHEAD_WORK_H_

#include <deque>
#include <memory>
#include <vector>

#include "heter/held_results.h"
#include "heter/reader_work.h"

namespace ps {

// The largest number of waiting messages of one reader; more are refused.
inline constexpr size_t kMostWaitingBatches = 1024;

// One owner thread, that of the service.
class AheadWork final : public ReaderWork {
 public:
  using ReaderWork::ReaderWork;

  // Throws kData if kMostWaitingBatches wait already, or for a message of another mode; and as hold().
  void receive(Frame frame, Responder& responder) override;
  bool ready() const override;

 private:
  struct Waiting {
    Buffer body;
    Responder responder;
    std::unique_ptr<DenseLink::DenseStep> step;  // null: its pull is not begun
  };

  void work() override;
  void fail_all(const Error& error) override;
  bool front_ready() const;
  bool pulls_to_begin() const;
  void begin_pulls();
  void train(Waiting& front);
  std::unique_ptr<DenseLink::DenseStep> find_free_step();

  // In the order of arrival; the first batch is computed next.
  std::deque<Waiting> waiting_;  // batches that are not computed yet
  HeldResults results_{num_batches_};
  std::vector<std::unique_ptr<DenseLink::DenseStep>> free_steps_;
  std::vector<ParameterView<float>> views_;
  std::vector<std::vector<float*>> rows_;  // by parameter: pointers into the body of the batch in use
};

}  // namespace ps

#endif  // PS_HETER_AHEAD_WORK_H_
