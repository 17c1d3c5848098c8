// EtcdClient: the few things that membership needs of etcd, over the JSON gateway of its version 3.  Used by
// EtcdRegistration, ServerFinder and SaveElection.
//
//   POST /v3/kv/range    {"key": base64, "range_end": base64}
//   POST /v3/kv/txn      {"compare": [...], "success": [...], "failure": [...]}
//   POST /v3/lease/grant {"TTL": "15"}, /v3/lease/keepalive {"ID": "..."}, /v3/lease/revoke {"ID": "..."}
//
// Keys and values travel in base64, 64-bit numbers as strings, and what is zero does not travel.
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

// Where keys are: "etcd://host:port[,host:port...]/prefix".
struct EtcdPlace {
  std::vector<Address> endpoints;  // members of one cluster: any of them answers
  std::string prefix;              // "/prefix/": no slash at its end has to be thought of

  std::string text;  // as it was given, for people
};

// Throws kUsage.
EtcdPlace parse_etcd_place(const std::string& text);

struct EtcdEntry {
  std::string key, value;
  int64_t create_revision = 0, mod_revision = 0;  // of the whole store, ever rising
};

// A condition that must hold for a change to be made: a key without a value has the revisions 0.
struct EtcdCondition {
  std::string key;
  bool created = true;  // its create_revision is `revision`; else its mod_revision is
  int64_t revision = 0;
};

struct EtcdPut {
  std::string key, value;
  int64_t lease = 0;  // with which it goes; 0: it stays
};

// Decoders of etcd's answers, for EtcdClient.  They throw kData.
std::vector<EtcdEntry> decode_etcd_list(std::string_view answer);
std::optional<int64_t> decode_etcd_commit(std::string_view answer);  // the revision, when conditions held
int64_t decode_etcd_grant(std::string_view answer);
bool decode_etcd_keep_alive(std::string_view answer, int64_t lease);

// One owner thread.  All throw kUnavailable when no endpoint answers, kData when one answers what makes no
// sense, and what etcd says otherwise: kAuthentication, kUnavailable for what may pass, kUsage.
class EtcdClient {
 public:
  EtcdClient(Transport& transport, EtcdPlace place, Duration timeout);

  const EtcdPlace& place() const { return place_; }

  // Keys that begin with `prefix`, less what the place has of it, in their order.
  std::vector<EtcdEntry> list(std::string_view prefix);

  // Puts all, or erases a key, if all conditions hold: the store's revision after it.  Nothing: one does not.
  std::optional<int64_t> put_if(const std::vector<EtcdCondition>& conditions,
                                const std::vector<EtcdPut>& puts);
  std::optional<int64_t> erase_if(const std::vector<EtcdCondition>& conditions, const std::string& key);

  // A lease that ends after so many seconds without keep_alive; its id.
  int64_t grant(int64_t seconds);
  // Returns false when the lease has ended.
  bool keep_alive(int64_t lease);
  void revoke(int64_t lease);

 private:
  std::string call(const std::string& path, const Json& request);
  std::optional<int64_t> commit(const std::vector<EtcdCondition>& conditions, Json operations);
  std::string full(std::string_view key) const { return cat(place_.prefix, key); }

  Transport& transport_;
  const EtcdPlace place_;
  const Duration timeout_;
  size_t endpoint_ = 0;  // that answered last
};

// RFC 4648, with padding.  from_base64 gives nothing when the text is none.
std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

}  // namespace ps

#endif  // PS_MEMBERSHIP_ETCD_CLIENT_H_
