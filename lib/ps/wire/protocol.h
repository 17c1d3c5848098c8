// The messages between trainers and shards, which are the bodies of frames. run_messages.h has the messages of
// a run that name no rows.  Used by RemoteStore and its parts, and by shards.
//
// The grammar stands in ps-wire(5).  In short: requests name rows in row slices, by keys or by a range of the
// shard's own numbers; rows follow in the order of the slices, each slice's padded with zeros to a multiple of
// 64 bytes, so that floats lie where kernels want them.  Most pushes have the row slices of a message that the
// trainer pulled.  Such a push gives that message's number, and its keys do not travel again.
#ifndef PS_PS_WIRE_PROTOCOL_H_
#define PS_PS_WIRE_PROTOCOL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "codec/row_codec.h"
#include "math/exact_squares.h"
#include "net/frame.h"
#include "ps/wire/push_codecs.h"
#include "store/parameter_store.h"
#include "table/row_storage.h"

namespace ps {

inline constexpr int kProtocolVersion = 9;

// On the wire: never renumber.
enum class Message : uint16_t {
  kDescribe = kFirstUserType,
  kHello,
  kPull,
  kPush,
  kKeys,
  kLoad,
  kGather,
  kCommit,
  kEndRun,
  kRowReport,
  kSaveLease,
  kCheckpoint,
  kCheckpointShard = kFirstUserType + 13,
  kCheckpointSlice,
  kTrainerChunk,
  kLeaveRun,
  kAbsent,
  kOptimizers,
  kStoredRows,
  kReturnRows,
  kWork,
  kApplied,
  kGatheredSlice,
  kRunEnd,
};

// The trainer splits a larger request into several.
inline constexpr uint64_t kMessageBytes = 8 << 20;  // approximate size of a message
// The approximate size of a message of rows by their keys.  It stays in a core's cache from the table to the
// socket and from the socket to the layer, and trainer and shard can work on different messages at the same
// time.
inline constexpr uint64_t kRowMessageBytes = 512 << 10;
inline constexpr uint64_t kMaxMessageBytes = 64 << 20;  // a larger message is refused
// The largest message that only names rows, which has room for all its slices and keys.
inline constexpr uint64_t kMaxAskedBytes = 4 << 20;

// The largest numbers of row slices and keys in one message.  Decoded, a slice takes some 70 bytes and a key 16.
// Trainers name up to 21845 keys.
inline constexpr uint32_t kMostRowSlices = 1 << 16;
inline constexpr size_t kMostMessageKeys = size_t{1} << 16;

// The largest number of bytes that the rows of one message take as f32, or with their state if they are sent as
// stored.  A single row may be longer.  The limit exists because a shard serves no other message meanwhile.
inline constexpr uint64_t kMostRowBytes = uint64_t{16} << 20;

inline constexpr size_t kFloatAlignment = 64;

inline size_t padded(size_t bytes) {
  return (bytes + kFloatAlignment - 1) / kFloatAlignment * kFloatAlignment;
}

// Rows of one parameter.  They are named by their keys, which ascend, or by a range of the shard's own numbers
// of its rows.
struct RowSlice {
  uint32_t parameter = 0;
  bool by_keys = true;
  std::vector<uint64_t> keys;
  std::vector<KeyCount> counts;   // how often each key occurs; empty: keys are not counted
  uint64_t first = 0, count = 0;  // the range, when rows are not named by keys
  bool exact = false;             // the rows are f32, whatever the message's type is

  uint64_t rows() const { return by_keys ? keys.size() : count; }
};

// Returns the row type of a slice in a message of type `type`.  It does not hold for slices of coded messages
// that are not exact.
inline RowType type_of(const RowSlice& row_slice, RowType type) {
  return row_slice.exact ? RowType::kF32 : type;
}

struct PullHeader {
  uint64_t step = 0;
  PullMode mode = PullMode::kTrain;
  RowType type = RowType::kF32;  // row type of the answer
  uint64_t number = 0;           // number of this message among the trainer's messages to this shard; 0: none
};

struct PullRequest : PullHeader {
  std::vector<RowSlice> row_slices;
};

struct PushHeader {
  uint64_t step = 0;
  StepInfo info{};
  bool ended = false;              // the trainer has no data left in this pass
  bool asks = false;               // with `ended`: the trainer asks for data of lost trainers
  bool absent = false;             // with `asks`: it was absent at this step, and may have own data left
  bool begins_checkpoint = false;  // a checkpoint is to begin after this step
  // The number of that checkpoint, or of the one at the end of the pass, as the job's first shard has told it
  // (Done); 0: it has told none.
  uint64_t checkpoint_number = 0;
  RowType type = RowType::kF32;
  bool coded = false;  // gradients are in the bytes of the job's codec; `type` is not used
  uint32_t slice = 0,
           num_slices = 1;  // 0: another process of this rank sends the number, and all fields above
  uint64_t pulled = 0;      // number of the pull that has the row slices; 0: the push has them
  std::optional<std::string> chunk = {};  // a trainer state chunk, of the state after this step
};

struct PushRequest : PushHeader {
  std::span<const RowSlice>
      row_slices;  // of the push or of the pull; for the latter, empty until they are set
  std::shared_ptr<const std::vector<RowSlice>> slices_owner;
  std::vector<size_t> rows_at;  // by slice: offset of its rows in the body
  Buffer body;
  size_t slices_end = 0;  // offset of the end of the slices in the body

  // Returns the rows of one of the slices, which must be f32.
  const float* floats(const RowSlice& row_slice) const {
    return reinterpret_cast<const float*>(body.data() +
                                          rows_at[static_cast<size_t>(&row_slice - row_slices.data())]);
  }
};

// The answer to the last slice of a push, and to a commit request.
//
// A job that clips by norm applies a step in two phases: the shards answer a push with the squares of the gradients that they
// have, and apply the step when a trainer sends them the sums of the squares of all shards.  When a trainer of several shards
// pulls ahead, there are two phases too, without squares: no shard applies a step before all shards hold it.
struct Done {
  double learning_rate = 0;
  bool pass_ended = false;  // no trainer has data left
  // No trainer has data left, and one has asked: the data of lost trainers were dealt as strands.
  bool dealt = false;
  bool dropped = false;  // the gradient was dropped because it was too old
  bool held = false;  // the push is held; it is applied when the trainer says that all shards hold the step
  uint64_t checkpoint_at = 0;  // number of steps after which a checkpoint begins; 0: unknown
  // In asynchronous runs: the number of that checkpoint, or, with `dealt`, of the one at the end of the pass if
  // nobody has data any more; 0: none.
  uint64_t checkpoint_number = 0;
  // By parameter.  Empty if the job does not clip, or if the step has no data.
  std::vector<ExactSquares> squares = {};
};

struct CommitRequest {
  uint64_t step = 0;
  std::vector<double> squares;  // by parameter, of the whole gradient; empty: the step was only held
};

// The approximate largest number of keys in one answer.
inline constexpr uint32_t kMostKeys = 1 << 16;

struct KeysRequest {
  uint32_t parameter = 0;
  ScanCursor cursor{};  // the cursor of the answer before
  uint32_t most = kMostKeys;
};

// Some of a shard's keys, in ascending order.
struct FoundKeys {
  bool more = false;  // there are more keys, from the cursor on
  ScanCursor cursor{};
  std::vector<uint64_t> keys = {};
};

void encode_key_slice(uint32_t parameter, std::span<const uint64_t> keys, std::string& out);
void encode_counted_slice(uint32_t parameter, std::span<const uint64_t> keys,
                          std::span<const KeyCount> counts, std::string& out);
void encode_range_slice(uint32_t parameter, uint64_t first, uint64_t count, bool exact, std::string& out);

// `row_slices` are num_row_slices encoded slices; a push has none if header.pulled names a pull.  The heads of
// push and load are padded, since rows follow.
std::string encode_pull(const PullHeader& header, uint32_t num_row_slices, std::string_view row_slices);
std::string encode_push(const PushHeader& header, uint32_t num_row_slices, std::string_view row_slices);
std::string encode_load(uint32_t num_row_slices, std::string_view row_slices);
std::string encode_row_slices(uint32_t num_row_slices, std::string_view row_slices);  // not padded
std::string encode_commit(const CommitRequest& request);
std::string encode_keys_request(const KeysRequest& request);
std::string encode_found_keys(bool more, const ScanCursor& cursor, std::span<const uint64_t> keys);
std::string encode_done(const Done& done);
std::string encode_optimizers_request(bool sparse);
std::string encode_row_report(RowReport report);

// By parameter: its number of columns.
using Widths = std::span<const int64_t>;

// All throw kData "what is wrong" unless the whole body is well-formed.  They do not check that the numbers in
// it make sense for the job.
PullRequest decode_pull(std::span<const char> body);
PushRequest decode_push(Buffer body, Widths widths);
PushRequest decode_load(Buffer body, Widths widths);
std::vector<RowSlice> decode_stored_rows_request(std::span<const char> body);
std::vector<RowSlice> decode_slices_alone(std::span<const char> bytes, std::string_view what);

// Sets the row slices of a push that names a pull, which are those of the pull.  Throws kData unless the body
// has the rows of all slices.
void set_row_slices(PushRequest& request, std::shared_ptr<const std::vector<RowSlice>> row_slices,
                    Widths widths);

// Decodes the rows as f32 into a buffer of `pool`, which becomes the body of the request.  Returns the former body.  Throws
// kData for a coded push that the codecs cannot have made; the request must then not be used any more.
Buffer decode_floats(PushRequest& request, Widths widths, BufferPool& pool, const PushCodecs& codecs = {});

CommitRequest decode_commit(std::span<const char> body);
KeysRequest decode_keys_request(std::span<const char> body);
FoundKeys decode_found_keys(std::span<const char> body);
Done decode_done(std::span<const char> body);
bool decode_optimizers_request(std::span<const char> body);  // returns true for those of sparse parameters
RowReport decode_row_report(std::span<const char> body);

}  // namespace ps

#endif  // PS_PS_WIRE_PROTOCOL_H_
