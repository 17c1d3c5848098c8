// The options of Deep Gradient Compression in a job: which parameters it compresses, and how much at which
// step.  Used by codec/dgc.h and by strategies.
#ifndef PS_CODEC_DGC_OPTIONS_H_
#define PS_CODEC_DGC_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/fwd.h"

namespace ps {

// The options that decide which values are sent; the other options are those of the optimizer.
struct DgcRule {
  std::vector<double> sparsity = {0.999};
  int64_t rampup_begin_step = 0;
  int64_t rampup_step = 1;
  std::string exclude = "1-d";
  std::optional<int64_t> min_elements;
  std::string selection = "sampled";
  std::string encoding = "run16";
  bool factor_masking = true;

  static const ObjectSpec<DgcRule>& spec();
};

struct DgcOptions : DgcRule {
  double momentum = 0.9;
  bool nesterov = false;
  double l2 = 0;
  std::optional<double> clip_norm;

  static const ObjectSpec<DgcOptions>& spec();
};

// Returns true if the rule compresses a parameter of this shape.  `min_elements` overrides `exclude`.
bool dgc_compresses(const DgcRule& options, std::span<const int64_t> shape);

// Returns how many of `elements` values a step sends.  Returns `elements` at sparsity 0 and before
// rampup_begin_step: the gradient is then exchanged whole.
//
// This is PaddlePaddle's rule in integers: from rampup_begin_step on, the sparsity is entry (step - begin) x
// entries / rampup_step of `sparsity`, at most the last entry. 1 - sparsity is rounded to a multiple of
// 10^-9; the number of values is rounded down, but is at least 1.
uint64_t dgc_selected(const DgcRule& options, int64_t step, uint64_t elements);

}  // namespace ps

#endif  // PS_CODEC_DGC_OPTIONS_H_
