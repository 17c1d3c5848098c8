// One exchange, message by message, among ranks that are ready at different times.  Used by the simulator.
#ifndef PS_SIMULATE_EXCHANGE_RUN_H_
#define PS_SIMULATE_EXCHANGE_RUN_H_

#include <vector>

#include "collective/cost_model.h"

namespace ps {

// clocks [ranks] hold the times at which the ranks have their gradients, and are replaced by those at which
// they have the sum.  When all are ready at once, the last rank has it exchange_cost later.
void run_exchange(ExchangeKind exchange, const ClusterParameters& cluster, const StepBytes& payload,
                  std::vector<double>& clocks);

}  // namespace ps

#endif  // PS_SIMULATE_EXCHANGE_RUN_H_
