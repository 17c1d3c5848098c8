// Compute that takes time and no processor, so that of a step only communication needs the machine's cores.
// Used by the steps of bench/link.
#ifndef PS_BENCH_LINK_EMULATED_ACCELERATOR_H_
#define PS_BENCH_LINK_EMULATED_ACCELERATOR_H_

#include <chrono>

namespace ps {

// Forward takes a third of a step; backward takes the rest, and gives the gradient evenly over it, that of the
// last layer first.  One owner thread, which waits here as it would for a device.
class EmulatedAccelerator {
 public:
  explicit EmulatedAccelerator(double step_seconds);

  // Forward and backward of a batch begin.
  void begin_step() { begun_ = Clock::now(); }

  // Returns when this share of the step's gradient, in [0, 1], is there.
  void await_gradient(double share) const;

 private:
  using Clock = std::chrono::steady_clock;

  const double step_seconds_;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace ps

#endif  // PS_BENCH_LINK_EMULATED_ACCELERATOR_H_
