#include "membership/etcd_client.h"

#include <algorithm>
#include <array>

#include "base/byte_text.h"
#include "base/error.h"
#include "config/json.h"
#include "net/http/http_client.h"

namespace ps {

namespace {

constexpr std::string_view kScheme = "etcd://";
constexpr uint16_t kDefaultPort = 2379;

[[noreturn]] void fail_shape(std::string_view what) {
  fail(Code::kData, "the answer has no ", what, " that can be read");
}

// Returns the field of an object, or null if it has none.
const Json& field(const Json& json, const char* name) {
  static const Json null;
  if (!json.is_object()) fail_shape(name);
  const auto found = json.find(name);
  return found == json.end() ? null : *found;
}

// 64-bit numbers are strings in JSON; a field whose value is 0 is left out.
int64_t number(const Json& json, const char* name) {
  const Json& value = field(json, name);
  if (value.is_null()) return 0;
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_string()) {
    if (const std::optional<int64_t> parsed = parse_int(value.get_ref<const std::string&>())) return *parsed;
  }
  fail_shape(name);
}

std::string bytes(const Json& json, const char* name) {
  const Json& value = field(json, name);
  if (value.is_null()) return "";
  if (value.is_string()) {
    if (std::optional<std::string> decoded = from_base64(value.get_ref<const std::string&>()))
      return *decoded;
  }
  fail_shape(name);
}

EtcdEntry entry_of(const Json& json) {
  return {.key = bytes(json, "key"),
          .value = bytes(json, "value"),
          .create_revision = number(json, "create_revision"),
          .mod_revision = number(json, "mod_revision")};
}

Json parse_answer(std::string_view text) {
  try {
    return parse_json(text, "answer");
  } catch (const Error& error) {
    fail(Code::kData, "the answer is no JSON: ", error.message());
  }
}

// Maps the status of gRPC: grpc.github.io/grpc/core/md_doc_statuscodes.html. kMayPass has unknown, deadline
// exceeded, not found (a lease that has just expired), resource exhausted, aborted, internal and
// unavailable; 7 is permission denied and 16 unauthenticated.
Code code_of(int64_t grpc, int status) {
  constexpr std::array<int64_t, 7> kMayPass = {2, 4, 5, 8, 10, 13, 14};
  if (grpc == 7 || grpc == 16 || status == 401 || status == 403) return Code::kAuthentication;
  if (std::ranges::count(kMayPass, grpc) > 0 || status >= 500) return Code::kUnavailable;
  return grpc != 0 ? Code::kUsage : Code::kData;
}

// The message quotes the answer, since the peer at this address may be another program than etcd.
[[noreturn]] void fail_refused(int status, const std::string& body) {
  constexpr size_t kMostText = 200;
  int64_t grpc = 0;
  std::string text = body;
  try {
    const Json json = parse_answer(body);
    grpc = number(json, "code");
    const Json& message = field(json, "message");
    if (message.is_string()) text = message.get<std::string>();
  } catch (const Error&) {
    // The peer is not etcd, or an unknown version of it, so that only the HTTP status can be reported.
  }
  fail(code_of(grpc, status), "answered with status ", status, ": ", quote(text.substr(0, kMostText)));
}

Json compare(const std::string& key, const EtcdCondition& condition) {
  const char* name = condition.created ? "create_revision" : "mod_revision";
  return {{"key", to_base64(key)},
          {"target", condition.created ? "CREATE" : "MOD"},
          {"result", "EQUAL"},
          {name, std::to_string(condition.revision)}};
}

}  // namespace

// ---- etcd's address

EtcdUrl parse_etcd_url(const std::string& text) {
  std::string_view rest = text;
  if (!rest.starts_with(kScheme)) {
    fail(Code::kUsage, quote(text), " is no place to be found in; expected etcd://HOST:PORT/PREFIX");
  }
  rest.remove_prefix(kScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  EtcdUrl url{.endpoints = {}, .prefix = std::string(rest.substr(slash)), .text = text};
  for (std::string_view one : split(rest.substr(0, slash), ',')) {
    url.endpoints.push_back(parse_address(one, kDefaultPort));
  }
  if (!url.prefix.ends_with('/')) url.prefix += '/';
  return url;
}

// ---- answers

std::vector<EtcdEntry> decode_etcd_list(std::string_view answer) {
  const Json json = parse_answer(answer);
  const Json& found = field(json, "kvs");
  if (!found.is_null() && !found.is_array()) fail_shape("kvs");
  std::vector<EtcdEntry> entries;
  for (const Json& entry : found) entries.push_back(entry_of(entry));
  return entries;
}

// A transaction whose conditions did not hold is an answer without `succeeded`, since a false value is left
// out.
std::optional<int64_t> decode_etcd_commit(std::string_view answer) {
  const Json json = parse_answer(answer);
  const Json& succeeded = field(json, "succeeded");
  if (succeeded.is_null() || succeeded == false) return std::nullopt;
  const int64_t revision = number(field(json, "header"), "revision");
  if (succeeded != true || revision <= 0) fail_shape("revision");
  return revision;
}

int64_t decode_etcd_grant(std::string_view answer) {
  const int64_t lease = number(parse_answer(answer), "ID");
  if (lease == 0) fail_shape("ID");
  return lease;
}

// An expired lease has no TTL in the answer.
bool decode_etcd_keep_alive(std::string_view answer, int64_t lease) {
  const Json json = parse_answer(answer);
  const Json& result = field(json, "result");
  if (number(result, "ID") != lease) fail_shape("ID");
  return number(result, "TTL") > 0;
}

// ---- requests

EtcdClient::EtcdClient(Transport& transport, EtcdUrl url, Duration timeout)
    : transport_(transport), url_(std::move(url)), timeout_(timeout) {
  PS_CHECK(!url_.endpoints.empty());
}

// A range [first, end) has all keys that begin with `first` if `end` is the same with its last byte one
// larger; prefixes end with a slash, so that the byte does not overflow.  A key outside the range would be
// of another job, and is refused.
std::vector<EtcdEntry> EtcdClient::list(std::string_view prefix) {
  const std::string first = full(prefix);
  std::string end = first;  // the first key after all keys that begin with the prefix
  ++end.back();
  std::vector<EtcdEntry> entries =
      decode_etcd_list(call("/v3/kv/range", {{"key", to_base64(first)}, {"range_end", to_base64(end)}}));
  for (EtcdEntry& entry : entries) {
    if (!entry.key.starts_with(first)) fail_shape("key");
    entry.key.erase(0, url_.prefix.size());
  }
  return entries;
}

std::optional<int64_t> EtcdClient::put_if(const std::vector<EtcdCondition>& conditions,
                                          const std::vector<EtcdPut>& puts) {
  Json operations = Json::array();
  for (const EtcdPut& put : puts) {
    operations.push_back({{"request_put",
                           {{"key", to_base64(full(put.key))},
                            {"value", to_base64(put.value)},
                            {"lease", std::to_string(put.lease)}}}});
  }
  return commit(conditions, std::move(operations));
}

std::optional<int64_t> EtcdClient::erase_if(const std::vector<EtcdCondition>& conditions,
                                            const std::string& key) {
  return commit(conditions, Json::array({{{"request_delete_range", {{"key", to_base64(full(key))}}}}}));
}

// Makes one transaction: etcd compares all conditions and makes all changes at once, or makes none.
std::optional<int64_t> EtcdClient::commit(const std::vector<EtcdCondition>& conditions, Json operations) {
  Json request = {{"compare", Json::array()}, {"success", std::move(operations)}};
  for (const EtcdCondition& condition : conditions) {
    request["compare"].push_back(compare(full(condition.key), condition));
  }
  return decode_etcd_commit(call("/v3/kv/txn", request));
}

int64_t EtcdClient::grant(int64_t seconds) {
  return decode_etcd_grant(call("/v3/lease/grant", {{"TTL", std::to_string(seconds)}}));
}

bool EtcdClient::keep_alive(int64_t lease) {
  return decode_etcd_keep_alive(call("/v3/lease/keepalive", {{"ID", std::to_string(lease)}}), lease);
}

void EtcdClient::revoke(int64_t lease) {
  call("/v3/lease/revoke", {{"ID", std::to_string(lease)}});
}

// Asks the endpoint first that answered last.  A change whose answer was lost may be made twice; its
// conditions make that harmless.
std::string EtcdClient::call(const std::string& path, const Json& request) {
  const HttpPost post{.target = path, .body = request.dump()};
  for (size_t tries = 1;; ++tries) {
    const Address& address = url_.endpoints[endpoint_];
    try {
      HttpAnswer answer = http_post(transport_, address, post, {.timeout = timeout_});
      if (answer.status != 200) fail_refused(answer.status, answer.body);
      return std::move(answer.body);
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable || tries >= url_.endpoints.size()) throw error.within("etcd");
      endpoint_ = (endpoint_ + 1) % url_.endpoints.size();
    }
  }
}

}  // namespace ps
