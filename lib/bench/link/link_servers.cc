#include "bench/link/link_servers.h"

#include <exception>
#include <future>
#include <thread>
#include <utility>

#include "base/memory.h"
#include "net/network.h"
#include "net/shaped_transport.h"
#include "ps/server/shard_server.h"

namespace ps {

// A server and its thread.  The thread enters the link and opens all sockets itself, so that they are behind
// the link.  LinkServers' owner thread makes and destroys it.
class LinkServers::Server {
 public:
  // Waits until the thread listens.  An error of the thread comes through the same promise, and is thrown
  // here after the thread has ended.
  Server(const RankLinks& links, int link, const ServedJob& job, const ShardLimits& limits) {
    thread_ = std::thread([this, &links, link, &job, limits] {
      try {
        run(links, link, job, limits);
      } catch (...) {
        address_.set_exception(std::current_exception());
      }
    });
    try {
      where_ = address_.get_future().get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  ~Server() {
    loop_->stop();
    thread_.join();
  }

  const Address& address() const { return where_; }

 private:
  // Opens the server behind the link, and runs its loop.  The constructor waits for the address, or throws
  // the error, before the loop runs.
  void run(const RankLinks& links, int link, const ServedJob& job, const ShardLimits& limits) {
    links.enter(link);
    const std::unique_ptr<Transport> network = make_network();
    ShapedTransport shaped(*network, links.shape());
    ShardServer server(shaped, {links.host(link), 0}, job, limits);
    ServerPorts ports;
    ports.dense = ports.sparse = 1;
    ports.ports = {server.address().port};
    server.set_ports(ports);
    loop_ = &network->loop();
    address_.set_value(server.address());
    network->loop().run();
  }

  Loop* loop_ = nullptr;  // set before address_ gets its value
  std::promise<Address> address_;
  Address where_;
  std::thread thread_;
};

// Gradients are summed and weights begin at zero, so after one step the weights are the sums with the
// opposite sign.
LinkServers::LinkServers(const RankLinks& links, int first_link, int count, const ModelShape& model,
                         Duration timeout) {
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    ParameterSpec spec;
    spec.name = cat("tensor", i);
    spec.rows = model.tensors[i].rows;
    spec.cols = model.tensors[i].cols;
    parameters_.push_back(std::move(spec));
  }
  job_.fingerprint = {{"model", model.name}};
  job_.parameters = [this](const DataSchema&) { return parameters_; };
  job_.optimizers = make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 1}}, "sum");
  job_.request_timeout = timeout;
  const ShardLimits limits = share_memory(available_memory_bytes(), count);
  for (int i = 0; i < count; ++i)
    servers_.push_back(std::make_unique<Server>(links, first_link + i, job_, limits));
}

LinkServers::~LinkServers() = default;

// Each trainer connects to all servers; a slow link must not end in a timeout, so theirs is that of the
// collectives.
RemoteOptions LinkServers::remote_options(int rank, int trainers) const {
  RemoteOptions options;
  for (const auto& server : servers_) options.servers.push_back(server->address());
  options.request_timeout = job_.request_timeout;
  options.hello.rank = rank;
  options.hello.trainers = trainers;
  options.hello.job = job_.fingerprint;
  options.hello.schema = to_json(DataSchema());
  return options;
}

}  // namespace ps
