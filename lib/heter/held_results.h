// HeldResults: results of batches that are computed but not answered yet.  A batch is answered when the servers
// hold its dense gradients, so that its step lacks nothing if this process ends then.  Used by AheadWork and
// CopiesWork.
#ifndef PS_HETER_HELD_RESULTS_H_
#define PS_HETER_HELD_RESULTS_H_

#include <cstdint>
#include <map>
#include <span>

#include "net/server.h"
#include "ps/client/dense_link.h"

namespace ps {

// One owner thread.  It outlives the links over which it pushes, or at least the callbacks that they still
// call.
class HeldResults {
 public:
  // `num_answered` is incremented for each batch that is answered.
  explicit HeldResults(int64_t& num_answered) : num_answered_(num_answered) {}
  HeldResults(const HeldResults&) = delete;
  HeldResults& operator=(const HeldResults&) = delete;

  // Pushes the gradients of step `number`, and sends `result` when the servers hold them.
  void push(DenseLink& link, DenseLink::DenseStep& step, uint64_t number,
            std::span<const ParameterView<float>> views, Responder responder, Payload result);

  bool empty() const { return unheld_.empty(); }

  // Answers all waiting batches with this error.
  void fail_all(const Error& error);

 private:
  struct Unheld {
    Responder responder;
    Payload result;
  };

  void held(uint64_t id);

  std::map<uint64_t, Unheld> unheld_;  // by number of the push: results that the servers do not hold yet
  uint64_t num_pushed_ = 0;
  int64_t& num_answered_;
};

}  // namespace ps

#endif  // PS_HETER_HELD_RESULTS_H_
