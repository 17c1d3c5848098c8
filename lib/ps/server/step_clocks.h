// The catalogue of step clocks.  Used by Shard.
#ifndef PS_PS_SERVER_STEP_CLOCKS_H_
#define PS_PS_SERVER_STEP_CLOCKS_H_

#include <memory>

#include "ps/server/step_clock.h"

namespace ps {

// Makes the clock of this consistency.
std::unique_ptr<StepClock> make_step_clock(const Consistency& consistency, const StepContext& context);

}  // namespace ps

#endif  // PS_PS_SERVER_STEP_CLOCKS_H_
