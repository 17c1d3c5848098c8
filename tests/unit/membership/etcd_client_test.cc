#include "membership/etcd_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_etcd.h"
#include "support/scratch_folder.h"

namespace ps::etcd_client_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string http(int status, std::string_view body) {
  return cat("HTTP/1.1 ", status, " Whatever\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

class EtcdClientTest : public testing::Test {
 protected:
  Error error_of_list(const std::string& answer, Duration timeout = 5s) {
    etcd_.raw.push_back(answer);
    EtcdClient client = etcd_.client(timeout);
    return error_of([&] { client.list("servers/"); });
  }

  const std::unique_ptr<Transport> network_ = make_network();
  FakeEtcd etcd_{*network_};
};

TEST_F(EtcdClientTest, PlacesHaveEndpointsAndAPrefix) {
  const EtcdUrl url = parse_etcd_url("etcd://a:1,b,[::1]:3/jobs/ctr");
  EXPECT_EQ(url.prefix, "/jobs/ctr/");
  EXPECT_EQ(url.endpoints, (std::vector<Address>{{"a", 1}, {"b", 2379}, {"::1", 3}}));
  EXPECT_EQ(parse_etcd_url("etcd://a").prefix, "/");
  for (const char* bad :
       {"", "a:2379", "http://a/b", "etcd://", "etcd:///b", "etcd://a:x/b", "etcd://a,,b/c"}) {
    EXPECT_EQ(error_of([&] { parse_etcd_url(bad); }).code(), Code::kUsage) << bad;
  }
}

TEST_F(EtcdClientTest, ChangesAreMadeIfNothingElseHas) {
  EtcdClient client = etcd_.client();
  const int64_t lease = client.grant(15);
  const auto first = client.put_if({{.key = "a/1"}}, {{.key = "a/1", .value = "one", .lease = lease}});
  ASSERT_TRUE(first);
  EXPECT_FALSE(client.put_if({{.key = "a/1"}}, {{.key = "a/1", .value = "two"}}));
  EXPECT_FALSE(client.erase_if({{.key = "a/1", .revision = *first + 1}}, "a/1"));
  client.put_if({}, {{.key = "a0", .value = "another folder"}});
  const std::vector<EtcdEntry> entries = client.list("a/");
  ASSERT_EQ(entries.size(), 1);
  EXPECT_EQ(entries[0].key, "a/1");
  EXPECT_EQ(entries[0].value, "one");
  EXPECT_EQ(entries[0].create_revision, *first);
  EXPECT_TRUE(etcd_.store.contains("/job/a/1"));
  EXPECT_TRUE(client.keep_alive(lease));
  etcd_.end_leases();
  EXPECT_FALSE(client.keep_alive(lease));
  EXPECT_TRUE(client.list("a/").empty());
}

TEST_F(EtcdClientTest, AnotherEndpointIsAskedWhenOneIsGone) {
  EtcdUrl url = etcd_.url();
  url.endpoints.insert(url.endpoints.begin(), {"127.0.0.1", 1});
  EtcdClient client(*network_, url, 5s);
  EXPECT_NO_THROW(client.grant(15));
}

TEST_F(EtcdClientTest, AnswersThatMakeNoSenseAreRefused) {
  for (const char* body :
       {"", "{", "[]", "7", "null", "\"x\"", "{\"kvs\": 7}", "{\"kvs\": [7]}", "{\"kvs\": {\"key\": \"\"}}",
        "{\"kvs\": [{\"key\": 7}]}", "{\"kvs\": [{\"key\": \"!!!!\"}]}", "{\"kvs\": [{}]}",
        "{\"kvs\": [{\"key\": \"L290aGVyLw==\"}]}",
        "{\"kvs\": [{\"key\": \"L2pvYi9zZXJ2ZXJzLzA=\", \"mod_revision\": \"x\"}]}",
        "{\"kvs\": [{\"key\": \"L2pvYi9zZXJ2ZXJzLzA=\", \"create_revision\": \"99999999999999999999\"}]}",
        "{\"kvs\": [{\"key\": \"L2pvYi9zZXJ2ZXJzLzA=\", \"value\": \"a\"}]}"}) {
    EXPECT_EQ(error_of_list(http(200, body)).code(), Code::kData) << body;
  }
  const std::string deep(100000, '[');
  EXPECT_EQ(error_of_list(http(200, deep)).code(), Code::kData);
  EtcdClient client = etcd_.client();
  for (const char* body : {"{}", "{\"ID\": \"0\"}", "{\"ID\": []}", "{\"ID\": \"7x\"}"}) {
    etcd_.raw.push_back(http(200, body));
    EXPECT_EQ(error_of([&] { client.grant(5); }).code(), Code::kData) << body;
  }
  for (const char* body :
       {"{}", "{\"result\": {}}", "{\"result\": {\"ID\": \"8\", \"TTL\": \"5\"}}", "{\"result\": 7}"}) {
    etcd_.raw.push_back(http(200, body));
    EXPECT_EQ(error_of([&] { client.keep_alive(7); }).code(), Code::kData) << body;
  }
  for (const char* body :
       {"{\"succeeded\": true}", "{\"succeeded\": 1}", "{\"succeeded\": true, \"header\": 7}"}) {
    etcd_.raw.push_back(http(200, body));
    EXPECT_EQ(error_of([&] { client.put_if({}, {}); }).code(), Code::kData) << body;
  }
}

TEST_F(EtcdClientTest, WhatIsNoHttpIsRefused) {
  EXPECT_EQ(error_of_list("220 mail.example ESMTP\r\n").code(), Code::kData);
  EXPECT_EQ(error_of_list("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}").code(), Code::kData);
  EXPECT_EQ(error_of_list("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}").code(), Code::kData);
  EXPECT_EQ(error_of_list(cat("HTTP/1.1 200 OK\r\nX: ", std::string(40000, 'x'))).code(), Code::kData);
  EXPECT_EQ(error_of_list("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").code(), Code::kData);
}

TEST_F(EtcdClientTest, WhatMayPassIsTriedAgainByWhoeverAsks) {
  EXPECT_EQ(error_of_list("").code(), Code::kUnavailable) << "the connection ends";
  EXPECT_EQ(error_of_list("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}").code(), Code::kUnavailable)
      << "half an answer";
  EXPECT_EQ(error_of_list(http(500, "down")).code(), Code::kUnavailable);
  EXPECT_EQ(error_of_list(http(503, "{\"code\": 14, \"message\": \"etcdserver: no leader\"}")).code(),
            Code::kUnavailable);
  const Error refused = error_of_list(http(400, "{\"code\": 16, \"message\": \"no token\"}"));
  EXPECT_EQ(refused.code(), Code::kAuthentication);
  EXPECT_THAT(refused.message(), HasSubstr("answered with status 400: 'no token'"));
  EXPECT_EQ(error_of_list(http(400, "{\"code\": 3, \"message\": \"key is not provided\"}")).code(),
            Code::kUsage);
  EXPECT_EQ(error_of_list(http(404, "404 page not found")).code(), Code::kData);
  EXPECT_EQ(error_of_list(http(302, "")).code(), Code::kData);
  etcd_.silent = true;
  EtcdClient client = etcd_.client(50ms);
  EXPECT_EQ(error_of([&] { client.list("x/"); }).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace ps::etcd_client_test
