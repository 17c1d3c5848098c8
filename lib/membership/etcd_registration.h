// EtcdRegistration: one server's entry in etcd, by which trainers find it and successors see that it is
// alive.  Used by EtcdFence.
//
//   PREFIX/servers/0      {"address": "node7:7164", "name": "node7:7164, process 4711"}, with the server's lease
//   PREFIX/generations/0  the name of the last server with this number; never removed
//
// One change puts both; its revision is the generation of the server, and later servers have larger ones.  So a
// server whose lease has expired can tell if another server has had its number since, even if that server has
// gone again.
#ifndef PS_MEMBERSHIP_ETCD_REGISTRATION_H_
#define PS_MEMBERSHIP_ETCD_REGISTRATION_H_

#include <string>
#include <vector>

#include "membership/etcd_client.h"

namespace ps {

// A server that is registered.
struct RegisteredServer {
  int number = 0;
  std::string address;  // host and port of its first shard
  std::string name;     // for messages
  int64_t generation = 0;
};

// Returns the servers of a job, by their numbers.  Throws as EtcdClient does, and kData for entries that no
// server has put there.
std::vector<RegisteredServer> registered_servers(EtcdClient& client);

struct RegistrationOptions {
  int num_servers = 1;        // in the job
  std::string address, name;  // of this server
  int64_t lease_seconds = 15;
};

// One owner thread.  All functions throw as EtcdClient does.
class EtcdRegistration {
 public:
  EtcdRegistration(EtcdClient& client, RegistrationOptions options);

  // Takes the lowest free number, or the number of an earlier process with the same address, which must have
  // ended, since this process listens there.  Returns false if there is no such number.
  bool enter();

  // To be called several times during a lease.  If the lease has expired, or the entry is missing, registers
  // anew and returns true.  Throws kFenced if another server has, or has had, its number.
  bool renew();

  // Removes the entry, so that another server may take the number.
  void leave();

  int number() const { return number_; }
  int64_t generation() const { return generation_; }

 private:
  bool create(int number, std::vector<EtcdCondition> conditions);
  [[noreturn]] void fail_replaced();

  EtcdClient& client_;
  const RegistrationOptions options_;
  int64_t lease_ = 0;
  int number_ = -1;
  int64_t generation_ = 0;
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_ETCD_REGISTRATION_H_
