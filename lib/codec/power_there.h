// PowerThere: the state of PowerSGD (store/power_sgd_exchange.h) for one matrix whose gradients it compresses
// in the memory of a device, with the same bits as on the processor.  CodecDevice makes these objects.
// Implemented in lib/device/cuda, for CUDA and for the emulator.
#ifndef PS_CODEC_POWER_THERE_H_
#define PS_CODEC_POWER_THERE_H_

#include <span>

namespace ps {

// One owner thread.  The names are those of codec/power_iteration.h.  Pointers are into the memory of the
// device, where a gradient has [rows, cols] values; spans are in memory of the host; they must not change
// before CodecDevice::wait, and have their values after it.  Calls throw the errors of the device.
class PowerThere {
 public:
  virtual ~PowerThere() = default;

  // Set and get the residual [rows, cols], the part of former gradients that was not sent.  It begins with
  // zeros.
  virtual void set_residual(std::span<const float> residual) = 0;
  virtual void get_residual(std::span<float> residual) = 0;

  // values += samples x residual        p <- values q
  virtual void begin(float* values, float samples, std::span<const float> q, std::span<float> p) = 0;

  // Gets p, the sum over all trainers, and orthogonalises it on the device. q <- values^T p, residual <- scale
  // x (values - p^T q).
  virtual void keep_rest(const float* values, float scale, std::span<const float> p, std::span<float> q) = 0;

  // values <- p^T q, with the p that keep_rest has left on the device
  virtual void end(std::span<const float> q, float* values) = 0;
};

}  // namespace ps

#endif  // PS_CODEC_POWER_THERE_H_
