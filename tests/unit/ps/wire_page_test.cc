// The examples of ps-wire(5) are the bytes that the code makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/file.h"
#include "base/text.h"
#include "ps/server/shard.h"
#include "ps/wire/hello.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_status.h"
#include "support/wire_page.h"

namespace ps::wire_page_test {
namespace {

std::string example(const std::string& name) {
  return page_example(read_file(PS_WIRE_PAGE), name);
}

// Keeps the answer.
class PayloadReply final : public Reply {
 public:
  explicit PayloadReply(std::shared_ptr<const Payload>& payload) : payload_(payload) {}
  void answer(std::shared_ptr<const Payload> payload) override { payload_ = std::move(payload); }
  void fail(const Error& error) override { throw error; }
  bool wanted() const override { return true; }

 private:
  std::shared_ptr<const Payload>& payload_;
};

class WirePage : public testing::Test {
 protected:
  static constexpr uint16_t kPull = static_cast<uint16_t>(Message::kPull);
  const std::vector<uint64_t> keys_ = {1, 5, 1000};

  std::string pull() const {
    std::string parts;
    encode_key_slice(0, keys_, parts);
    return encode_pull({.step = 7, .type = RowType::kF16, .number = 3}, 1, parts);
  }
};

TEST_F(WirePage, APullIsAsItSays) {
  EXPECT_EQ(example("pull"), hex_lines(frame_bytes({.type = kPull, .request_id = 2}, Payload(pull()))));
}

// The section of the page on hello, up to the next.
TEST_F(WirePage, NamesTheVersionAndAllThatHelloAndItsAnswerHave) {
  const std::string page = read_file(PS_WIRE_PAGE);
  const size_t begin = page.find(".It Cm hello\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string section = page.substr(begin, page.find(".It Cm", begin + 1) - begin);
  EXPECT_THAT(section, testing::HasSubstr(cat(".Cm protocol\n(", kProtocolVersion, ")")));
  const auto expect_named = [&](const auto& spec) {
    for (const auto& field : spec.fields())
      EXPECT_TRUE(std::regex_search(section, std::regex("\\b" + field->name + "\\b"))) << field->name;
  };
  expect_named(Hello::spec());
  expect_named(RunStatus::spec());
}

TEST_F(WirePage, ItsAnswerIsAsItSays) {
  ParameterSpec table;
  table.name = "table";
  table.kind = ParameterKind::kRows;
  table.sparse = true;
  table.cols = 2;
  Shard shard({table}, make_optimizer_plan({{"type", "sgd"}}, "mean"), ShardPlace(), {}, {});
  std::string parts;
  encode_key_slice(0, keys_, parts);
  std::string load = encode_load(1, parts);
  for (float weight : {1.0f, -2.0f, 0.5f, 0.0f, 65504.0f, 0.1f}) put(load, weight);
  load.resize(padded(load.size()));
  BufferPool pool;
  Buffer body = pool.take(load.size());
  std::copy(load.begin(), load.end(), body.data());
  shard.load(decode_load(std::move(body), shard.tables().widths()));
  std::shared_ptr<const Payload> rows;
  ReplyPtr reply = std::make_unique<PayloadReply>(rows);
  shard.pulls().read(~uint64_t{0}, decode_pull(pull()), reply);
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(example("answer"),
            hex_lines(frame_bytes({.type = kPull, .flags = kFlagAnswer, .request_id = 2}, *rows)));
}

}  // namespace
}  // namespace ps::wire_page_test
