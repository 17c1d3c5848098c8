#include "codec/dgc_options.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "codec/sparse_vector.h"
#include "config/spec.h"

namespace ps {

namespace {

constexpr uint64_t kUnit = 1'000'000'000;  // densities are multiples of 1 / kUnit

uint64_t density(double sparsity) {
  return kUnit - static_cast<uint64_t>(std::llround(sparsity * static_cast<double>(kUnit)));
}

// Checks that each step sends something, and that compression does not end once it has begun.
void check_sparsity(const DgcRule& options, std::string_view path) {
  const std::string sparsity_path = json_path(path, "sparsity");
  if (options.sparsity.empty()) fail(Code::kUsage, sparsity_path, ": empty; expected at least one number");
  bool compressed = false;
  for (size_t i = 0; i < options.sparsity.size(); ++i) {
    const uint64_t sent = density(options.sparsity[i]);
    if (sent == 0)
      fail(Code::kUsage, json_path(sparsity_path, std::to_string(i)), ": 1 leaves nothing to send");
    if (sent == kUnit && compressed) {
      fail(Code::kUsage, json_path(sparsity_path, std::to_string(i)), ": 0 after a sparsity above 0");
    }
    compressed |= sent < kUnit;
  }
}

}  // namespace

const ObjectSpec<DgcRule>& DgcRule::spec() {
  static const ObjectSpec<DgcRule> spec = [] {
    ObjectSpec<DgcRule> s;
    s.field("sparsity", &DgcRule::sparsity,
            "shares of the values that are not sent, in equal parts of rampup_step")
        .at_least(0)
        .at_most(1);
    s.field("rampup_begin_step", &DgcRule::rampup_begin_step, "first step that compresses").at_least(0);
    s.field("rampup_step", &DgcRule::rampup_step, "steps that `sparsity` is divided among")
        .at_least(1)
        .at_most(1e12);
    s.field("exclude", &DgcRule::exclude, "parameters that are sent whole: those of one dimension, or none")
        .one_of({"1-d", "none"});
    s.field("min_elements", &DgcRule::min_elements,
            "instead of exclude: parameters with fewer values are sent whole; PaddlePaddle has 16384")
        .at_least(1);
    s.field("selection", &DgcRule::selection,
            "the largest values exactly, or at least 80 % as many by a threshold from a sample")
        .one_of({"sampled", "exact"});
    s.field("encoding", &DgcRule::encoding, "of indices and values").one_of(sparse_encoding_names());
    s.field("factor_masking", &DgcRule::factor_masking, "clear the momentum of values that are sent");
    s.check(check_sparsity);
    return s;
  }();
  return spec;
}

const ObjectSpec<DgcOptions>& DgcOptions::spec() {
  static const ObjectSpec<DgcOptions> spec = [] {
    ObjectSpec<DgcOptions> s;
    s.field("momentum", &DgcOptions::momentum, "what stays of the last move, below 1").at_least(0);
    s.field("nesterov", &DgcOptions::nesterov, "look ahead by one move, as Nesterov does");
    s.field("l2", &DgcOptions::l2, "L2 weight decay, added to each trainer's gradient").at_least(0);
    s.field("clip_norm", &DgcOptions::clip_norm,
            "scale each trainer's share of a parameter's gradient down to this L2 norm over the root of the "
            "trainers")
        .above(0);
    s.include(DgcRule::spec());
    s.check([](const DgcOptions& options, std::string_view path) {
      if (options.momentum < 1) return;
      fail(Code::kUsage, json_path(path, "momentum"), ": ", options.momentum, ", expected less than 1");
    });
    return s;
  }();
  return spec;
}

bool dgc_compresses(const DgcRule& options, std::span<const int64_t> shape) {
  uint64_t elements = 1;
  for (int64_t size : shape) elements *= static_cast<uint64_t>(size);
  if (elements > kMaxSparseSize) return false;
  if (options.min_elements) return elements >= static_cast<uint64_t>(*options.min_elements);
  const auto dimensions = std::count_if(shape.begin(), shape.end(), [](int64_t size) { return size > 1; });
  return options.exclude == "none" || dimensions > 1;
}

// The steps of the ramp are divided equally among the entries of `sparsity`: entry since x entries /
// rampup_step.  The last entry holds from then on.  Densities are whole parts of kUnit, so that all
// trainers round alike.
uint64_t dgc_selected(const DgcRule& options, int64_t step, uint64_t elements) {
  if (step < options.rampup_begin_step || elements == 0) return elements;
  PS_CHECK(elements <= kMaxSparseSize);
  const int64_t entries = static_cast<int64_t>(options.sparsity.size()),
                since = step - options.rampup_begin_step;
  const bool last = since >= options.rampup_step;
  const int64_t entry = last ? entries - 1 : std::min(entries - 1, since * entries / options.rampup_step);
  const uint64_t selected = elements * density(options.sparsity[static_cast<size_t>(entry)]) / kUnit;
  return std::max<uint64_t>(1, selected);
}

}  // namespace ps
