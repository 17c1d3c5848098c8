// FakeEtcd: as much of etcd's JSON gateway as membership uses, in the test's own thread; and whatever else a
// test would have it answer.
#ifndef PS_TESTS_SUPPORT_FAKE_ETCD_H_
#define PS_TESTS_SUPPORT_FAKE_ETCD_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_text.h"
#include "config/json.h"
#include "membership/etcd_client.h"
#include "net/network.h"

namespace ps {

// On the network's loop, which clients drive while they wait.
class FakeEtcd {
 public:
  struct Value {
    std::string value;
    int64_t created, changed, lease;
  };

  explicit FakeEtcd(Transport& network) : network_(network) {
    listener_ = network.listen({"127.0.0.1", 0}, [this](std::unique_ptr<Stream> stream) {
      if (!silent) peers_.push_back(std::make_unique<Peer>(*this, std::move(stream)));
    });
  }

  EtcdUrl url() const { return parse_etcd_url(cat("etcd://", to_text(listener_->address()), "/job")); }
  EtcdClient client(Duration timeout = std::chrono::seconds(5)) {
    return EtcdClient(network_, url(), timeout);
  }

  // Ends all leases that are no longer than this, and deletes their keys.
  void end_leases(int64_t longest = INT64_MAX) {
    std::erase_if(leases, [&](const auto& lease) {
      if (lease.second > longest) return false;
      std::erase_if(store, [id = lease.first](const auto& entry) { return entry.second.lease == id; });
      return true;
    });
  }

  std::map<std::string, Value> store;
  std::map<int64_t, int64_t> leases;  // seconds by id
  std::deque<std::string> raw;        // to be sent instead of answers, and then the connection ends
  bool silent = false;                // accepts nobody
  bool loses_answers = false;         // does what it is asked, and ends the connection

 private:
  struct Peer final : Stream::Events {
    Peer(FakeEtcd& etcd_in, std::unique_ptr<Stream> open) : etcd(etcd_in), stream(std::move(open)) {
      stream->set_events(this);
      stream->wait_readable();
    }
    void on_readable() override {
      char bytes[65536];
      const MutableBytes into(bytes);
      const IoResult result = stream->read({&into, 1});
      if (result.blocked()) return stream->wait_readable();
      if (result.bytes == 0) return stream.reset();
      in.append(bytes, result.bytes);
      const size_t head = in.find("\r\n\r\n"), length = in.find("Content-Length: ");
      if (head == std::string::npos || in.size() < head + 4 + std::stoul(in.substr(length + 16))) {
        return stream->wait_readable();
      }
      const std::string path = in.substr(5, in.find(' ', 5) - 5), body = in.substr(head + 4);
      const std::string answer = etcd.answer(path, parse_json(body, "request"));
      const ConstBytes from(answer);
      if (!answer.empty()) stream->write({&from, 1});
      stream.reset();
    }
    void on_writable() override {}

    FakeEtcd& etcd;
    std::unique_ptr<Stream> stream;
    std::string in;
  };

  static int64_t number(const Json& json, const char* name) {
    return json.contains(name) ? std::stoll(json[name].get<std::string>()) : 0;
  }
  static std::string bytes(const Json& json, const char* name) {
    return from_base64(json.at(name).get<std::string>()).value();
  }

  std::string answer(const std::string& path, const Json& request) {
    if (!raw.empty()) {
      std::string text = raw.front();
      raw.pop_front();
      return text;
    }
    const std::string body = act(path, request).dump();
    if (loses_answers) return "";
    return cat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  }

  Json act(const std::string& path, const Json& request) {
    if (path == "/v3/kv/range") return range(request);
    if (path == "/v3/kv/txn") return commit(request);
    if (path == "/v3/lease/grant") {
      leases[++last_lease_] = number(request, "TTL");
      return {{"ID", std::to_string(last_lease_)}, {"TTL", request["TTL"]}};
    }
    const int64_t id = number(request, "ID");
    if (path == "/v3/lease/revoke") {
      std::erase_if(store, [id](const auto& entry) { return entry.second.lease == id; });
      leases.erase(id);
      return Json::object();
    }
    Json result = {{"ID", request["ID"]}};
    if (leases.contains(id)) result["TTL"] = std::to_string(leases[id]);
    return {{"result", result}};
  }

  Json range(const Json& request) const {
    Json answer = {{"header", {{"revision", std::to_string(revision_)}}}};
    for (auto at = store.lower_bound(bytes(request, "key")); at != store.end(); ++at) {
      if (at->first >= bytes(request, "range_end")) break;
      answer["kvs"].push_back({{"key", to_base64(at->first)},
                               {"value", to_base64(at->second.value)},
                               {"create_revision", std::to_string(at->second.created)},
                               {"mod_revision", std::to_string(at->second.changed)}});
    }
    return answer;
  }

  bool holds(const Json& compare) const {
    const auto at = store.find(bytes(compare, "key"));
    const bool there = at != store.end();
    if (compare["target"] == "CREATE")
      return number(compare, "create_revision") == (there ? at->second.created : 0);
    return number(compare, "mod_revision") == (there ? at->second.changed : 0);
  }

  Json commit(const Json& request) {
    for (const Json& compare : request["compare"]) {
      if (!holds(compare)) return {{"header", {{"revision", std::to_string(revision_)}}}};
    }
    ++revision_;
    for (const Json& operation : request["success"]) {
      if (operation.contains("request_delete_range")) {
        store.erase(bytes(operation["request_delete_range"], "key"));
        continue;
      }
      const Json& put = operation["request_put"];
      const std::string key = bytes(put, "key");
      const int64_t created = store.contains(key) ? store[key].created : revision_;
      store[key] = {bytes(put, "value"), created, revision_, number(put, "lease")};
    }
    return {{"header", {{"revision", std::to_string(revision_)}}}, {"succeeded", true}};
  }

  Transport& network_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Peer>> peers_;
  int64_t revision_ = 1, last_lease_ = 100;
};

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_FAKE_ETCD_H_
