// The messages of readers and compute trainers: the bodies of their frames.  The grammar stands in ps-wire(5).
//
//   hello  := JSON of ReaderHello; answered by JSON of ComputeWelcome
//   batch  := step:u64 size:u64 prepared[size] pad rows*             (prepared: feed/prepared_batch_bytes.h)
//             rows := f32[N * D] pad                                 (of each parameter of readers: with_readers)
//   result := cost:f64 B:u32 C:u32 L:u32 predictions:f32[B * C] log_losses:f32[L] pad rows*
//             (L: B or, where evaluators want none, 0; rows: the gradients of those of the batch)
//   end    := nothing; answered by nothing
//
// In synchronous mode with several batches on their way, the compute trainer has copies of what they use:
//
//   join      := nothing; answered by nothing when all readers have joined, if it is the first reader's; all others'
//                by first:u64 when the copies begin
//   beginning := first:u64 that of ps/client/stored_beginning.h; answered by first:u64
//   stay      := nothing; answered, by an error, when the copies are gone
//   ahead     := step:u64 size:u64 prepared[size] pad left:u64 pass:i64 rows   (rows: return_rows of ps/wire/stored_rows.h)
//                answered by result
//   no_data   := step:u64 pass:i64; answered by ended:u8 when the step is done: 1, it has ended the pass
//
// pad is zeros up to a multiple of 64 bytes, so that rows are used where they lie.
#ifndef PS_HETER_MESSAGES_H_
#define PS_HETER_MESSAGES_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/spec.h"
#include "data/batch.h"
#include "math/matrix.h"
#include "model/network.h"
#include "net/frame.h"
#include "ps/wire/stored_rows.h"

namespace ps {

inline constexpr int kComputeProtocol = 3;

// The compute trainer cannot reach the servers: another one may.  On the wire alone: unlike kUnavailable, it is an answer,
// after which the batch is not sent to the same compute trainer again.
inline constexpr Code kServersUnavailable{11};

// The compute trainer has no copies, or not any more, since a connection was made anew: all readers join again, and send all
// from the beginning on.
inline constexpr Code kBeginAgain{12};

// Types of frames.  On the wire: never renumber.
enum class ComputeFrame : uint16_t {
  kHello = 96,  // of a reader, the first of every connection
  kBatch,
  kEnd,  // the reader takes no further part in the run
  kBeginning,
  kAhead,
  kJoin,
  kStay,
  kNoData,
};

inline constexpr uint64_t kMostReaderHelloBytes = 4 << 20;  // a job file with a large network
inline constexpr uint64_t kMostBatchBytes = 256 << 20;      // of a beginning too

// How a reader introduces itself.
struct ReaderHello {
  int protocol = kComputeProtocol;
  int rank = 0, trainers = 1;  // towards the servers, for both
  uint64_t generation = 1;
  uint64_t run = 0;   // of the servers
  std::string cpu;    // level of its kernels
  Json job;           // what must be equal to the compute trainer's
  Json schema;        // of the data
  bool ends = false;  // it takes no further part in the run, and sends no batch over this connection

  static const ObjectSpec<ReaderHello>& spec();
};

struct ComputeWelcome {
  int protocol = kComputeProtocol;
  std::string cpu;

  static const ObjectSpec<ComputeWelcome>& spec();
};

// `views` has the rows of the plans.  Throws kUsage when that is more than kMostBatchBytes.
std::string encode_batch(uint64_t step, const PreparedBatch& prepared,
                         const std::vector<ParameterSpec>& specs,
                         std::span<const ParameterView<float>> views);

// The step of a batch; throws kData.
uint64_t step_of_batch(std::span<const char> body);

// Fills in the batch, and of `rows`, by parameter, pointers into the body, one a key.  Throws kData for bytes that are
// damaged, or of another network, or not for training.
void decode_batch(std::span<char> body, const Network<float>& network, Network<float>::Planners& planners,
                  PreparedBatch& prepared, std::vector<std::vector<float*>>& rows);

// One of several batches that are on their way.
struct AheadBatch {
  uint64_t step = 0;
  uint64_t left = 0;  // steps that all shards were known to have applied when its rows were asked for
  int64_t pass = 0;
  ReturnedRows rows;  // those that no batch of this reader used in a step from there on, as shards store them
};

// Throws as encode_batch.
std::string encode_ahead(const AheadBatch& ahead, const PreparedBatch& prepared);

// Throws as decode_batch; `layout` throws kData for parameters that are not sparse.
AheadBatch decode_ahead(std::span<char> body, const Network<float>& network,
                        Network<float>::Planners& planners, const ReturnedLayout& layout,
                        PreparedBatch& prepared);

// The same batch, as it was encoded before, with other rows.
std::string encode_ahead_again(const AheadBatch& ahead, std::span<const char> before);

// A reader has no batch for this step: it has none left in the pass.
struct StepWithoutData {
  uint64_t step = 0;
  int64_t pass = 0;
};
inline constexpr uint64_t kStepWithoutDataBytes = 16;

std::string encode_no_data(const StepWithoutData& step);
StepWithoutData decode_no_data(std::span<const char> body);  // throws kData

// The answer.
std::string encode_pass_ended(bool ended);
bool decode_pass_ended(std::span<const char> body);  // throws kData

// The first step of copies, and what follows it in a beginning.
std::string encode_first(uint64_t first);
uint64_t decode_first(std::span<const char> body);                                   // throws kData
std::pair<uint64_t, std::span<const char>> split_first(std::span<const char> body);  // throws kData

// `keep` has all gradients, and travels with the message.
// log_losses [B], or empty.
Payload encode_result(double cost, Matrix<const float> predictions, std::span<const float> log_losses,
                      const PreparedBatch& prepared, const std::vector<ParameterSpec>& specs,
                      std::span<const ParameterView<float>> views, std::shared_ptr<const void> keep);

struct BatchResult {
  double cost = 0;
  int64_t cols = 0;                // C
  std::vector<float> predictions;  // [B, C]
  std::vector<float> log_losses;   // [B], or empty
};

// Sets the row gradients of `views`, and returns the rest.  Throws kData unless it is the answer to this batch, with as
// many predictions an example as the network makes.
BatchResult decode_result(std::span<const char> body, const PreparedBatch& prepared, int64_t expected_cols,
                          const std::vector<ParameterSpec>& specs,
                          std::span<const ParameterView<float>> views);

}  // namespace ps

#endif  // PS_HETER_MESSAGES_H_
