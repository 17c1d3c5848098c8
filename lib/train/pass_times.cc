#include "train/pass_times.h"

#include <algorithm>

#include "config/json.h"

namespace ps {

// Time that is neither reading nor spent in the store counts as computing.  The rest is kept from going below
// zero by an error of rounding.
Json PassTimes::json() const {
  const double total = seconds();
  const double waiting = store_.times().waiting - store_before_.waiting;
  const double communicating = store_.times().communicating - store_before_.communicating;
  return {{"seconds", total},
          {"reading_seconds", reading_},
          {"waiting_seconds", waiting},
          {"communicating_seconds", communicating},
          {"computing_seconds", std::max(0.0, total - reading_ - waiting - communicating)}};
}

}  // namespace ps
