#include "ps/client/coming_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ps::coming_rows_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

std::vector<uint64_t> add(ComingRows& rows, std::vector<uint64_t> keys) {
  return rows.add(keys);
}

void expect(ComingRows& rows, std::vector<uint64_t> keys, uint64_t request) {
  rows.expect(keys, request);
}

TEST(ComingRows, ARowIsAskedForOnceAndTakenOnce) {
  ComingRows rows;
  EXPECT_THAT(add(rows, {3, 7}), ElementsAre(3, 7));
  expect(rows, {3, 7}, 5);
  EXPECT_THAT(add(rows, {7, 9}), ElementsAre(9));
  expect(rows, {9}, 6);
  EXPECT_THAT(rows.remove(7), Optional(5u));
  EXPECT_EQ(rows.remove(7), std::nullopt);
  EXPECT_THAT(rows.remove(9), Optional(6u));
  EXPECT_EQ(rows.remove(8), std::nullopt) << "nobody uses it";
}

TEST(ComingRows, ARowLeavesWithTheLastBatchThatUsesItUnlessItWasTaken) {
  ComingRows rows;
  add(rows, {1, 2, 3});
  add(rows, {2, 4});
  expect(rows, {1, 2, 3, 4}, 1);
  rows.remove(1);
  EXPECT_THAT(rows.end_batch(), ElementsAre(3)) << "1 was taken, and 2 is used again";
  EXPECT_TRUE(rows.is_used(2));
  EXPECT_FALSE(rows.is_used(3));
  EXPECT_THAT(rows.end_batch(), ElementsAre(2, 4));
  EXPECT_THAT(rows.end_batch(), IsEmpty()) << "there is no batch";
}

TEST(ComingRows, WhatWasPutOffIsWantedAgainWhileItIsUsedAndDoesNotCome) {
  ComingRows rows;
  add(rows, {1, 2});
  add(rows, {3, 5});
  for (uint64_t key : {1u, 3u, 5u}) rows.put_off(key);
  expect(rows, {5}, 0);  // it has left the device, and stays here
  rows.end_batch();
  EXPECT_THAT(add(rows, {2, 3, 4}), ElementsAre(2, 3, 4)) << "1 is used by no batch any more";
  EXPECT_THAT(add(rows, {6}), ElementsAre(6)) << "3 was put off once";
}

}  // namespace
}  // namespace ps::coming_rows_test
