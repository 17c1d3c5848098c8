#include "membership/server_lease.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"

namespace ps {

namespace {

// Returns the address at which others reach this server: its host, or this machine's name if the server
// listens on all addresses.
Address reached_at(const ServerLeaseOptions& options) {
  const bool everywhere = options.host.empty() || options.host == "0.0.0.0" || options.host == "::";
  if (!everywhere) return {options.host, options.port};
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {"localhost", options.port};
  return {name.data(), options.port};
}

EtcdFenceOptions etcd_options(const ServerLeaseOptions& options, const std::string& address,
                              const std::string& name) {
  constexpr int64_t kShortestLease = 2;  // seconds: etcd's own minimum, unless it is configured otherwise
  const int64_t lease = static_cast<int64_t>(std::ceil(options.lease_seconds));
  return {.url = parse_etcd_url(options.discovery),
          .tls = options.tls,
          .registration = {.num_servers = options.num_servers,
                           .address = address,
                           .name = name,
                           .lease_seconds = std::max(kShortestLease, lease)},
          .give_up_after = seconds_duration(options.etcd_timeout_seconds),
          .stop = options.stop};
}

}  // namespace

// Asks all fences.
class ServerLease::All final : public Fence {
 public:
  explicit All(const ServerLease& lease) : lease_(lease) {}

  void claim(int server) override {
    if (lease_.etcd_) lease_.etcd_->claim(server);
    if (lease_.directory_) lease_.directory_->claim(server);
  }

  void check() override {
    if (lease_.etcd_) lease_.etcd_->check();
    if (lease_.directory_) lease_.directory_->check();
  }

 private:
  const ServerLease& lease_;
};

// etcd has given the number to this server alone: any server that has it in the folder is dead.
ServerLease::ServerLease(const ServerLeaseOptions& options, Log& log) : all_(std::make_unique<All>(*this)) {
  const std::string address = to_text(reached_at(options));
  const std::string name = cat(address, ", process ", getpid());
  if (!options.discovery.empty()) {
    etcd_ = std::make_unique<EtcdFence>(etcd_options(options, address, name), log);
  }
  if (options.directory.empty()) return;
  directory_ = std::make_unique<FileFence>(
      FileFenceOptions{.directory = options.directory,
                       .name = name,
                       .lease = seconds_duration(options.lease_seconds),
                       .now = [] { return seconds_duration(monotonic_seconds()); },
                       .log = &log});
  files_ = std::make_unique<FencedFiles>(system_files(), *directory_);
  if (const std::optional<int> known = number()) directory_->seize(*known);
}

ServerLease::~ServerLease() = default;

void ServerLease::beat() {
  if (directory_) directory_->beat();
}

std::optional<Error> ServerLease::fenced() const {
  std::optional<Error> why;
  if (etcd_) why = etcd_->fenced();
  if (!why && directory_) why = directory_->fenced();
  return why;
}

std::optional<int> ServerLease::number() const {
  if (!etcd_ || etcd_->number() < 0) return std::nullopt;
  return etcd_->number();
}

}  // namespace ps
