// Headers that show a token of status pages, or of operators, and all those that do not.
#include "net/auth/http_token.h"

#include <gtest/gtest.h>

#include "base/byte_text.h"
#include "base/error.h"

namespace ps::http_token_test {
namespace {

const std::string kHeard = "000102030405060708090a0b0c0d0e0f", kTrains = "ffeeddccbbaa99887766554433221100";

const std::vector<Token> kAccepted = {{Access::kTrain, *from_hex(kTrains)},
                                      {kStatusAccess, *from_hex("a0" + kHeard)},
                                      {kStatusAccess, *from_hex(kHeard)}};

std::string basic(const std::string& user) {
  return "Basic " + to_base64(user);
}

TEST(HttpToken, IsABearerOrThePasswordOfAnyUser) {
  for (const std::string& header : std::vector<std::string>{
           "Bearer " + kHeard, "bearer  " + kHeard, "BEARER 000102030405060708090A0B0C0D0E0F",
           "Bearer a0" + kHeard, basic("me:" + kHeard), basic(":" + kHeard)}) {
    EXPECT_EQ(check_http_token(header, kAccepted, kStatusAccess), ShownToken::kRight) << header;
  }
}

TEST(HttpToken, NothingElseIsRight) {
  EXPECT_EQ(check_http_token("", kAccepted, kStatusAccess), ShownToken::kNone);
  for (const std::string& header : std::vector<std::string>{
           "Bearer", "Bearer ", kHeard, "Bearer" + kHeard, "Bearer\t" + kHeard, "Bearer " + kHeard + " ",
           "Bearer " + kHeard.substr(2), "Bearer " + kHeard + "00", "Digest " + kHeard, "Bearer " + kTrains,
           basic("train:" + kTrains), basic(kHeard), basic("me:" + kHeard + ":"), "Basic " + kHeard,
           "Basic ====", "Bearer " + std::string(4000, '0')}) {
    EXPECT_EQ(check_http_token(header, kAccepted, kStatusAccess), ShownToken::kWrong) << header;
  }
  for (size_t bit = 0; bit < 4 * kHeard.size(); ++bit) {
    std::string other = *from_hex(kHeard);
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(check_http_token("Bearer " + kHeard, {{kStatusAccess, other}}, kStatusAccess),
              ShownToken::kWrong)
        << bit;
  }
  EXPECT_EQ(check_http_token("Bearer " + kHeard, {}, kStatusAccess), ShownToken::kWrong);
}

TEST(HttpToken, OfAnOperatorIsABearerAloneAndShowsNoPage) {
  const std::string operates = "0123456789abcdef0123456789abcdef";
  const std::vector<Token> accepted = {{Access::kAdmin, *from_hex(operates)},
                                       {kStatusAccess, *from_hex(kHeard)}};
  EXPECT_EQ(check_http_token("Bearer " + operates, accepted, Access::kAdmin), ShownToken::kRight);
  EXPECT_EQ(check_http_token("", accepted, Access::kAdmin), ShownToken::kNone);
  EXPECT_EQ(check_http_token(basic("me:" + operates), accepted, Access::kAdmin), ShownToken::kWrong);
  EXPECT_EQ(check_http_token("Bearer " + kHeard, accepted, Access::kAdmin), ShownToken::kWrong);
  EXPECT_EQ(check_http_token("Bearer " + operates, accepted, kStatusAccess), ShownToken::kWrong);
}

}  // namespace
}  // namespace ps::http_token_test
