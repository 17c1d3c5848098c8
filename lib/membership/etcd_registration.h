// EtcdRegistration: one server's place in etcd, where trainers find it and successors see that it lives.
// Used by EtcdFence.
//
//   PREFIX/servers/0      {"address": "node7:7164", "name": "node7:7164, process 4711"}, with the server's
//   lease PREFIX/generations/0  the name of who had the place last; stays
//
// Both are put by one change: its revision is the generation of the server, which later ones exceed.  So one
// whose lease has ended sees whether another had its place in the meantime, also when that is gone again.
#ifndef PS_MEMBERSHIP_ETCD_REGISTRATION_H_
#define PS_MEMBERSHIP_ETCD_REGISTRATION_H_

#include <string>
#include <vector>

#include "membership/etcd_client.h"

namespace ps {

// A server that is registered.
struct RegisteredServer {
  int number = 0;
  std::string address;  // of its first port
  std::string name;     // for people
  int64_t generation = 0;
};

// Returns the servers of a job, by their numbers.  Throws as EtcdClient does, and kData for entries that no
// server has put there.
std::vector<RegisteredServer> registered_servers(EtcdClient& client);

struct RegistrationOptions {
  int num_servers = 1;        // of the job
  std::string address, name;  // of this one
  int64_t lease_seconds = 15;
};

// One owner thread.  All throw as EtcdClient does.
class EtcdRegistration {
 public:
  EtcdRegistration(EtcdClient& client, RegistrationOptions options);

  // Takes a number that nobody has, the lowest, or that of a process that was here before at the same
  // address: it has ended, since this one listens there.  False when there is none.
  bool enter();

  // To be called several times in a lease.  When the lease has ended, or the entry is gone, this registers
  // anew: true.  Throws kFenced when another server has, or had, its place.
  bool renew();

  // Gives the place up.
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
