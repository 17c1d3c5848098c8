// AheadWork: of an asynchronous reader with several batches on their way.  Used by ComputeService.  A batch has all its rows,
// and its dense weights are asked for when it comes.
#ifndef PS_HETER_AHEAD_WORK_H_
#define PS_HETER_AHEAD_WORK_H_

#include <deque>
#include <memory>
#include <vector>

#include "heter/held_results.h"
#include "heter/reader_work.h"

namespace ps {

// Batches and other messages of one reader that may wait; more are refused.
inline constexpr size_t kMostWaitingBatches = 1024;

class AheadWork final : public ReaderWork {
 public:
  using ReaderWork::ReaderWork;

  // Throws kData when more than kMostWaitingBatches wait, or for a message of the other mode; and as hold().
  void receive(Frame frame, Responder& responder) override;
  bool ready() const override;

 private:
  struct Waiting {
    Buffer body;
    Responder responder;
    std::unique_ptr<DenseLink::DenseStep> step;  // null: not begun
  };

  void work() override;
  void fail_all(const Error& error) override;
  bool front_ready() const;
  bool pulls_to_begin() const;
  void begin_pulls();
  void train(Waiting& front);
  std::unique_ptr<DenseLink::DenseStep> find_free_step();

  std::deque<Waiting> waiting_;  // the first one is computed next
  HeldResults results_{num_batches_};
  std::vector<std::unique_ptr<DenseLink::DenseStep>> free_steps_;
  std::vector<ParameterView<float>> views_;
  std::vector<std::vector<float*>> rows_;  // by parameter, in the body
};

}  // namespace ps

#endif  // PS_HETER_AHEAD_WORK_H_
