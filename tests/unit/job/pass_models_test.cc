#include "job/pass_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/scratch_folder.h"

namespace ps::pass_models_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(PassModels, AreFineWhenEachWasSavedOrLeftToAnother) {
  PassModels models;
  models.check();
  models.begin("pass-00000");
  models.saved("pass-00000");
  models.begin("pass-00001");
  models.leave("pass-00001");
  models.check();
  EXPECT_FALSE(models.is_begun("pass-00000"));
  EXPECT_FALSE(models.is_begun("pass-00001"));
}

TEST(PassModels, OneThatWasBegunAndNeverSavedIsLost) {
  PassModels models;
  models.begin("pass-00000");
  models.saved("pass-00000");
  models.begin("pass-00001");
  EXPECT_TRUE(models.is_begun("pass-00001"));
  const Error error = error_of([&] { models.check(); });
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("1 of 2 models"), HasSubstr("pass-00001: the run went back")));
}

TEST(PassModels, OneThatFailedAndIsSavedLaterIsFine) {
  PassModels models;
  models.failed("pass-00000", "disk full");
  EXPECT_THAT(error_of([&] { models.check(); }).message(), HasSubstr("pass-00000: disk full"));
  models.begin("pass-00000");
  models.saved("pass-00000");
  models.check();
}

}  // namespace
}  // namespace ps::pass_models_test
