// The bodies of messages as a script makes them: most are such as a shard may accept.  Used by ShardPeers.
#ifndef PS_TESTS_FUZZ_PEER_MESSAGES_H_
#define PS_TESTS_FUZZ_PEER_MESSAGES_H_

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "config/spec.h"
#include "fuzz/honest_job.h"
#include "fuzz/script.h"
#include "membership/save_election.h"
#include "ps/wire/checkpoint_messages.h"
#include "ps/wire/gather.h"
#include "ps/wire/hello.h"
#include "ps/wire/run_messages.h"
#include "ps/wire/stored_rows.h"
#include "support/gather_body.h"

namespace ps {

// Parts of a message, and what their rows take.
struct ScriptParts {
  uint32_t count = 0;
  std::string encoded;
  std::vector<uint64_t> rows;        // of each part
  std::vector<uint32_t> parameters;  // of each part

  explicit ScriptParts(Script& script) {
    count = script.choice(4);
    for (uint32_t i = 0; i < count; ++i) add(script);
  }

 private:
  void add(Script& script) {
    const uint32_t parameter = script.rarely() ? script.byte() : script.choice(4);
    parameters.push_back(parameter);
    const uint32_t kind = script.choice(4);
    if (kind == 3 || (parameter != 0 && kind != 0)) {
      const uint64_t first = script.rarely() ? script.number() : 0;
      rows.push_back(script.rarely() ? script.number() : parameter == 2 ? 8 : 1);
      return encode_range_slice(parameter, first, rows.back(), script.rarely(), encoded);
    }
    std::vector<uint64_t> keys;
    uint64_t key = script.number();
    const uint32_t num_keys = script.rarely() ? 20 * script.byte() : script.choice(6);
    for (uint32_t i = 0; i < num_keys; ++i, key += 1 + (key ^ i) % 3) keys.push_back(key);
    rows.push_back(keys.size());
    if (!script.rarely()) return encode_key_slice(parameter, keys, encoded);
    encode_counted_slice(parameter, keys, std::vector<KeyCount>(keys.size(), KeyCount{1, 0}), encoded);
  }
};

// Rows of the parts, as a push and a load have them; of a type, most often f32.
inline void put_rows(Script& script, const ScriptParts& parts, RowType type, bool coded, std::string& body) {
  constexpr uint64_t kMostRows = 1 << 14;
  constexpr int64_t kWidths[] = {3, 4, 5, 4};
  const float values[] = {0.25f, -3.0f, std::numeric_limits<float>::quiet_NaN(), -INFINITY};
  const float value = values[script.rarely() ? script.choice(4) : 0];
  for (size_t i = 0; i < parts.rows.size(); ++i) {
    if (parts.rows[i] > kMostRows) continue;
    const int64_t cols = kWidths[parts.parameters[i] % 4];
    uint64_t bytes = parts.rows[i] * encoded_row_bytes(coded ? RowType::kF32 : type, cols);
    if (coded) put(body, bytes = script.byte());
    const size_t begin = body.size();
    while (body.size() + sizeof value <= begin + bytes) put(body, value);
    body.resize(padded(begin + bytes));
  }
}

// `run` is the run that the shard has.  A trainer `may_differ` from the job's in its data and servers where it
// cannot begin a run with them: who has trained decides for all who come later.
inline std::string hello_message(Script& script, Hello hello, uint64_t run, bool may_differ) {
  hello.role = script.choice(4) == 0 ? "read" : "train";
  hello.trainers = script.rarely() ? 1 << script.choice(12) : 1 + static_cast<int>(script.choice(3));
  hello.rank = static_cast<int>(script.choice(4));
  if (script.choice(4) == 0) hello.max_trainers = static_cast<int>(script.choice(5));
  hello.generation = 1 + script.choice(5);
  hello.known = script.rarely();
  hello.run = script.choice(4) == 0 ? run : script.choice(4) == 0 ? script.number() : 0;
  hello.resume = script.rarely();
  hello.passes = static_cast<int>(script.choice(3));
  hello.lost = script.choice(8) == 0 ? run : 0;
  hello.going = script.rarely();
  hello.recovers = script.choice(8) == 0;
  if (script.rarely()) hello.checkpoint = script.yes() ? "../x" : "step-2";
  if (script.rarely()) hello.job = {{"other", true}};
  if (script.rarely()) hello.protocol = static_cast<int>(script.byte());
  may_differ |= hello.role == "read";
  if (script.rarely() && may_differ)
    hello.place = to_json(ShardPlace{.num_dense = 2, .dense = 1, .num_sparse = 1, .sparse = 0});
  if (script.rarely() && may_differ) hello.schema = to_json(DataSchema{.slots = {{"slot", false, 10}}});
  std::string text = Hello::spec().to_json(hello).dump();
  if (script.rarely()) text.resize(script.byte());
  return text;
}

// `step` is about the shard's.
inline std::string pull_message(Script& script, uint64_t step) {
  PullHeader header{.step = step + script.choice(4)};
  if (script.choice(3) == 0) header.mode = PullMode::kRead;
  if (script.rarely()) header.step = script.number();
  if (script.yes()) header.number = script.number();
  if (script.rarely()) header.type = kRowTypes[script.choice(std::size(kRowTypes))];
  const ScriptParts parts(script);
  return encode_pull(header, parts.count, parts.encoded);
}

inline std::string push_message(Script& script, uint64_t step) {
  PushHeader header{.step = step + script.choice(4),
                    .info = {script.byte(), static_cast<int64_t>(script.choice(3))}};
  if (script.rarely()) header.step = script.number();
  header.ended = script.choice(4) == 0;
  header.begins_checkpoint = script.rarely();
  header.info.shrink = script.rarely();
  if (script.choice(4) == 0) {
    header.num_slices = script.choice(4);
    header.slice = script.choice(4);
  }
  if (script.rarely()) header.type = kRowTypes[script.choice(std::size(kRowTypes))];
  header.coded = script.rarely();
  if (script.choice(4) == 0) header.pulled = script.number();
  if (script.choice(4) == 0) header.chunk = script.bytes(script.choice(40));
  if (script.rarely()) header.chunk = std::string(100 * script.byte(), 'c');
  const ScriptParts parts(script);
  std::string body = encode_push(header, parts.count, parts.encoded);
  put_rows(script, parts, header.type, header.coded, body);
  return body;
}

inline std::string load_message(Script& script) {
  const ScriptParts parts(script);
  std::string body = encode_load(parts.count, parts.encoded);
  put_rows(script, parts, RowType::kF32, false, body);
  return body;
}

inline std::string commit_message(Script& script, uint64_t step) {
  CommitRequest request{.step = step + script.choice(3), .squares = {}};
  const double squares[] = {0.5, 1e300, INFINITY, -1};
  if (script.yes()) request.squares.assign(script.rarely() ? script.byte() : 4, squares[script.choice(4)]);
  return encode_commit(request);
}

// All that is given in one, or a piece of four bytes of up to five.
inline std::string gather_message(Script& script, uint64_t number) {
  const bool piece = script.yes();
  std::string bytes = piece             ? script.bytes(4)
                      : script.rarely() ? std::string(256 * script.byte(), 'g')
                                        : script.bytes(script.choice(8));
  if (!bytes.empty() && script.yes()) bytes[0] = script.yes() ? kGathered : kGatheredAtEnd;
  const uint64_t before = piece ? script.choice(3) : 0, behind = piece ? script.choice(3) : 0;
  return gather_body({.number = script.rarely() ? script.number() : number + script.choice(2),
                      .bytes = bytes,
                      .first = script.rarely() ? script.number() : 4 * before,
                      .rest = script.rarely() ? script.number() : 4 * behind});
}

inline std::string gathered_message(Script& script, uint64_t number) {
  return encode_gathered_request({.number = number - script.choice(3), .first = script.number()});
}

inline std::string returned_message(Script& script) {
  ReturnedRows returned{.number = script.number(), .slices = {}};
  RowBlock rows;
  for (uint64_t key = 0, keys = script.choice(4); key < keys; ++key) rows.keys.push_back(key * 1009);
  rows.values.assign(rows.keys.size() * 3, script.rarely() ? NAN : 0.5f);
  if (script.rarely()) rows.stamps.assign(rows.keys.size(), script.byte());
  returned.slices.push_back({script.rarely() ? script.byte() : 0u, std::move(rows)});
  if (script.rarely()) {
    RowSlice& counted = returned.counted.emplace_back();
    counted.parameter = script.rarely() ? script.byte() : 0u;
    counted.keys = {script.byte(), uint64_t{1} << 40};
    counted.counts.assign(2, {3, 1});
  }
  return encode_returned_rows(returned);
}

inline std::string slice_message(Script& script) {
  const char* const names[] = {"", "../x", "manifest.json", "d0-s0.psk"};
  return encode_shard_slice(
      {script.number(), script.number(), static_cast<uint32_t>(script.number()), names[script.choice(4)]});
}

inline std::string keys_message(Script& script) {
  KeysRequest request{.parameter = script.choice(5)};
  if (script.yes()) request.cursor.partition = static_cast<uint32_t>(script.number());
  if (script.yes()) request.cursor.position = script.number();
  if (script.yes()) request.most = static_cast<uint32_t>(script.number());
  return encode_keys_request(request);
}

inline std::string save_message(Script& script, uint64_t run) {
  return encode_save_request({script.yes() ? run : script.number(), static_cast<SaveStage>(script.choice(3)),
                              script.bytes(script.choice(12))});
}

}  // namespace ps

#endif  // PS_TESTS_FUZZ_PEER_MESSAGES_H_
