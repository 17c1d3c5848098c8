// FakeShards: servers that answer as a test says, on a simulated network, for tests of a trainer's side.
#ifndef PS_TESTS_UNIT_PS_FAKE_SHARDS_H_
#define PS_TESTS_UNIT_PS_FAKE_SHARDS_H_

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/server.h"
#include "net/sim/sim_network.h"
#include "ps/client/shard_links.h"

namespace ps {

// One shard a server.  A message of a type without a handler is not answered.
class FakeShards {
 public:
  struct Asked {
    size_t shard;
    Message type;
    std::string body;
  };
  using Handler = std::function<std::string(size_t shard, std::string_view body)>;

  explicit FakeShards(size_t count) : statuses(count) {
    for (size_t s = 0; s < count; ++s) {
      statuses[s].run = 7;
      servers_.push_back(std::make_unique<Server>(
          network_.host(name(s)), Address{name(s), kPort}, ServerOptions(),
          [this, s](SessionLink link) { return std::make_unique<FakeSession>(*this, s, std::move(link)); }));
    }
  }

  // Runs `body` as a process of a trainer.  Rethrows its error.
  void run(const std::function<void(ShardLinks&)>& body) {
    run_process([&](Transport& host, const RemoteOptions& options) {
      ShardLinks links(host, options);
      body(links);
    });
  }
  void run_process(const std::function<void(Transport&, const RemoteOptions&)>& body) {
    SimHost& host = network_.host("trainer");
    std::exception_ptr error;
    host.spawn([&] {
      RemoteOptions options;
      for (size_t s = 0; s < statuses.size(); ++s) options.servers.push_back({name(s), kPort});
      try {
        body(host, options);
      } catch (const Error&) {
        error = std::current_exception();
      }
    });
    bool ended = false;
    try {
      ended = network_.run_until([this] { return network_.processes_ended(); },
                                 network_.now() + std::chrono::minutes(10));
    } catch (const Error&) {  // of what the process waits for, which the network asks
      error = std::current_exception();
    }
    host.kill();
    if (!ended && !error) fail(Code::kInternal, "the trainer does not end");
    if (error) std::rethrow_exception(error);
  }

  // The messages of one type, in the order in which they came.
  std::vector<Asked> of_type(Message type) const {
    std::vector<Asked> some;
    for (const Asked& each : asked) {
      if (each.type == type) some.push_back(each);
    }
    return some;
  }

  std::vector<RunStatus> statuses;    // by shard
  std::map<size_t, int> lost_hellos;  // by shard: hellos to come that find the run lost
  std::map<Message, Handler> handlers;
  std::vector<Asked> asked;

 private:
  static constexpr uint16_t kPort = 1;

  class FakeSession final : public Session {
   public:
    FakeSession(FakeShards& shards, size_t shard, SessionLink link)
        : shards_(shards), shard_(shard), link_(std::move(link)) {}
    std::optional<uint64_t> max_body_bytes(uint16_t) override { return kMaxMessageBytes; }
    void on_request(Frame frame, Responder& responder) override {
      const Message type = static_cast<Message>(frame.header.type);
      const std::string body(frame.body.data(), frame.body.size());
      if (type == Message::kDescribe) {
        return responder.answer(Payload(ServerPorts::spec().to_json({{kPort}, 1, 1}).dump()));
      }
      if (type == Message::kHello) {
        if (shards_.lost_hellos[shard_] > 0) {
          --shards_.lost_hellos[shard_];
          fail(kStateLost, "the run goes back");
        }
        link_.establish();
        Welcome welcome;
        welcome.run_status = shards_.statuses[shard_];
        return responder.answer(Payload(Welcome::spec().to_json(welcome).dump()));
      }
      shards_.asked.push_back({shard_, type, body});
      const auto found = shards_.handlers.find(type);
      if (found == shards_.handlers.end()) return shards_.unanswered_.push_back(std::move(responder));
      responder.answer(Payload(found->second(shard_, body)));
    }

   private:
    FakeShards& shards_;
    const size_t shard_;
    SessionLink link_;
  };

  static std::string name(size_t shard) { return cat("server", shard); }

  SimNetwork network_{1};
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<Responder> unanswered_;
};

}  // namespace ps

#endif  // PS_TESTS_UNIT_PS_FAKE_SHARDS_H_
