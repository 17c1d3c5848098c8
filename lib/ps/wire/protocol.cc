#include "ps/wire/protocol.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/varint.h"
#include "ps/wire/key_list.h"
#include "ps/wire/message_body.h"

namespace ps {

namespace {

// On the wire: never renumber.
constexpr uint32_t kPassEnded = 1, kDropped = 2, kHeld = 4, kDealt = 8;        // flags of Done
constexpr uint8_t kEnded = 1, kShrink = 2, kBeginsCheckpoint = 4, kChunk = 8;  // flags of a push
constexpr uint8_t kAsks = 16, kAbsent = 32;                                    // used with kEnded
constexpr uint8_t kNumbered = 64;                        // the number of a checkpoint follows
constexpr uint64_t kMostCheckpoint = uint64_t{1} << 62;  // the largest such number
constexpr uint8_t kByKeys = 0, kRange = 1, kCounted = 2, kExactRange = 3;  // forms of a row slice
constexpr uint8_t kCoded = 6;  // a value beside the row types: a push in the bytes of the job's codec
constexpr size_t kSquaresBytes = 11 * sizeof(uint64_t);

void pad(std::string& out) {
  out.resize(padded(out.size()), '\0');
}

// Reads the counts of the slice's keys, which were decoded before.  A key is named because it occurs, so
// that it is shown at least once.
//
//   counts := size:u32 {shows:varint clicks:varint}[keys]      (ps-wire(5))
void decode_counts(ByteReader& in, RowSlice& row_slice) {
  std::string_view list = in.get_bytes(in.get<uint32_t>());
  row_slice.counts.resize(row_slice.keys.size());
  for (KeyCount& count : row_slice.counts) {
    uint64_t shows = 0, clicks = 0;
    if (!get_varint(list, shows) || !get_varint(list, clicks)) cut_short("counts of keys");
    if (shows == 0 || shows > UINT32_MAX || clicks > shows) {
      fail(Code::kData, "a key is shown ", shows, " times and clicked ", clicks, " times");
    }
    count = {static_cast<uint32_t>(shows), static_cast<uint32_t>(clicks)};
  }
  if (!list.empty()) fail(Code::kData, "counts of keys: ", list.size(), " bytes too many");
}

// Reads one slice of at most `most_keys` keys.  Errors of length remain in `in`, where the caller finds
// them.
//
//   row_slice := parameter:u32 form:u8 (key_list | key_list counts | first:u64 count:u64)      (ps-wire(5))
RowSlice decode_row_slice(ByteReader& in, size_t most_keys) {
  RowSlice row_slice;
  row_slice.parameter = in.get<uint32_t>();
  uint8_t form = in.get<uint8_t>();
  if (form > kExactRange) fail(Code::kData, "a row slice has the unknown form ", int{form});
  row_slice.by_keys = form == kByKeys || form == kCounted;
  row_slice.exact = form == kExactRange;
  if (row_slice.by_keys) {
    decode_keys(in, row_slice.keys, most_keys);
    if (form == kCounted) decode_counts(in, row_slice);
  } else {
    row_slice.first = in.get<uint64_t>();
    row_slice.count = in.get<uint64_t>();
  }
  return row_slice;
}

// Reads num:u32 and so many slices.  Before it allocates, it refuses more slices than the body can have, at
// their smallest size, and more than kMostRowSlices; keys_left is what is left of kMostMessageKeys for the
// slices to come, so that the limit holds for all slices together.
std::vector<RowSlice> decode_row_slices(ByteReader& in, std::string_view what) {
  constexpr size_t kSmallestRowSlice = 13;
  uint32_t num_row_slices = in.get<uint32_t>();
  if (!in.has(num_row_slices * kSmallestRowSlice)) cut_short(what);
  if (num_row_slices > kMostRowSlices)
    fail(Code::kData, what, ": ", num_row_slices, " row slices, expected at most ", kMostRowSlices);
  std::vector<RowSlice> row_slices(num_row_slices);
  size_t keys_left = kMostMessageKeys;
  for (RowSlice& row_slice : row_slices) {
    row_slice = decode_row_slice(in, keys_left);
    keys_left -= row_slice.keys.size();
  }
  if (!in.ok()) cut_short(what);
  return row_slices;
}

RowType type_of_number(uint8_t number, std::string_view what) {
  std::optional<RowType> type = find_row_type(number);
  if (!type) fail(Code::kData, what, ": unknown type of rows ", int{number});
  return *type;
}

bool is_coded(const PushRequest& request, const RowSlice& row_slice) {
  return request.coded && !row_slice.exact;
}

// Returns the bytes of a codec at an offset of the body that was checked before.
//
//   coded := size:u64 bytes[size]      (ps-wire(5))
std::string_view coded_bytes(const PushRequest& request, size_t at) {
  ByteReader in(std::string_view(request.body.data(), request.body.size()).substr(at));
  return in.get_bytes(in.get<uint64_t>());
}

// Returns the size of a slice's bytes of a codec, which begin at an offset of the body.
uint64_t coded_size(const PushRequest& request, size_t at, std::string_view what) {
  ByteReader in(std::string_view(request.body.data(), request.body.size()).substr(at));
  const uint64_t size = in.get<uint64_t>();
  if (!in.has(size)) cut_short(what);
  return sizeof size + size;
}

// The bytes of a codec could encode any number of values.  This refuses more values than a message could have as
// f32.
void check_decoded_size(const PushRequest& request, Widths widths, std::string_view what) {
  uint64_t room = kMaxMessageBytes;
  for (const RowSlice& row_slice : request.row_slices) {
    const uint64_t row_bytes = static_cast<uint64_t>(widths[row_slice.parameter]) * sizeof(float);
    if (row_slice.rows() > room / row_bytes) {
      fail(Code::kData, what, ": its rows take more than ", human_bytes(kMaxMessageBytes),
           " when they are decoded");
    }
    room -= row_slice.rows() * row_bytes;
  }
}

// Sets the row slices of a request, and computes the offset of the rows of each slice.  The rows must fill
// the body exactly, from the end of the slices on; each slice is padded.  Before the rows of a slice are
// counted, `at` is known to be inside the body, so that size - at is not negative: padding may have led
// beyond the end.  The number of rows is compared by division, since a product could overflow.
void set_row_slices(PushRequest& request, std::shared_ptr<const std::vector<RowSlice>> row_slices,
                    Widths widths, std::string_view what) {
  request.row_slices = *row_slices;
  request.slices_owner = std::move(row_slices);
  request.rows_at.clear();
  const size_t size = request.body.size();
  size_t at = padded(request.slices_end);
  for (const RowSlice& row_slice : request.row_slices) {
    if (row_slice.parameter >= widths.size()) fail(Code::kData, what, ": no parameter ", row_slice.parameter);
    if (at > size) cut_short(what);
    request.rows_at.push_back(at);
    if (is_coded(request, row_slice)) {
      at += padded(coded_size(request, at, what));
      continue;
    }
    const uint64_t row_bytes =
        encoded_row_bytes(type_of(row_slice, request.type), widths[row_slice.parameter]);
    if (row_slice.rows() > (size - at) / row_bytes) cut_short(what);
    at += padded(row_slice.rows() * row_bytes);
  }
  if (at != size) fail(Code::kData, what, ": ", size, " bytes, expected ", at);
  if (request.coded) check_decoded_size(request, widths, what);
}

std::shared_ptr<const std::vector<RowSlice>> share(std::vector<RowSlice> row_slices) {
  return std::make_shared<const std::vector<RowSlice>>(std::move(row_slices));
}

}  // namespace

void encode_key_slice(uint32_t parameter, std::span<const uint64_t> keys, std::string& out) {
  put(out, parameter);
  put(out, kByKeys);
  encode_keys(keys, out);
}

void encode_counted_slice(uint32_t parameter, std::span<const uint64_t> keys,
                          std::span<const KeyCount> counts, std::string& out) {
  put(out, parameter);
  put(out, kCounted);
  encode_keys(keys, out);
  size_t i = 0;
  put_varints(out, 2 * counts.size(), [&] {
    const KeyCount& count = counts[i / 2];
    return i++ % 2 == 0 ? count.shows : count.clicks;
  });
}

void encode_range_slice(uint32_t parameter, uint64_t first, uint64_t count, bool exact, std::string& out) {
  put(out, parameter);
  put(out, exact ? kExactRange : kRange);
  put(out, first);
  put(out, count);
}

// pull := step:u64 mode:u8 type:u8 number:u64 num:u32 row_slice[num]      (ps-wire(5))
std::string encode_pull(const PullHeader& header, uint32_t num_row_slices, std::string_view row_slices) {
  std::string out;
  put(out, header.step);
  put(out, static_cast<uint8_t>(header.mode == PullMode::kRead));
  put(out, header.type);
  put(out, header.number);
  put(out, num_row_slices);
  out += row_slices;
  return out;
}

static void put_sized(std::string& out, std::string_view bytes) {
  put(out, static_cast<uint64_t>(bytes.size()));
  out += bytes;
}

// push := step:u64 samples:u64 pass:u64 flags:u8 type:u8 slice:u32 num_slices:u32 pulled:u64
//         checkpoint_number:u64? (num:u32 row_slice[num])? (size:u64 chunk[size])? padding rows
//
// The flags say whether a number and a chunk are there.  Slices are there unless `pulled` names a pull that
// had them.  The caller appends the rows behind the padding.
std::string encode_push(const PushHeader& header, uint32_t num_row_slices, std::string_view row_slices) {
  std::string out;
  put(out, header.step);
  put(out, static_cast<uint64_t>(header.info.samples));
  put(out, static_cast<uint64_t>(header.info.pass));
  put(out,
      static_cast<uint8_t>((header.ended ? kEnded : 0) | (header.info.shrink ? kShrink : 0) |
                           (header.begins_checkpoint ? kBeginsCheckpoint : 0) | (header.chunk ? kChunk : 0) |
                           (header.asks ? kAsks : 0) | (header.absent ? kAbsent : 0) |
                           (header.checkpoint_number != 0 ? kNumbered : 0)));
  put(out, header.coded ? kCoded : static_cast<uint8_t>(header.type));
  put(out, header.slice);
  put(out, header.num_slices);
  put(out, header.pulled);
  if (header.checkpoint_number != 0) put(out, header.checkpoint_number);
  if (header.pulled == 0) {
    put(out, num_row_slices);
    out += row_slices;
  }
  if (header.chunk) put_sized(out, *header.chunk);
  pad(out);
  return out;
}

std::string encode_load(uint32_t num_row_slices, std::string_view row_slices) {
  std::string out = encode_row_slices(num_row_slices, row_slices);
  pad(out);
  return out;
}

std::string encode_row_slices(uint32_t num_row_slices, std::string_view row_slices) {
  std::string out;
  put(out, num_row_slices);
  out += row_slices;
  return out;
}

std::string encode_commit(const CommitRequest& request) {
  std::string out;
  put(out, request.step);
  put(out, static_cast<uint32_t>(request.squares.size()));
  put_array(out, std::span<const double>(request.squares));
  return out;
}

std::string encode_keys_request(const KeysRequest& request) {
  std::string out;
  put(out, request.parameter);
  put(out, request.cursor.partition);
  put(out, request.cursor.position);
  put(out, request.most);
  return out;
}

// found := more:u8 partition:u32 position:u64 key_list      (ps-wire(5))
std::string encode_found_keys(bool more, const ScanCursor& cursor, std::span<const uint64_t> keys) {
  std::string out;
  put(out, static_cast<uint8_t>(more));
  put(out, cursor.partition);
  put(out, cursor.position);
  encode_keys(keys, out);
  return out;
}

// done := learning_rate:f64 flags:u32 checkpoint_at:u64 checkpoint_number:u64 num:u32 squares[num]
std::string encode_done(const Done& done) {
  std::string out;
  put(out, done.learning_rate);
  put(out, (done.pass_ended ? kPassEnded : 0) | (done.dropped ? kDropped : 0) | (done.held ? kHeld : 0) |
               (done.dealt ? kDealt : 0));
  put(out, done.checkpoint_at);
  put(out, done.checkpoint_number);
  put(out, static_cast<uint32_t>(done.squares.size()));
  for (const ExactSquares& squares : done.squares) squares.save(out);
  return out;
}

std::string encode_optimizers_request(bool sparse) {
  std::string out;
  put(out, static_cast<uint8_t>(sparse));
  return out;
}
std::string encode_row_report(RowReport report) {
  std::string out;
  for (const uint64_t* figure : report.figures()) put(out, *figure);
  return out;
}
PullRequest decode_pull(std::span<const char> body) {
  ByteReader in(text_of(body));
  PullRequest request;
  request.step = in.get<uint64_t>();
  uint8_t mode = in.get<uint8_t>();
  if (mode > 1) fail(Code::kData, "pull: unknown mode ", int{mode});
  request.mode = mode == 1 ? PullMode::kRead : PullMode::kTrain;
  request.type = type_of_number(in.get<uint8_t>(), "pull");
  if (!holds_weights(request.type)) fail(Code::kData, "pull: rows of type ", row_type_name(request.type));
  request.number = in.get<uint64_t>();
  request.row_slices = decode_row_slices(in, "pull");
  expect_end(in, "pull");
  return request;
}

static std::string read_sized(ByteReader& in) {
  const uint64_t size = in.get<uint64_t>();
  if (!in.has(size)) cut_short("push");
  return std::string(in.get_bytes(size));
}

// Reads the head of a push in the order in which encode_push writes it, and finds the rows behind it
// without copying them: the body goes into the request.  A flag that only makes sense at the end of the
// data is refused without kEnded.  A push that names a pull gets its slices later, by set_row_slices, when
// the shard has found that pull; only then can its rows be found and the length of the body be checked.
PushRequest decode_push(Buffer body, Widths widths) {
  ByteReader in(text_of(body.bytes()));
  PushRequest request;
  request.step = in.get<uint64_t>();
  uint64_t samples = in.get<uint64_t>(), pass = in.get<uint64_t>();
  uint8_t flags = in.get<uint8_t>();
  const uint8_t type = in.get<uint8_t>();
  request.coded = type == kCoded;
  if (!request.coded) request.type = type_of_number(type, "push");
  request.slice = in.get<uint32_t>();
  request.num_slices = in.get<uint32_t>();
  request.pulled = in.get<uint64_t>();
  const bool of_end = (flags & (kAsks | kAbsent)) != 0;
  if (samples > INT32_MAX || pass > INT32_MAX ||
      flags > (kEnded | kShrink | kBeginsCheckpoint | kChunk | kAsks | kAbsent | kNumbered) ||
      (of_end && (flags & kEnded) == 0) || (request.num_slices > 0 && request.slice >= request.num_slices)) {
    fail(Code::kData, "push: ", samples, " samples in pass ", pass, ", slice ", request.slice, " of ",
         request.num_slices, ", flags ", int{flags});
  }
  request.info = {static_cast<int64_t>(samples), static_cast<int64_t>(pass), (flags & kShrink) != 0};
  request.ended = (flags & kEnded) != 0;
  request.asks = (flags & kAsks) != 0;
  request.absent = (flags & kAbsent) != 0;
  request.begins_checkpoint = (flags & kBeginsCheckpoint) != 0;
  if ((flags & kNumbered) != 0) request.checkpoint_number = in.get<uint64_t>();
  if (request.checkpoint_number > kMostCheckpoint)
    fail(Code::kData, "push: a checkpoint of number ", request.checkpoint_number);
  std::vector<RowSlice> row_slices;
  if (request.pulled == 0) row_slices = decode_row_slices(in, "push");
  if ((flags & kChunk) != 0) request.chunk = read_sized(in);
  if (!in.ok()) cut_short("push");
  request.slices_end = body.size() - in.remaining();
  request.body = std::move(body);
  if (request.pulled == 0) set_row_slices(request, share(std::move(row_slices)), widths, "push");
  return request;
}

PushRequest decode_load(Buffer body, Widths widths) {
  ByteReader in(text_of(body.bytes()));
  PushRequest request;
  std::vector<RowSlice> row_slices = decode_row_slices(in, "load");
  request.slices_end = body.size() - in.remaining();
  request.body = std::move(body);
  set_row_slices(request, share(std::move(row_slices)), widths, "load");
  return request;
}

std::vector<RowSlice> decode_slices_alone(std::span<const char> bytes, std::string_view what) {
  ByteReader in(text_of(bytes));
  std::vector<RowSlice> row_slices = decode_row_slices(in, what);
  expect_end(in, what);
  return row_slices;
}

std::vector<RowSlice> decode_stored_rows_request(std::span<const char> body) {
  return decode_slices_alone(body, "stored rows");
}

void set_row_slices(PushRequest& request, std::shared_ptr<const std::vector<RowSlice>> row_slices,
                    Widths widths) {
  set_row_slices(request, std::move(row_slices), widths, "push");
}

// Decodes the rows of slice number `i` into floats [rows, cols].
static void decode_rows(const PushRequest& request, size_t i, Widths widths, const PushCodecs& codecs,
                        float* floats) {
  const RowSlice& row_slice = request.row_slices[i];
  const int64_t rows = static_cast<int64_t>(row_slice.rows()), cols = widths[row_slice.parameter];
  if (!is_coded(request, row_slice)) {
    row_codec(type_of(row_slice, request.type), codecs.cpu())
        .decode(request.body.data() + request.rows_at[i], rows, cols, floats);
    return;
  }
  try {
    codecs.of(row_slice.parameter)
        .decode(coded_bytes(request, request.rows_at[i]), {floats, static_cast<size_t>(rows * cols)});
  } catch (const Error& error) {
    fail(Code::kData, "push: parameter ", row_slice.parameter, ": ", error.message());
  }
}

// The first loop adds up the size of all slices as f32, each padded, and the second decodes slice after
// slice to its place `at`.  From then on rows_at has offsets in the new body.  The former body goes back to
// the caller, since a log stores the push as it came.
Buffer decode_floats(PushRequest& request, Widths widths, BufferPool& pool, const PushCodecs& codecs) {
  size_t size = 0;
  for (const RowSlice& row_slice : request.row_slices) {
    if (is_coded(request, row_slice) && !codecs.has(row_slice.parameter)) {
      fail(Code::kData, "push: the job has no codec for parameter ", row_slice.parameter);
    }
    size += padded(row_slice.rows() * static_cast<uint64_t>(widths[row_slice.parameter]) * sizeof(float));
  }
  Buffer floats = pool.take(size);
  size_t at = 0;
  for (size_t i = 0; i < request.row_slices.size(); ++i) {
    const RowSlice& row_slice = request.row_slices[i];
    decode_rows(request, i, widths, codecs, reinterpret_cast<float*>(floats.data() + at));
    request.rows_at[i] = at;
    at += padded(row_slice.rows() * static_cast<uint64_t>(widths[row_slice.parameter]) * sizeof(float));
  }
  request.type = RowType::kF32;
  request.coded = false;
  return std::exchange(request.body, std::move(floats));
}

CommitRequest decode_commit(std::span<const char> body) {
  ByteReader in(text_of(body));
  CommitRequest request;
  request.step = in.get<uint64_t>();
  uint32_t count = in.get<uint32_t>();
  if (!in.has(count * sizeof(double))) cut_short("commit");
  request.squares.resize(count);
  in.get_array(std::span<double>(request.squares));
  expect_end(in, "commit");
  return request;
}

KeysRequest decode_keys_request(std::span<const char> body) {
  ByteReader in(text_of(body));
  KeysRequest request;
  request.parameter = in.get<uint32_t>();
  request.cursor.partition = in.get<uint32_t>();
  request.cursor.position = in.get<uint64_t>();
  request.most = in.get<uint32_t>();
  expect_end(in, "keys");
  return request;
}

FoundKeys decode_found_keys(std::span<const char> body) {
  ByteReader in(text_of(body));
  FoundKeys found;
  found.more = in.get<uint8_t>() != 0;
  found.cursor.partition = in.get<uint32_t>();
  found.cursor.position = in.get<uint64_t>();
  decode_keys(in, found.keys);
  expect_end(in, "found keys");
  return found;
}

Done decode_done(std::span<const char> body) {
  ByteReader in(text_of(body));
  Done done;
  done.learning_rate = in.get<double>();
  uint32_t flags = in.get<uint32_t>();
  done.pass_ended = (flags & kPassEnded) != 0;
  done.dropped = (flags & kDropped) != 0;
  done.held = (flags & kHeld) != 0;
  done.dealt = (flags & kDealt) != 0;
  done.checkpoint_at = in.get<uint64_t>();
  done.checkpoint_number = in.get<uint64_t>();
  uint32_t num_squares = in.get<uint32_t>();
  if (!in.has(num_squares * kSquaresBytes)) cut_short("done");
  done.squares.resize(num_squares);
  for (ExactSquares& squares : done.squares) squares.load(in);
  expect_end(in, "done");
  return done;
}

bool decode_optimizers_request(std::span<const char> body) {
  ByteReader in(text_of(body));
  const uint8_t sparse = body.empty() ? 0 : in.get<uint8_t>();
  expect_end(in, "optimizers");
  return sparse != 0;
}
RowReport decode_row_report(std::span<const char> body) {
  ByteReader in(text_of(body));
  RowReport report;
  for (uint64_t* figure : report.figures()) *figure = in.get<uint64_t>();
  expect_end(in, "row report");
  return report;
}

}  // namespace ps
