#include "job/former_keys.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "config/json.h"

namespace ps {

namespace {

struct FormerKey {
  const char *at, *now;  // JSON pointers
  const char* example;   // an example of train.strategy, for the message
};

constexpr const char* kStrategy = "/train/strategy";
constexpr const char* kMaxLag = "/train/strategy/max_lag";
constexpr const char* kPush = "/train/strategy/codec/push";
constexpr const char* kPull = "/train/strategy/codec/pull";
constexpr const char* kResidualMemory = "/train/strategy/codec/residual_memory";

constexpr const char* kPushExample = R"({"type": "parameter_server", "codec": {"push": "int8"}})";
constexpr const char* kPullExample = R"({"type": "parameter_server", "codec": {"pull": "f16"}})";
constexpr const char* kMemoryExample =
    R"({"type": "parameter_server", "codec": {"push": "int8", "residual_memory": "64M"}})";

constexpr FormerKey kMode = {
    "/train/mode", kStrategy,
    R"({"type": "parameter_server", "consistency": "async"} or {"type": "local_sgd", "period": 5})"};

constexpr FormerKey kFormerKeys[] = {
    kMode,
    {"/train/max_lag", kMaxLag, R"({"type": "parameter_server", "consistency": "async", "max_lag": 8})"},
    {"/cluster/push_type", kPush, kPushExample},
    {"/cluster/pull_type", kPull, kPullExample},
    {"/cluster/push_error_memory", kResidualMemory, kMemoryExample},
    {"/train/strategy/push_type", kPush, kPushExample},
    {"/train/strategy/pull_type", kPull, kPullExample},
    {"/train/strategy/residual_memory", kResidualMemory, kMemoryExample},
};

Json::json_pointer pointer(const char* text) {
  return Json::json_pointer(text);
}

bool contains(const Json& document, const char* at) {
  return document.contains(pointer(at));
}

// "train.mode" for "/train/mode"
std::string dotted(const char* at) {
  std::string out = at + 1;
  std::ranges::replace(out, '/', '.');
  return out;
}

// Removes a value from the document, which must have it, and returns it.
Json extract(Json& document, const char* at) {
  const Json::json_pointer where = pointer(at);
  Json value = std::move(document[where]);
  document[where.parent_pointer()].erase(where.back());
  return value;
}

// Returns the strategy that corresponds to a train.mode; null if the mode is none.
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
    if (!contains(document, former.at)) continue;
    fail(Code::kUsage, dotted(former.at), ": is now ", dotted(former.now),
         R"(, as in "train": {"strategy": )", former.example, "}");
  }
}

// First the mode becomes the strategy, then the other keys move into it.  Only an asynchronous job keeps
// max_lag; in checkpoints other jobs had it too, but did not use it.
Json rename_former_keys(Json document) {
  if (contains(document, kMode.at)) {
    Json strategy = strategy_of(document[pointer(kMode.at)]);
    if (strategy.is_null()) return document;
    extract(document, kMode.at);
    document["train"]["strategy"] = std::move(strategy);
  }
  if (!contains(document, kStrategy) || !document[pointer(kStrategy)].is_object()) return document;
  const Json strategy = document[pointer(kStrategy)];
  if (strategy.contains("codec") && !strategy["codec"].is_object()) return document;
  const bool async = strategy.contains("consistency") && strategy["consistency"] == "async";
  for (const FormerKey& former : kFormerKeys) {
    if (!contains(document, former.at)) continue;
    Json value = extract(document, former.at);
    if (async || std::string_view(former.now) != kMaxLag) document[pointer(former.now)] = std::move(value);
  }
  return document;
}

}  // namespace ps
