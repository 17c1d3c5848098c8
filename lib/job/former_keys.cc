#include "job/former_keys.h"

#include "base/error.h"
#include "config/json.h"

namespace ps {

namespace {

struct FormerKey {
  const char *section, *key;
  const char* now;  // in train.strategy; empty: the strategy as a whole
  const char* example;
};

constexpr FormerKey kFormerKeys[] = {
    {"train", "mode", "",
     R"({"type": "parameter_server", "consistency": "async"} or {"type": "local_sgd", "period": 5})"},
    {"train", "max_lag", "max_lag", R"({"type": "parameter_server", "consistency": "async", "max_lag": 8})"},
    {"cluster", "pull_type", "pull_type", R"({"type": "parameter_server", "pull_type": "f16"})"},
    {"cluster", "push_type", "push_type", R"({"type": "parameter_server", "push_type": "int8"})"},
    {"cluster", "push_error_memory", "residual_memory",
     R"({"type": "parameter_server", "push_type": "int8", "residual_memory": "64M"})"},
};

// The value of a former key; null when the job does not have it.
const Json* find(const Json& document, const FormerKey& former) {
  const auto section = document.find(former.section);
  if (section == document.end() || !section->is_object()) return nullptr;
  const auto value = section->find(former.key);
  return value == section->end() ? nullptr : &*value;
}

// The strategy that a train.mode was; null when it was none.
Json strategy_of(const Json& mode) {
  if (mode == "sync" || mode == "async") return {{"type", "parameter_server"}, {"consistency", mode}};
  if (!mode.is_object()) return {};
  if (mode.contains("staleness") && mode["staleness"] == 0) return strategy_of("sync");
  if (mode.contains("staleness")) {
    return {{"type", "parameter_server"}, {"consistency", "staleness"}, {"staleness", mode["staleness"]}};
  }
  if (!mode.contains("geo")) return {};
  return {{"type", "local_sgd"},
          {"period", mode["geo"]},
          {"differences", mode.value("differences", Json("mean"))}};
}

}  // namespace

void refuse_former_keys(const Json& document) {
  for (const FormerKey& former : kFormerKeys) {
    if (find(document, former) == nullptr) continue;
    const std::string now = cat("train.strategy", *former.now == '\0' ? "" : ".", former.now);
    fail(Code::kUsage, former.section, ".", former.key, ": is now ", now, R"(, as in "train": {"strategy": )",
         former.example, "}");
  }
}

// An asynchronous job alone had a use for max_lag, which others had too, in checkpoints.
Json rename_former_keys(Json document) {
  const Json* mode = find(document, kFormerKeys[0]);
  if (mode == nullptr) return document;
  Json strategy = strategy_of(*mode);
  if (strategy.is_null()) return document;
  const bool async = *mode == "async";
  for (const FormerKey& former : kFormerKeys) {
    const Json* value = find(document, former);
    if (value == nullptr) continue;
    const std::string_view now = former.now;
    if (!now.empty() && (now != "max_lag" || async)) strategy[former.now] = *value;
    document[former.section].erase(former.key);
  }
  document["train"]["strategy"] = std::move(strategy);
  return document;
}

}  // namespace ps
