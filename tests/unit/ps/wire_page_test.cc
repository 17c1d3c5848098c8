// The examples of ps-wire(5) are the bytes that the code makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/file.h"
#include "ps/server/shard.h"
#include "ps/wire/protocol.h"

namespace ps {
namespace {

// The display that follows `.\" EXAMPLE name`.
std::string example(const std::string& name) {
  const std::string page = read_file(PS_WIRE_PAGE);
  const std::string begin = ".\\\" EXAMPLE " + name + "\n.Bd -literal -offset indent\n";
  const size_t at = page.find(begin);
  if (at == std::string::npos) return "no such example";
  const size_t first = at + begin.size();
  return page.substr(first, page.find(".Ed\n", first) - first);
}

std::string hex(std::string_view bytes) {
  constexpr size_t kBytesPerLine = 16;
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
    out += i % kBytesPerLine == kBytesPerLine - 1 || i + 1 == bytes.size() ? '\n' : ' ';
  }
  return out;
}

std::string frame(FrameHeader header, const Payload& payload) {
  header.body_bytes = payload.size();
  header.body_checksum = payload.checksum();
  std::array<char, kFrameHeaderBytes> bytes;
  encode_header(header, bytes);
  std::string out(bytes.data(), bytes.size());
  out.append(payload.head.data(), payload.head.size());
  for (ConstBytes part : payload.parts) out.append(part.data(), part.size());
  return out;
}

class WirePage : public testing::Test {
 protected:
  static constexpr uint16_t kPull = static_cast<uint16_t>(Message::kPull);
  const std::vector<uint64_t> keys_ = {1, 5, 1000};

  std::string pull() const {
    std::string parts;
    encode_key_part(0, keys_, parts);
    return encode_pull({.step = 7, .type = RowType::kF16, .number = 3}, 1, parts);
  }
};

TEST_F(WirePage, APullIsAsItSays) {
  EXPECT_EQ(example("pull"), hex(frame({.type = kPull, .request_id = 2}, Payload(pull()))));
}

TEST_F(WirePage, ItsAnswerIsAsItSays) {
  ParameterSpec table;
  table.name = "table";
  table.kind = ParameterKind::kRows;
  table.sparse = true;
  table.cols = 2;
  Shard shard({table}, make_optimizer_plan({{"type", "sgd"}}, "mean"), ShardPlace(), {}, {});
  std::string parts;
  encode_key_part(0, keys_, parts);
  std::string load = encode_load(1, parts);
  for (float weight : {1.0f, -2.0f, 0.5f, 0.0f, 65504.0f, 0.1f}) put(load, weight);
  load.resize(padded(load.size()));
  BufferPool pool;
  Buffer body = pool.take(load.size());
  std::copy(load.begin(), load.end(), body.data());
  shard.load(decode_load(std::move(body), shard.tables().widths()));
  EXPECT_EQ(example("answer"), hex(frame({.type = kPull, .flags = kFlagAnswer, .request_id = 2},
                                         shard.read(decode_pull(pull())))));
}

}  // namespace
}  // namespace ps
