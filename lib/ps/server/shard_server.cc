#include "ps/server/shard_server.h"

#include <utility>

#include "base/error.h"
#include "ps/server/shard_session.h"

namespace ps {

namespace {

constexpr Duration kCheckInterval = std::chrono::seconds(1);

ServerOptions server_options(const ShardLimits& limits, Duration request_timeout) {
  ServerOptions options;
  options.max_connections = limits.max_connections;
  options.max_memory_bytes = limits.request_bytes;
  options.max_handshake_bytes = kMaxHelloBytes;
  options.connection = alive_within(request_timeout);
  options.connection.stall_timeout = 2 * request_timeout;
  return options;
}

}  // namespace

ShardServer::ShardServer(Transport& transport, const Address& address, const ServedJob& job,
                         const ShardLimits& limits)
    : transport_(transport),
      host_(transport.loop(), job, limits,
            [this](const Error& error) {
              failed_ = error;
              fail_timer_.start_after(Duration());
            }),
      publisher_(transport.loop(), times_, [this](ShardStatus& status) { describe(status); }),
      check_timer_(transport.loop(), [this] { check(); }),
      fail_timer_(transport.loop(), [this] { end_failed(); }),
      server_(std::make_unique<Server>(transport, address, server_options(limits, job.request_timeout),
                                       [this](SessionLink link) {
                                         const Access access = link.access();
                                         return std::make_unique<ShardSession>(
                                             ShardPeer{host_, description_, times_, std::move(link), access});
                                       })) {
  check_timer_.start_after(kCheckInterval);
}

ShardServer::~ShardServer() = default;

void ShardServer::check() {
  host_.check();
  check_timer_.start_after(kCheckInterval);
}

void ShardServer::end_failed() {
  drain();
  on_failed_(*failed_);
}

void ShardServer::describe(ShardStatus& status) const {
  status.port = address().port;
  status.connections = server_->num_connections();
  status.net = server_->counters();
  status.peers_refused = transport_.num_refused();
  status.message_bytes = server_->pool().bytes_in_use();
  host_.describe(status);
}

void ShardServer::drain() {
  host_.refuse_waiting(Error(Code::kUnavailable, "the server is ending"));
  server_->drain();
}

}  // namespace ps
