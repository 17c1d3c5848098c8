#include "ps/server/step_clocks.h"

#include "ps/server/asynchronous_clock.h"
#include "ps/server/synchronous_clock.h"

namespace ps {

std::unique_ptr<StepClock> make_step_clock(const Consistency& consistency, const StepContext& context) {
  if (consistency.async) {
    return std::make_unique<AsynchronousClock>(context, consistency);
  }
  if (consistency.staleness > 0) {
    return std::make_unique<StaleClock>(context, static_cast<uint64_t>(consistency.staleness));
  }
  if (consistency.ahead > 0) {
    return std::make_unique<AheadClock>(context, static_cast<uint64_t>(consistency.ahead));
  }
  return std::make_unique<SynchronousClock>(context);
}

}  // namespace ps
