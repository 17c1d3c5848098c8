// The "device" section of the job file.
#ifndef PS_DEVICE_OPTIONS_H_
#define PS_DEVICE_OPTIONS_H_

#include <cstdint>
#include <string>

#include "config/spec.h"

namespace ps {

struct DeviceOptions {
  std::string type = "cpu";             // cpu | emulated | cuda:N | several
  std::string trains = "rows";          // rows | model | all
  int64_t rows = 0;                     // rows of each sparse parameter; 0: `bytes` decides
  Json bytes = "64M";                   // memory of all sparse parameters together
  std::string values = "f32";           // f32 | f16 | bf16: weights of these rows
  std::string rounding = "stochastic";  // stochastic | nearest: rounding of weights of 16 bits
  int64_t window = 2;                   // how many batches before its use a row of servers is asked for

  static const ObjectSpec<DeviceOptions>& spec();

  // Returns true if sparse rows are trained in the memory of a device.
  bool caches_rows() const { return type != "cpu" && trains != "model"; }

  // Returns true if the model is computed on a device.
  bool runs_model() const { return type != "cpu" && trains != "rows"; }

  // Parses bytes.  Throws kUsage "device.bytes: …".
  uint64_t memory_bytes() const;
};

}  // namespace ps

#endif  // PS_DEVICE_OPTIONS_H_
