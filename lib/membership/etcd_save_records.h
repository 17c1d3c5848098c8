// EtcdSaveRecords: the records of saves in etcd, where they outlive the job's first server.  Used by RunSaves.
//
//   PREFIX/saves/pass-00003  the trainer that saves this model, with a lease; after the save, without a lease
//   PREFIX/signals/save      the trainer that answers the last signal, with a lease
#ifndef PS_MEMBERSHIP_ETCD_SAVE_RECORDS_H_
#define PS_MEMBERSHIP_ETCD_SAVE_RECORDS_H_

#include <map>
#include <string>
#include <vector>

#include "membership/etcd_client.h"
#include "membership/save_election.h"

namespace ps {

// Keeps alive the leases of the records that this process has put.  One owner thread.  Throws as EtcdClient
// does.
class EtcdSaveRecords final : public SaveRecords {
 public:
  explicit EtcdSaveRecords(EtcdClient& client) : client_(client) {}

  std::map<std::string, SaveRecord> list() override;
  bool put(const std::vector<SaveChange>& changes) override;
  bool erase(const std::string& key, int64_t version) override;
  bool renew(const std::string& key) override;

 private:
  EtcdClient& client_;
  std::map<std::string, int64_t> leases_;  // of the records that this process has put, by key
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_ETCD_SAVE_RECORDS_H_
