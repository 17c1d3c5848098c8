// The bodies of requests and answers between trainers and shards.  The first byte chooses which.
#include <algorithm>
#include <cstdint>
#include <map>

#include "base/error.h"
#include "config/spec.h"
#include "membership/save_election.h"
#include "ps/wire/gather.h"
#include "ps/wire/hello.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_messages.h"
#include "ps/wire/stored_rows.h"

namespace {

volatile float sink;  // so that reads are not optimized away

ps::Buffer buffer_of(std::span<const char> bytes) {
  static ps::BufferPool pool;
  ps::Buffer buffer = pool.take(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  return buffer;
}

// Codec number `number` of the catalogue.
const ps::PushCodecs& codecs_of(size_t number, std::span<const int64_t> widths) {
  static std::map<size_t, ps::PushCodecs> all;
  const auto [found, is_new] = all.try_emplace(number);
  if (is_new) {
    std::vector<ps::ParameterSpec> specs(widths.size());
    for (size_t p = 0; p < specs.size(); ++p) specs[p].cols = widths[p];
    found->second = ps::PushCodecs({{"type", ps::codec_catalog()[number]->name}}, specs, 0);
  }
  return found->second;
}

// Touches all rows, so that a sanitizer sees those that are not there.
float sum_floats(ps::PushRequest request, std::span<const int64_t> widths) {
  static ps::BufferPool pool;
  float sum = 0;
  if (request.pulled != 0) {
    std::vector<ps::RowSlice> parts(2);
    parts[0].keys = {1, 5, 9};
    parts[1].parameter = 1;
    parts[1].by_keys = false;
    parts[1].count = 4;
    parts[1].exact = true;
    ps::set_row_slices(request, std::make_shared<const std::vector<ps::RowSlice>>(std::move(parts)), widths);
  }
  if (request.coded) {
    const auto codec = request.step % ps::codec_catalog().size();
    ps::decode_floats(request, widths, pool, codecs_of(codec, widths));
  } else {
    ps::decode_floats(request, widths, pool);
  }
  for (const ps::RowSlice& part : request.row_slices) {
    const uint64_t count = part.rows() * static_cast<uint64_t>(widths[part.parameter]);
    for (uint64_t i = 0; i < count; ++i) sum += request.floats(part)[i];
  }
  return sum;
}

// The table has rows of 3 with one array of state, and a stamp each.
float sum_stored(std::string_view body) {
  ps::ByteReader in(body);
  ps::RowBlock rows;
  ps::decode_stored_rows(in, {.name = "table", .width = 3, .state_arrays = 1, .stamped = true}, 1000, rows);
  float sum = 0;
  for (float value : rows.values) sum += value;
  for (uint32_t stamp : rows.stamps) sum += static_cast<float>(stamp);
  return sum;
}

float sum_returned(std::string_view body) {
  const ps::ReturnedRows returned = ps::decode_returned_rows(body, [](uint32_t parameter) -> ps::TableLayout {
    if (parameter > 1) ps::fail(ps::Code::kData, "no parameter ", parameter);
    return {.name = "table", .width = 3, .state_arrays = 1, .stamped = parameter == 1};
  });
  float sum = 0;
  for (const auto& slice : returned.slices) {
    for (float value : slice.rows.values) sum += value;
    for (uint32_t stamp : slice.rows.stamps) sum += static_cast<float>(stamp);
  }
  return sum;
}

void decode(uint8_t which, std::span<const char> body) {
  const int64_t widths[] = {3, 1};
  switch (which % 11) {
    case 0:
      ps::decode_pull(body);
      break;
    case 1:
      sink = sum_floats(ps::decode_push(buffer_of(body), widths), widths);
      break;
    case 2:
      sink = sum_floats(ps::decode_load(buffer_of(body), widths), widths);
      break;
    case 3:
      ps::decode_done(body);
      break;
    case 4:
      ps::decode_commit(body);
      break;
    case 5:
      ps::decode_gathered(body);
      break;
    case 7:
      ps::decode_save_request(body);
      ps::decode_saver(body);
      break;
    case 8:
      for (const ps::RowSlice& slice : ps::decode_stored_rows_request(body))
        sink = static_cast<float>(slice.rows());
      break;
    case 9:
      sink = sum_stored({body.data(), body.size()});
      break;
    case 10:
      sink = sum_returned({body.data(), body.size()});
      break;
    default: {
      ps::Json json = ps::parse_json({body.data(), body.size()}, "hello");
      ps::Hello hello = ps::Hello::spec().parse(json, "hello");
      ps::schema_from_json(hello.schema);
      ps::place_from_json(hello.place);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    decode(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const ps::Error&) {
    // Refused, as most inputs are.
  }
  return 0;
}
