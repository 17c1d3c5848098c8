// EmulatedAccelerator: stands for compute that takes time but no processor, so that communication alone needs
// the cores of the machine.  Used by the steps of bench/link.
#ifndef PS_BENCH_LINK_EMULATED_ACCELERATOR_H_
#define PS_BENCH_LINK_EMULATED_ACCELERATOR_H_

#include <chrono>

namespace ps {

// The forward pass takes a third of a step.  The backward pass takes the rest, and gives the gradient evenly
// over this time, that of the last layer first.  One owner thread, which waits here as it would for a device.
class EmulatedAccelerator {
 public:
  explicit EmulatedAccelerator(double step_seconds);

  // Begins the forward and backward pass of a batch.
  void begin_step() { begun_ = Clock::now(); }

  // Waits until this share, in [0, 1], of the step's gradient is there.
  void await_gradient(double share) const;

 private:
  using Clock = std::chrono::steady_clock;

  const double step_seconds_;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace ps

#endif  // PS_BENCH_LINK_EMULATED_ACCELERATOR_H_
