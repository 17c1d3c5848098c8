// PushCodecs: the codecs of a job whose gradients travel to servers in the bytes of a codec, one for each parameter.  Used
// by trainers, which encode with them, and by shards, which decode.
//
// A codec encodes the rows that a message has of a parameter as if they were a matrix of their own; the caller
// keeps the residuals, row by row.
#ifndef PS_PS_WIRE_PUSH_CODECS_H_
#define PS_PS_WIRE_PUSH_CODECS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/codec.h"
#include "config/json.h"
#include "optim/parameter.h"

namespace ps {

// One owner thread.
class PushCodecs {
 public:
  // A job whose gradients travel in rows has no codecs.
  PushCodecs() = default;

  // The codecs that {"type": name, ...} describes; null: the job has none.  Random decisions depend on the parameter's seed,
  // the parameter and the rank.  Statistics have no codec.  `cpu` is the level of their loops, and of those that decode
  // rows.  Throws kUsage.
  PushCodecs(const Json& object, std::span<const ParameterSpec> specs, int rank,
             CpuLevel cpu = best_cpu_level());

  // Returns true when the job has codecs.
  bool used() const { return !codecs_.empty(); }

  CpuLevel cpu() const { return cpu_; }

  bool has(size_t parameter) const { return parameter < codecs_.size() && codecs_[parameter] != nullptr; }
  Codec& of(size_t parameter) { return *codecs_[parameter]; }
  const Codec& of(size_t parameter) const { return *codecs_[parameter]; }

  // The first returns true when the codecs have residuals; the second, when gradients are to be added so that any order gives
  // the same bits.
  bool keep_residuals() const { return keep_residuals_; }
  bool sum_in_any_order() const { return sum_in_any_order_; }

 private:
  std::vector<std::unique_ptr<Codec>> codecs_;  // by parameter
  CpuLevel cpu_ = best_cpu_level();
  bool keep_residuals_ = false, sum_in_any_order_ = false;
};

}  // namespace ps

#endif  // PS_PS_WIRE_PUSH_CODECS_H_
