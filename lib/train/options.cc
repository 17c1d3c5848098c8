#include "train/options.h"

#include "config/spec.h"

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
            "same, but trainers may use weights that are up to n steps behind; \"async\", each trainer's "
            "gradients are a step of their own and nobody waits; {\"geo\": k}, each trainer trains a copy of "
            "its own, and sends what it changed every k batches, of which servers add a mean share or, with "
            "\"differences\": \"sum\", all")
        .type = []() -> Json {
      const Json number = {{"type", "integer"}};
      const Json object = {{"type", "object"}, {"properties", {{"staleness", number}, {"geo", number}}}};
      return {{"anyOf", {{{"enum", {"sync", "async"}}}, object}}};
    };
    s.field("max_lag", &TrainOptions::max_lag,
            "async: gradients for weights older than so many steps are dropped and counted, 0: none is")
        .at_least(0);
    s.field("log_period", &TrainOptions::log_period,
            "batches between two reports, 0: only at the end of a pass; absent: 100, of which a line is "
            "shown once "
            "a second at most")
        .at_least(0);
    s.field("save_dir", &TrainOptions::save_dir,
            "folder in which pass-00000 and so on are saved, empty: none");
    s.field("saving_period", &TrainOptions::saving_period,
            "passes between two saved models; the last pass is always saved")
        .at_least(1);
    s.field(
        "load_save_parameters_in_pserver", &TrainOptions::load_save_parameters_in_pserver,
        "with servers: a saved model is the files of their checkpoint, to which the trainer adds a manifest; "
        "checkpoint.directory has to be theirs, and seen by the trainer");
    s.check([](const TrainOptions& options, std::string_view) { options.consistency(); });
    return s;
  }();
  return spec;
}

namespace {

// The number of this name in a mode; nothing when there is none.
std::optional<int64_t> number_of(const Json& mode, const char* name, int64_t least, int64_t most) {
  if (!mode.is_object() || !mode.contains(name) || !mode[name].is_number_integer()) return std::nullopt;
  const int64_t number = mode[name].get<int64_t>();
  if (number >= least && number <= most) return number;
  fail(Code::kUsage, "train.mode.", name, ": ", number, " is not in [", least, ", ", most, "]");
}

}  // namespace

bool TrainOptions::saves_after(int64_t pass) const {
  return !save_dir.empty() && (pass + 1 == passes || (pass + 1) % saving_period == 0);
}

Consistency TrainOptions::consistency() const {
  constexpr int64_t kMostStaleness = 1000;
  if (mode == "sync") return {};
  if (mode == "async") return {.async = true, .max_lag = max_lag};
  if (geo()) return {.async = true};  // differences are never too old
  auto staleness = number_of(mode, "staleness", 0, kMostStaleness);
  if (staleness && mode.size() == 1) return {.staleness = *staleness};
  fail(Code::kUsage, "train.mode: ", mode.dump(),
       R"( is not "sync", "async", {"staleness": n} or {"geo": k, "differences": "mean" or "sum"})");
}

std::optional<LocalSgdOptions> TrainOptions::geo() const {
  constexpr int64_t kMostBatches = 1000000;
  auto period = number_of(mode, "geo", 1, kMostBatches);
  if (!period) return std::nullopt;
  const Json differences = mode.value("differences", Json("mean"));
  const bool known = differences == "mean" || differences == "sum";
  if (!known || mode.size() != 1 + mode.count("differences")) return std::nullopt;
  return LocalSgdOptions{*period, differences == "mean"};
}

}  // namespace ps
