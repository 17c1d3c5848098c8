#include "ps/wire/message_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/scratch_folder.h"

namespace ps::message_body_test {
namespace {

using testing::HasSubstr;

TEST(MessageBody, EndsWhereItsLastFieldDoes) {
  const std::string body(4, '\0');
  ByteReader in(body);
  in.get<uint32_t>();
  expect_end(in, "pull");
}

TEST(MessageBody, IsRefusedWhenItIsCutShort) {
  const std::string body(3, '\0');
  ByteReader in(body);
  in.get<uint32_t>();
  const Error error = error_of([&] { expect_end(in, "pull"); });
  EXPECT_EQ(error.code(), Code::kData);
  EXPECT_THAT(error.message(), HasSubstr("pull: the body is cut short"));
}

TEST(MessageBody, IsRefusedWhenBytesFollow) {
  const std::string body(7, '\0');
  ByteReader in(body);
  in.get<uint32_t>();
  const Error error = error_of([&] { expect_end(in, "push"); });
  EXPECT_EQ(error.code(), Code::kData);
  EXPECT_THAT(error.message(), HasSubstr("push: 3 bytes too many"));
}

}  // namespace
}  // namespace ps::message_body_test
