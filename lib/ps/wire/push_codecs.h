// PushCodecs: the codecs of a job whose gradients travel to servers in the bytes of a codec, one for each parameter.  Used
// by trainers, which encode with them, and by shards, which decode.
//
// A codec encodes the rows of a parameter in one message as a matrix.  The caller keeps the residuals, row by
// row.
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
  // For a job whose gradients travel in rows, and which has no codecs.
  PushCodecs() = default;

  // Makes the codecs that {"type": name, ...} describes; with null, the job has none.  Random decisions depend
  // on the parameter's seed, the parameter and the rank.  Statistics have no codec.  `cpu` is the level of the
  // codecs' loops, and of those that decode rows.  Throws kUsage.
  PushCodecs(const Json& object, std::span<const ParameterSpec> specs, int rank,
             CpuLevel cpu = best_cpu_level());

  // Returns true when the job has codecs.
  bool used() const { return !codecs_.empty(); }

  CpuLevel cpu() const { return cpu_; }

  bool has(size_t parameter) const { return parameter < codecs_.size() && codecs_[parameter] != nullptr; }
  Codec& of(size_t parameter) { return *codecs_[parameter]; }
  const Codec& of(size_t parameter) const { return *codecs_[parameter]; }

  // keep_residuals returns true if the codecs have residuals.  The other function returns true if the sums of
  // gradients must have the same bits in any order of addition.
  bool keep_residuals() const { return keep_residuals_; }
  bool sum_in_any_order() const { return sum_in_any_order_; }

 private:
  std::vector<std::unique_ptr<Codec>> codecs_;  // by parameter
  CpuLevel cpu_ = best_cpu_level();
  bool keep_residuals_ = false, sum_in_any_order_ = false;
};

}  // namespace ps

#endif  // PS_PS_WIRE_PUSH_CODECS_H_
