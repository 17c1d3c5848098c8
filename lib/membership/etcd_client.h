// EtcdClient: the operations of etcd that membership needs, over the JSON gateway of etcd's version 3.  Used by
// EtcdRegistration, EtcdSaveRecords and ServerFinder.
//
//   POST /v3/kv/range    {"key": base64, "range_end": base64}
//   POST /v3/kv/txn      {"compare": [...], "success": [...], "failure": [...]}
//   POST /v3/lease/grant {"TTL": "15"}, /v3/lease/keepalive {"ID": "..."}, /v3/lease/revoke {"ID": "..."}
//
// Keys and values are sent in base64, 64-bit numbers as strings; fields whose value is zero are left out.
#ifndef PS_MEMBERSHIP_ETCD_CLIENT_H_
#define PS_MEMBERSHIP_ETCD_CLIENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fwd.h"
#include "net/transport.h"

namespace ps {

// The address of a job's keys: "etcd://host:port[,host:port...]/prefix".
struct EtcdUrl {
  std::vector<Address> endpoints;  // members of one cluster, any of which may be asked
  std::string prefix;              // "/prefix/", with a slash at its end

  std::string text;  // as the user wrote it, for messages
};

// Throws kUsage for a malformed address.
EtcdUrl parse_etcd_url(const std::string& text);

struct EtcdEntry {
  std::string key, value;
  int64_t create_revision = 0, mod_revision = 0;  // of the whole store; revisions only grow
};

// A condition of a change.  A key without a value has the revisions 0.
struct EtcdCondition {
  std::string key;
  bool created = true;  // compares create_revision with `revision`; else mod_revision
  int64_t revision = 0;
};

struct EtcdPut {
  std::string key, value;
  int64_t lease = 0;  // the lease that the value expires with; 0: none
};

// Decoders of etcd's answers, for EtcdClient.  They throw kData.
std::vector<EtcdEntry> decode_etcd_list(std::string_view answer);
std::optional<int64_t> decode_etcd_commit(std::string_view answer);  // the revision, if all conditions held
int64_t decode_etcd_grant(std::string_view answer);
bool decode_etcd_keep_alive(std::string_view answer, int64_t lease);

// One owner thread.  All functions throw kUnavailable if no endpoint answers, and kData for a malformed
// answer. Errors that etcd reports become kAuthentication, kUnavailable if they may pass, or kUsage.
class EtcdClient {
 public:
  EtcdClient(Transport& transport, EtcdUrl url, Duration timeout);

  const EtcdUrl& url() const { return url_; }

  // Returns the keys that begin with the job's prefix and `prefix`, without the job's prefix, in their order.
  std::vector<EtcdEntry> list(std::string_view prefix);

  // Puts all values, or erases a key, if all conditions hold.  Returns the store's revision after it, or
  // nothing if a condition does not hold.
  std::optional<int64_t> put_if(const std::vector<EtcdCondition>& conditions,
                                const std::vector<EtcdPut>& puts);
  std::optional<int64_t> erase_if(const std::vector<EtcdCondition>& conditions, const std::string& key);

  // Grants a lease that expires after so many seconds without keep_alive; returns its id.
  int64_t grant(int64_t seconds);
  // Returns false when the lease has expired.
  bool keep_alive(int64_t lease);
  void revoke(int64_t lease);

 private:
  std::string call(const std::string& path, const Json& request);
  std::optional<int64_t> commit(const std::vector<EtcdCondition>& conditions, Json operations);
  std::string full(std::string_view key) const { return cat(url_.prefix, key); }

  Transport& transport_;
  const EtcdUrl url_;
  const Duration timeout_;
  size_t endpoint_ = 0;  // the one that answered last
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_ETCD_CLIENT_H_
