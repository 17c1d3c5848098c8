// Servers that know of each other from etcd, and strange entries there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "membership/etcd_registration.h"
#include "membership/etcd_save_records.h"
#include "support/fake_etcd.h"
#include "support/scratch_folder.h"

namespace ps::etcd_membership_test {
namespace {

using testing::HasSubstr;

class EtcdMembershipTest : public testing::Test {
 protected:
  EtcdRegistration server(const std::string& address, const std::string& name) {
    return EtcdRegistration(client_, {.num_servers = 2, .address = address, .name = name});
  }
  std::string addresses() {
    std::string all;
    for (const RegisteredServer& each : registered_servers(client_))
      all += cat(each.number, "=", each.address, " ");
    return all;
  }

  const std::unique_ptr<Transport> network_ = make_network();
  FakeEtcd etcd_{*network_};
  EtcdClient client_ = etcd_.client();
};

TEST_F(EtcdMembershipTest, ServersTakeTheNumbersOfTheJob) {
  auto a = server("a:1", "A"), b = server("b:1", "B"), c = server("c:1", "C");
  EXPECT_TRUE(a.enter());
  EXPECT_TRUE(b.enter());
  EXPECT_FALSE(c.enter()) << "there are two";
  EXPECT_EQ(addresses(), "0=a:1 1=b:1 ");
  EXPECT_GT(b.generation(), a.generation());
  a.leave();
  EXPECT_TRUE(c.enter());
  EXPECT_EQ(addresses(), "0=c:1 1=b:1 ");
  EXPECT_GT(c.generation(), b.generation());
}

TEST_F(EtcdMembershipTest, AProcessThatComesAgainAtItsAddressHasItsPlaceAtOnce) {
  auto a = server("a:1", "A"), b = server("b:1", "B"), again = server("b:1", "B again");
  ASSERT_TRUE(a.enter() && b.enter());
  EXPECT_TRUE(again.enter());
  EXPECT_EQ(again.number(), 1);
  EXPECT_GT(again.generation(), b.generation());
  const Error fenced = error_of([&] { b.renew(); });
  EXPECT_EQ(fenced.code(), Code::kFenced);
  EXPECT_THAT(fenced.message(), HasSubstr("server 1 of the job is B again, of generation"));
  EXPECT_FALSE(again.renew());
}

TEST_F(EtcdMembershipTest, OneWhoseLeaseHasEndedRegistersAnewUnlessAnotherHadItsPlace) {
  auto a = server("a:1", "A"), b = server("b:1", "B");
  ASSERT_TRUE(a.enter());
  EXPECT_FALSE(a.renew());
  const int64_t before = a.generation();
  etcd_.end_leases();
  EXPECT_TRUE(a.renew());
  EXPECT_GT(a.generation(), before);
  EXPECT_EQ(addresses(), "0=a:1 ");
  EXPECT_FALSE(a.renew());
  etcd_.end_leases();
  ASSERT_TRUE(b.enter());
  b.leave();
  EXPECT_EQ(addresses(), "") << "B was there, and is gone";
  EXPECT_EQ(error_of([&] { a.renew(); }).code(), Code::kFenced);
}

TEST_F(EtcdMembershipTest, AnEntryTakenAwayByHandComesAgain) {
  auto a = server("a:1", "A");
  ASSERT_TRUE(a.enter());
  etcd_.store.erase("/job/servers/0");
  EXPECT_TRUE(a.renew());
  EXPECT_EQ(addresses(), "0=a:1 ");
}

TEST_F(EtcdMembershipTest, AnAnswerThatIsLostDoesNotFenceItsServer) {
  auto a = server("a:1", "A");
  etcd_.loses_answers = true;
  EXPECT_EQ(error_of([&] { a.enter(); }).code(), Code::kUnavailable);
  etcd_.loses_answers = false;
  ASSERT_TRUE(a.enter());
  etcd_.end_leases();
  // The change is made, its answer is lost; then the new lease ends too.
  etcd_.raw.clear();
  for (int lost = 1; lost <= 3; ++lost) {
    etcd_.loses_answers = true;
    EXPECT_EQ(error_of([&] { a.renew(); }).code(), Code::kUnavailable);
    etcd_.loses_answers = false;
  }
  EXPECT_NO_THROW(a.renew());
  EXPECT_EQ(addresses(), "0=a:1 ");
}

TEST_F(EtcdMembershipTest, StrangeEntriesAreNamed) {
  etcd_.store["/job/servers/x"] = {"{}", 1, 1, 0};
  const Error error = error_of([&] { registered_servers(client_); });
  EXPECT_EQ(error.code(), Code::kData);
  EXPECT_THAT(error.message(), HasSubstr("key 'servers/x'"));
  etcd_.store.clear();
  etcd_.store["/job/servers/0"] = {"{\"address\": 7}", 1, 1, 0};
  EXPECT_EQ(error_of([&] { registered_servers(client_); }).code(), Code::kData);
}

TEST_F(EtcdMembershipTest, AStrangeRecordOfASaveIsNamed) {
  EtcdSaveRecords records(client_);
  etcd_.store["/job/saves/pass-00000"] = {"{\"rank\": 7}", 1, 1, 0};
  const Error error = error_of([&] { elect_saver(records, {1, 0, 7}, SaveStage::kBegin, "pass-00000"); });
  EXPECT_EQ(error.code(), Code::kData);
  EXPECT_THAT(error.message(), HasSubstr("key 'saves/pass-00000'"));
}

}  // namespace
}  // namespace ps::etcd_membership_test
