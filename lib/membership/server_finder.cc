#include "membership/server_finder.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/wait_stopped.h"
#include "membership/etcd_registration.h"
#include "net/backoff.h"

namespace ps {

namespace {

constexpr Duration kFinderTimeout = std::chrono::seconds(2);

}  // namespace

ServerFinder::ServerFinder(ServerFinderOptions options, Log& log)
    : options_(std::move(options)), log_(log), network_(options_.tls) {
  if (options_.discovery.empty()) return;
  client_ = std::make_unique<EtcdClient>(network_, parse_etcd_url(options_.discovery), kFinderTimeout);
}

ServerFinder::~ServerFinder() = default;

std::vector<Address> ServerFinder::find() {
  known_ = client_ ? await_all() : options_.servers;
  options_.on_missing("");
  return known_;
}

// Returns nothing until all servers are registered, and puts the missing ones into `missing`.
std::optional<std::vector<Address>> ServerFinder::look(std::string& missing) {
  const size_t count = static_cast<size_t>(options_.num_servers);
  std::vector<std::optional<Address>> found(count);
  for (const RegisteredServer& server : registered_servers(*client_)) {
    const size_t number = static_cast<size_t>(server.number);
    if (number < count) found[number] = parse_address(server.address);
  }
  std::vector<Address> all;
  for (size_t number = 0; number < count; ++number) {
    if (found[number]) {
      all.push_back(*found[number]);
    } else {
      missing += cat(missing.empty() ? "server " : ", ", number);
    }
  }
  if (missing.empty()) return all;
  missing += cat(" of ", count, " is not registered in ", client_->url().text);
  return std::nullopt;
}

// Asks etcd, with growing pauses, until all servers are registered.  Without etcd, servers that were found
// before are better than none: they are returned, and the caller tries them.  Only a process that has never
// found them waits for etcd until the timeout.
std::vector<Address> ServerFinder::await_all() {
  const double begin = monotonic_seconds();
  Backoff backoff({}, Random(static_cast<uint64_t>(begin * 1e9), 0));
  Loop& loop = network_.loop();
  for (;;) {
    std::string missing;
    try {
      if (auto all = look(missing)) return *all;
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      if (!known_.empty()) {
        log_.warning("going on with the servers that are known, without etcd: ", error.message());
        return known_;
      }
      missing = error.message();
    }
    if (monotonic_seconds() - begin >= options_.timeout) fail(Code::kUnavailable, missing);
    log_.info("waiting: ", missing);
    options_.on_missing(cat("waiting: ", missing));
    if (loop.run_until(options_.stop, add_time(loop.now(), backoff.next()))) throw WaitStopped();
  }
}

// Looks at most once a second, since callers ask while they wait for something else.
bool ServerFinder::moved() {
  const double now = monotonic_seconds();
  if (!client_ || now - looked_ < 1) return false;
  looked_ = now;
  try {
    std::string missing;
    const auto all = look(missing);
    return all && *all != known_;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace ps
