#include "ps/status/status_service.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

namespace ps {

StatusService::StatusService(Loop& loop, StatusFacts facts, std::vector<const StatusBoard*> boards)
    : loop_(loop), facts_(std::move(facts)), boards_(std::move(boards)), started_(loop.now()) {}

HttpResponse StatusService::answer(const HttpRequest& request) const {
  if (request.path == "/") return {.type = "text/html; charset=utf-8", .body = kStatusPage};
  if (request.path == "/status.json") return {.type = "application/json", .body = status_json(status())};
  if (request.path == "/metrics") {
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_text(status())};
  }
  if (request.path == "/livez") return live();
  if (request.path == "/readyz") return ready();
  return {.status = 404, .body = "there are /, /metrics, /livez, /readyz and /status.json\n"};
}

ServerStatus StatusService::status() const {
  ServerStatus server;
  server.job = facts_.job;
  server.exposure = facts_.exposure;
  server.now = loop_.now();
  server.uptime_seconds = to_seconds(server.now - started_);
  server.resident_bytes = resident_memory_bytes();
  server.memory_limit = facts_.memory_limit;
  server.cpu_seconds = process_cpu_seconds();
  server.status_refused = num_refused_;
  for (const StatusBoard* board : boards_) server.shards.push_back(board->latest());
  return server;
}

bool StatusService::begins_checkpoints() const {
  return std::ranges::any_of(boards_,
                             [](const StatusBoard* board) { return board->latest().begins_checkpoints; });
}

// A shard that has published nothing yet counts as silent since the service began.
HttpResponse StatusService::live() const {
  for (size_t shard = 0; shard < boards_.size(); ++shard) {
    const Duration silent = loop_.now() - std::max(started_, boards_[shard]->latest().published);
    if (silent < kDeadAfter) continue;
    return {
        .status = 503,
        .body = cat("shard ", shard, " has said nothing for ", significant(to_seconds(silent), 3), " s\n")};
  }
  return {.body = "ok\n"};
}

HttpResponse StatusService::ready() const {
  if (ending_) return {.status = 503, .body = "the server is ending\n"};
  for (size_t shard = 0; shard < boards_.size(); ++shard) {
    if (boards_[shard]->latest().published != Time()) continue;
    return {.status = 503, .body = cat("shard ", shard, " has not begun\n")};
  }
  return {.body = "ok\n"};
}

}  // namespace ps
