#include "bench/link/emulated_accelerator.h"

#include <thread>

namespace ps {

EmulatedAccelerator::EmulatedAccelerator(double step_seconds) : step_seconds_(step_seconds) {}

void EmulatedAccelerator::await_gradient(double share) const {
  constexpr double kForward = 1.0 / 3;
  const std::chrono::duration<double> wait(step_seconds_ * (kForward + (1 - kForward) * share));
  std::this_thread::sleep_until(begun_ + std::chrono::duration_cast<Clock::duration>(wait));
}

}  // namespace ps
