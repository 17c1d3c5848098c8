#include "bench/accuracy/trials.h"

#include <algorithm>

#include "base/text.h"

namespace ps {

namespace {

// Returns the strategy of this type with `keys`.  The algorithm is set, since an automatic choice would
// make the bytes that are counted depend on the machine.
Json of_type(const char* type, Json keys) {
  Json strategy = {{"type", type}, {"algorithm", "direct"}};
  strategy.update(keys);
  return strategy;
}

// Adds trials whose gradients go to servers, one for each codec, and one of "hybrid", whose dense gradients
// are summed among the trainers.  Codecs with a threshold are left out, since a threshold fits gradients of
// one size alone; so is top_k, since momentum overshoots after it sends many held-back values at once.  Both
// are for jobs that are tuned for them.
void add_served(std::vector<AccuracyTrial>& trials) {
  auto add = [&](const char* type, const Json& push) {
    const std::string name =
        push.is_object() ? cat(push.at("type").get<std::string>(), " stochastic") : push.get<std::string>();
    trials.push_back({cat(type, " ", name), {{"type", type}, {"codec", {{"push", push}}}}});
  };
  for (const char* push :
       {"f32", "f16", "bf16", "int8", "int8_blocks", "one_bit", "shared_scale_int", "low_rank"}) {
    add("parameter_server", push);
  }
  add("parameter_server", {{"type", "int8"}, {"rounding", "stochastic"}});
  add("hybrid", "f32");
}

}  // namespace

AccuracyTrial dense_trial() {
  return {"all_reduce", of_type("all_reduce", Json::object())};
}

// The sparsities of DGC are those of its paper, which raises them over the first passes of a long training.
std::vector<AccuracyTrial> accuracy_trials(int64_t steps) {
  const int64_t begin = steps / 20;
  std::vector<AccuracyTrial> trials;
  trials.push_back({"dgc", of_type("dgc", {{"rampup_begin_step", begin},
                                           {"rampup_step", std::max<int64_t>(steps / 4, 5)},
                                           {"sparsity", {0.75, 0.9375, 0.984375, 0.996, 0.999}}})});
  for (const char* codec : {"fp16", "bf16", "int8", "shared_scale_int", "one_bit", "low_rank"}) {
    trials.push_back({cat("compressed_all_reduce ", codec),
                      of_type("compressed_all_reduce", {{"begin_step", begin}, {"codec", codec}})});
  }
  trials.push_back({"auto", of_type("auto", {{"begin_step", begin}})});
  trials.push_back({"power_sgd rank 2", of_type("power_sgd", {{"rank", 2}, {"begin_step", begin}})});
  for (int k : {1, 2, 4, 8, 16}) {
    trials.push_back(
        {cat("post_local_sgd k=", k), of_type("post_local_sgd", {{"begin_step", begin}, {"k_steps", k}})});
  }
  trials.push_back(
      {"adaptive_local_sgd", of_type("adaptive_local_sgd", {{"begin_step", begin}, {"init_k_steps", 16}})});
  trials.push_back({"slow_momentum k=8", of_type("slow_momentum", {{"begin_step", begin},
                                                                   {"k_steps", 8},
                                                                   {"slow_momentum", 0.5},
                                                                   {"slow_learning_rate", 0.5}})});
  trials.push_back({"diloco k=16", of_type("diloco", {{"begin_step", begin},
                                                      {"k_steps", 16},
                                                      {"outer_learning_rate", 0.7},
                                                      {"outer_momentum", 0.5}})});
  trials.push_back({"sparse_diloco k=16",
                    of_type("sparse_diloco", {{"begin_step", begin}, {"k_steps", 16}, {"density", 0.05}})});
  add_served(trials);
  return trials;
}

}  // namespace ps
