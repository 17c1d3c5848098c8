// StatusService: the pages of ps-serve --status-port, made from the status that the shards publish.
#ifndef PS_PS_STATUS_STATUS_SERVICE_H_
#define PS_PS_STATUS_STATUS_SERVICE_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "net/http/http_server.h"
#include "ps/status/shard_status.h"

namespace ps {

// Facts of a server that do not change while it runs.
struct StatusFacts {
  std::string job;
  std::string exposure;  // describes which peers are admitted; empty: only this machine reaches the ports
  uint64_t memory_limit = 0;  // limit of the memory of tables and messages
};

// The status of one server, as its pages show it.
struct ServerStatus {
  std::string job;
  std::string exposure;
  double uptime_seconds = 0;
  Time now{};
  uint64_t resident_bytes = 0;  // resident memory of the process
  uint64_t memory_limit = 0;    // limit of the memory of tables and messages
  double cpu_seconds = 0;
  uint64_t status_refused = 0;  // requests for pages with a wrong token
  std::vector<ShardStatus> shards;
};

// metrics_text returns /metrics, in the text format of Prometheus. status_json returns the data that the page
// at / asks for every second.
std::string metrics_text(const ServerStatus& server);
std::string status_json(const ServerStatus& server);

// The page at /: HTML that shows status.json of a server, or of a trainer, with a script of its own.
extern const char* const kStatusPage;

// One owner thread, that of `loop`; any thread may call end().
class StatusService {
 public:
  // A shard that has published nothing for this long counts as dead.  It publishes nothing while it works on
  // one long request, such as the list of 100 million keys.
  static constexpr Duration kDeadAfter = std::chrono::seconds(60);

  // The boards are those of the server's shards, and outlive this, as the loop does.
  StatusService(Loop& loop, StatusFacts facts, std::vector<const StatusBoard*> boards);

  HttpResponse answer(const HttpRequest& request) const;

  // Counts a request that was refused before answer() for its wrong token.
  void count_refusal() { ++num_refused_; }

  // Returns true if this server makes all servers begin a checkpoint when it is asked for one.
  bool begins_checkpoints() const;

  // From now on the server is not ready.  Any thread may call it.
  void end() { ending_ = true; }

 private:
  ServerStatus status() const;
  HttpResponse live() const;
  HttpResponse ready() const;

  Loop& loop_;
  const StatusFacts facts_;
  const std::vector<const StatusBoard*> boards_;
  const Time started_;
  uint64_t num_refused_ = 0;
  std::atomic<bool> ending_ = false;
};

}  // namespace ps

#endif  // PS_PS_STATUS_STATUS_SERVICE_H_
