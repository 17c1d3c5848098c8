#include "train/options.h"

namespace ps {

const ObjectSpec<TrainOptions>& TrainOptions::spec() {
  static const ObjectSpec<TrainOptions> spec = [] {
    ObjectSpec<TrainOptions> s;
    s.field("passes", &TrainOptions::passes, "times through the data").at_least(0);
    s.field("gradient", &TrainOptions::gradient,
            "gradient of a batch: over its examples, their sum or their mean")
        .one_of({"sum", "mean"});
    s.field("mode", &TrainOptions::mode,
            "with servers: \"sync\", every step sums the gradients of all trainers; {\"staleness\": n}, the "
            "same, "
            "but trainers may use weights that are up to n steps behind; \"async\", each trainer's gradients "
            "are "
            "a step of their own and nobody waits")
        .type = {{"anyOf", Json::array({{{"enum", {"sync", "async"}}},
                                        {{"type", "object"},
                                         {"properties", {{"staleness", {{"type", "integer"}}}}}}})}};
    s.field("max_lag", &TrainOptions::max_lag,
            "async: gradients for weights older than so many steps are dropped and counted, 0: none is")
        .at_least(0);
    s.field("log_period", &TrainOptions::log_period,
            "batches between two reports, 0: only at the end of a pass")
        .at_least(0);
    s.field("save_dir", &TrainOptions::save_dir,
            "folder in which pass-00000 and so on are saved, empty: none");
    s.field("saving_period", &TrainOptions::saving_period,
            "passes between two saved models; the last pass is always saved")
        .at_least(1);
    s.check([](const TrainOptions& options, std::string_view) { options.consistency(); });
    return s;
  }();
  return spec;
}

Consistency TrainOptions::consistency() const {
  constexpr int64_t kMostStaleness = 1000;
  if (mode == "sync") return {};
  if (mode == "async") return {.async = true, .max_lag = max_lag};
  if (mode.is_object() && mode.size() == 1 && mode.contains("staleness") &&
      mode["staleness"].is_number_integer()) {
    int64_t staleness = mode["staleness"].get<int64_t>();
    if (staleness >= 0 && staleness <= kMostStaleness) return {.staleness = staleness};
    fail(Code::kUsage, "train.mode.staleness: ", staleness, " is not in [0, ", kMostStaleness, "]");
  }
  fail(Code::kUsage, "train.mode: ", mode.dump(), R"( is not "sync", "async" or {"staleness": n})");
}

}  // namespace ps
