#include "job/server_lease.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"

namespace ps {

namespace {

// Where others reach this server.
std::string reached_at(const ServeOptions& options) {
  if (!options.advertise.empty()) return options.advertise;
  const bool all = options.host.empty() || options.host == "0.0.0.0" || options.host == "::";
  if (!all) return options.host;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

EtcdFenceOptions etcd_options(const Job& job, const ServeOptions& options, const std::string& address,
                              const std::string& name) {
  constexpr int64_t kShortestLease = 2;  // seconds: etcd's own, unless it is told otherwise
  return {.place = parse_etcd_place(job.cluster.discovery),
          .registration = {.num_servers = job.cluster.num_servers,
                           .address = address,
                           .name = name,
                           .lease_seconds = std::max(
                               kShortestLease, static_cast<int64_t>(std::ceil(job.cluster.request_timeout)))},
          .give_up_after = seconds_duration(job.cluster.server_timeout),
          .stop = options.stop};
}

}  // namespace

// All fences at once.
class ServerLease::All final : public Fence {
 public:
  explicit All(const ServerLease& place) : place_(place) {}

  void claim(int server) override {
    if (place_.etcd_) place_.etcd_->claim(server);
    if (place_.directory_) place_.directory_->claim(server);
  }

  void check() override {
    if (place_.etcd_) place_.etcd_->check();
    if (place_.directory_) place_.directory_->check();
  }

 private:
  const ServerLease& place_;
};

// A number that etcd has given away is nobody else's: whoever has it in the folder does not live.
ServerLease::ServerLease(const Job& job, const ServeOptions& options, uint16_t port, Log& log)
    : all_(std::make_unique<All>(*this)) {
  const std::string address = to_text({reached_at(options), port});
  const std::string name = cat(address, ", process ", getpid());
  if (!job.cluster.discovery.empty()) {
    etcd_ = std::make_unique<EtcdFence>(etcd_options(job, options, address, name), log);
  }
  if (job.checkpoint.directory.empty()) return;
  directory_ = std::make_unique<FileFence>(
      FileFenceOptions{.directory = job.checkpoint.directory,
                       .name = name,
                       .lease = seconds_duration(job.cluster.request_timeout),
                       .now = [] { return seconds_duration(monotonic_seconds()); },
                       .log = &log});
  files_ = std::make_unique<FencedFiles>(system_files(), *directory_);
  if (const std::optional<int> known = number()) directory_->seize(*known);
}

ServerLease::~ServerLease() = default;

void ServerLease::protect(ServedJob& served) {
  if (etcd_ || directory_) served.fence = all_.get();
  if (files_) served.checkpoints.files = files_.get();
}

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
