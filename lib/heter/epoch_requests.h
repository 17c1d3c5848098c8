// EpochRequests: the requests of a reader to its compute trainer, divided into epochs.  Answers to requests of
// a former epoch are ignored.  Used by ReaderAhead, which begins an epoch each time it joins copies.
#ifndef PS_HETER_EPOCH_REQUESTS_H_
#define PS_HETER_EPOCH_REQUESTS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "heter/compute_link.h"

namespace ps {

// One owner thread, that of the link.  The link outlives this.
class EpochRequests {
 public:
  explicit EpochRequests(ComputeLink& link) : link_(link) {}

  // Begins another epoch, and forgets the error of the last one.
  void begin();

  // `on_answer` is called with an answer that is no error, in a wait of the store.  It is never called after
  // this object is gone.
  void ask(ComputeFrame type, const std::shared_ptr<const std::string>& body,
           std::function<void(Answer&)> on_answer);

  // The first error of the epoch. take_error returns it and removes it.
  bool has_failed() const { return error_.has_value(); }
  Error take_error();

  ComputeLink& link() { return link_; }

 private:
  struct Epoch {};

  ComputeLink& link_;
  // The current epoch; callbacks hold weak pointers to their own.
  std::shared_ptr<Epoch> epoch_ = std::make_shared<Epoch>();
  std::optional<Error> error_;
};

}  // namespace ps

#endif  // PS_HETER_EPOCH_REQUESTS_H_
