// StepHeader: the numbers that trainers without servers add up beside their gradients in every step: how many
// of them have data, how many examples they have, and what happens after the step.  Used by AllReduceStore.
#ifndef PS_STORE_STEP_HEADER_H_
#define PS_STORE_STEP_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "optim/step_rule.h"
#include "store/collective_run.h"

namespace ps {

// The header of one trainer, or the sum over all trainers.
struct StepHeader {
  StepInfo info = {};
  int64_t pushers = 0;  // trainers that have data
  StepWishes wishes = {};
};

inline constexpr size_t kStepHeaderFields = 8;
inline constexpr int64_t kMaxStepSamples = int64_t{1} << 32;  // examples of one trainer are fewer

// fields [kStepHeaderFields] <- the header in such a form that the sum of the fields of all trainers is
// exact.
void write_step_header(const StepHeader& header, std::span<float> fields);

// Returns the header of these fields.  All trainers are in the same pass.
StepHeader read_step_header(std::span<const float> fields, int64_t pass);

}  // namespace ps

#endif  // PS_STORE_STEP_HEADER_H_
