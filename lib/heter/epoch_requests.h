// EpochRequests: the requests of a reader to its compute trainer, in epochs: what answers a request of a former epoch is
// passed over.  Used by ReaderAhead, one epoch for all copies that the compute trainer has begun.
#ifndef PS_HETER_EPOCH_REQUESTS_H_
#define PS_HETER_EPOCH_REQUESTS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "heter/compute_link.h"

namespace ps {

// One owner thread, that of the link, which outlives this.
class EpochRequests {
 public:
  explicit EpochRequests(ComputeLink& link) : link_(link) {}

  // Another epoch begins.
  void begin();

  // `on_answer` is called with an answer that is no error, in a wait of the store; never once this is gone.
  void ask(ComputeFrame type, const std::shared_ptr<const std::string>& body,
           std::function<void(Answer&)> on_answer);

  // The first error of the epoch, which take_error gives away.
  bool has_failed() const { return error_.has_value(); }
  Error take_error();

  ComputeLink& link() { return link_; }

 private:
  struct Epoch {};

  ComputeLink& link_;
  std::shared_ptr<Epoch> epoch_ = std::make_shared<Epoch>();  // the present one
  std::optional<Error> error_;
};

}  // namespace ps

#endif  // PS_HETER_EPOCH_REQUESTS_H_
