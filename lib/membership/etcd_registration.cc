#include "membership/etcd_registration.h"

#include <algorithm>

#include "base/error.h"
#include "config/spec.h"

namespace ps {

namespace {

constexpr std::string_view kServers = "servers/", kGenerations = "generations/";

struct ServerText {
  std::string address, name;

  static const ObjectSpec<ServerText>& spec() {
    static const ObjectSpec<ServerText> spec = [] {
      ObjectSpec<ServerText> s;
      s.field("address", &ServerText::address, "of the first port").must();
      s.field("name", &ServerText::name, "for people").must();
      return s;
    }();
    return spec;
  }
};

std::string key_of(std::string_view folder, int number) {
  return cat(folder, number);
}

RegisteredServer server_of(const EtcdEntry& entry) {
  try {
    const std::optional<int64_t> number = parse_int(std::string_view(entry.key).substr(kServers.size()));
    if (!number || *number < 0 || *number > 1 << 16) fail(Code::kData, "no number of a server");
    const ServerText text = ServerText::spec().parse(parse_json(entry.value, "value"), "value");
    return {static_cast<int>(*number), text.address, text.name, entry.create_revision};
  } catch (const Error& error) {
    fail(Code::kData, "etcd: key ", quote(entry.key), ": ", error.message());
  }
}

}  // namespace

std::vector<RegisteredServer> registered_servers(EtcdClient& client) {
  std::vector<RegisteredServer> servers;
  for (const EtcdEntry& entry : client.list(kServers)) servers.push_back(server_of(entry));
  std::ranges::sort(servers, {}, &RegisteredServer::number);
  return servers;
}

EtcdRegistration::EtcdRegistration(EtcdClient& client, RegistrationOptions options)
    : client_(client), options_(std::move(options)) {}

// An entry with this process's own address is of an earlier process.  It is removed, under the condition
// that it is still the same entry, and its number is tried first.  If another server has been faster,
// create returns false, and the next free number is tried.
bool EtcdRegistration::enter() {
  std::vector<bool> taken(static_cast<size_t>(options_.num_servers));
  for (const RegisteredServer& server : registered_servers(client_)) {
    const std::string key = key_of(kServers, server.number);
    if (server.address == options_.address) {
      client_.erase_if({{.key = key, .revision = server.generation}}, key);
      if (server.number < options_.num_servers && create(server.number, {})) return true;
    }
    if (server.number < options_.num_servers) taken[static_cast<size_t>(server.number)] = true;
  }
  for (int number = 0; number < options_.num_servers; ++number) {
    if (!taken[static_cast<size_t>(number)] && create(number, {})) return true;
  }
  return false;
}

// Puts the entry, with a new lease, and the generation in one change, under the conditions and the one that
// nobody has the number.  Returns false, with the lease revoked, if a condition does not hold.
bool EtcdRegistration::create(int number, std::vector<EtcdCondition> conditions) {
  const std::string key = key_of(kServers, number);
  const std::string value = ServerText::spec().to_json({options_.address, options_.name}).dump();
  conditions.push_back({.key = key, .revision = 0});
  lease_ = client_.grant(options_.lease_seconds);
  const std::optional<int64_t> revision =
      client_.put_if(conditions, {{.key = key, .value = value, .lease = lease_},
                                  {.key = key_of(kGenerations, number), .value = options_.name}});
  if (!revision) {
    leave();
    return false;
  }
  number_ = number;
  generation_ = *revision;
  return true;
}

// The entry may be missing although the lease is valid, if a user has deleted it.  If the entry is gone,
// the server registers anew, under the condition that the generation of its number is still its own, so
// that no other server has had the number meanwhile.
bool EtcdRegistration::renew() {
  if (client_.keep_alive(lease_)) {
    for (const RegisteredServer& server : registered_servers(client_)) {
      if (server.number != number_ || server.name != options_.name) continue;
      generation_ = server.generation;  // differs from the last one if the answer to the change was lost
      return false;
    }
  }
  const EtcdCondition still_last{
      .key = key_of(kGenerations, number_), .created = false, .revision = generation_};
  if (!create(number_, {still_last})) fail_replaced();
  return true;
}

void EtcdRegistration::fail_replaced() {
  for (const EtcdEntry& entry : client_.list(kGenerations)) {
    if (entry.key != key_of(kGenerations, number_)) continue;
    if (entry.value == options_.name) {  // the last change was our own, and its answer was lost
      generation_ = entry.mod_revision;
      fail(Code::kUnavailable, "etcd: it is not known whether this server is registered");
    }
    fail(Code::kFenced, "another server has taken the place of this one: server ", number_, " of the job is ",
         entry.value, ", of generation ", entry.mod_revision, " after ", generation_);
  }
  fail(Code::kFenced, "this server's place, number ", number_, ", is gone from etcd");
}

// A lease that cannot be revoked now expires by itself.
void EtcdRegistration::leave() {
  try {
    if (lease_ != 0) client_.revoke(lease_);
  } catch (const Error&) {
  }
  lease_ = 0;
}

}  // namespace ps
