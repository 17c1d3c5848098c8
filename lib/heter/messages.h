// The messages between readers and compute trainers, which are the bodies of frames.  The grammar stands in
// ps-wire(5).  Used by ComputeLink, ReaderAhead and the work of readers at compute trainers.
//
//   hello  := JSON of ReaderHello; answered by JSON of ComputeWelcome
//   batch  := step:u64 size:u64 prepared[size] pad rows*             (prepared: feed/prepared_batch_bytes.h)
//             rows := f32[N * D] pad                                 (of each parameter of readers: with_readers)
//   result := B:u32 C:u32 L:u32 T:u32 costs:f64[T] predictions:f32[B * C] log_losses:f32[L] pad rows*
//             (costs: sums by task; L: B, or 0 if no evaluator needs log losses; rows: the gradients of the
//             batch's rows)
//   end    := nothing; answered by nothing
//
// In synchronous mode with several batches on their way, the compute trainer has copies of the parameters in
// use:
//
//   join      := nothing; the first reader's is answered by nothing when all readers have joined, the others'
//                by first:u64 when the copies begin
//   beginning := first:u64, then the beginning of ps/client/stored_beginning.h; answered by first:u64
//   stay      := nothing; answered only when the copies are gone, by an error
//   ahead     := step:u64 size:u64 prepared[size] pad left:u64 pass:i64 rows   (rows: return_rows of ps/wire/stored_rows.h)
//                answered by result
//   no_data   := step:u64 pass:i64; answered by ended:u8 when the step is done: 1 if it has ended the pass
//
// pad is zeros up to a multiple of 64 bytes, so that rows can be used in place.
#ifndef PS_HETER_MESSAGES_H_
#define PS_HETER_MESSAGES_H_

#include <cstdint>
#include <numeric>
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

inline constexpr int kComputeProtocol = 5;

// The code of a compute trainer that cannot reach the servers; another one may reach them.  It exists on the
// wire alone.  Unlike kUnavailable, it is an answer, after which the batch is not sent to the same compute
// trainer again.
inline constexpr Code kServersUnavailable{11};

// The code of a compute trainer that has no copies, or has dropped them since a connection was made anew.  All
// readers then join again, and send all batches from the beginning of the copies on.
inline constexpr Code kBeginAgain{12};

// Types of frames.  On the wire: never renumber.
enum class ComputeFrame : uint16_t {
  kHello = 96,  // of a reader; the first frame of every connection
  kBatch,
  kEnd,  // the reader takes no further part in the run
  kBeginning,
  kAhead,
  kJoin,
  kStay,
  kNoData,
};

inline constexpr uint64_t kMostReaderHelloBytes = 4 << 20;  // a job file with a large network
inline constexpr uint64_t kMostBatchBytes = 256 << 20;      // limit of a beginning too

// The message with which a reader introduces itself.
struct ReaderHello {
  int protocol = kComputeProtocol;
  int rank = 0, trainers = 1;  // rank and number of trainers at the servers, for both processes
  uint64_t generation = 1;
  uint64_t run = 0;   // run of the servers
  std::string cpu;    // level of the reader's kernels
  Json job;           // the part of the job that must equal the compute trainer's
  Json schema;        // schema of the data
  bool ends = false;  // it takes no further part in the run, and sends no batch over this connection

  static const ObjectSpec<ReaderHello>& spec();
};

struct ComputeWelcome {
  int protocol = kComputeProtocol;
  std::string cpu;

  static const ObjectSpec<ComputeWelcome>& spec();
};

// `views` has the rows of the plans.  Throws kUsage if the message would have more than kMostBatchBytes.
std::string encode_batch(uint64_t step, const PreparedBatch& prepared,
                         const std::vector<ParameterSpec>& specs,
                         std::span<const ParameterView<float>> views);

// Returns the step of a batch.  Throws kData if the body is cut short.
uint64_t step_of_batch(std::span<const char> body);

// Fills in the batch, and `rows`: by parameter, a pointer into the body for each key.  Throws kData if the
// bytes are damaged, belong to another network, or are not for training.
void decode_batch(std::span<char> body, const Network<float>& network, Network<float>::Planners& planners,
                  PreparedBatch& prepared, std::vector<std::vector<float*>>& rows);

// One of several batches on their way.
struct AheadBatch {
  uint64_t step = 0;
  uint64_t left = 0;  // number of steps that all shards had applied, as known when the rows were asked for
  int64_t pass = 0;
  ReturnedRows rows;  // rows that no batch of this reader used in a step from `left` on, as shards store them
};

// Throws as encode_batch does.
std::string encode_ahead(const AheadBatch& ahead, const PreparedBatch& prepared);

// Throws as decode_batch does.  `layout` throws kData for parameters that are not sparse.
AheadBatch decode_ahead(std::span<char> body, const Network<float>& network,
                        Network<float>::Planners& planners, const ReturnedLayout& layout,
                        PreparedBatch& prepared);

// Encodes the same batch as `before` does, with other rows.
std::string encode_ahead_again(const AheadBatch& ahead, std::span<const char> before);

// The message of a reader that has no batch for this step, since it has none left in the pass.
struct StepWithoutData {
  uint64_t step = 0;
  int64_t pass = 0;
};
inline constexpr uint64_t kStepWithoutDataBytes = 16;

std::string encode_no_data(const StepWithoutData& step);
StepWithoutData decode_no_data(std::span<const char> body);  // throws kData

// The answer to no_data.
std::string encode_pass_ended(bool ended);
bool decode_pass_ended(std::span<const char> body);  // throws kData

// The first step of copies. split_first returns it with the bytes that follow it in a beginning.
std::string encode_first(uint64_t first);
uint64_t decode_first(std::span<const char> body);                                   // throws kData
std::pair<uint64_t, std::span<const char>> split_first(std::span<const char> body);  // throws kData

// `keep` owns all gradients, and lives as long as the message.
Payload encode_result(const BatchFigures& figures, const PreparedBatch& prepared,
                      const std::vector<ParameterSpec>& specs, std::span<const ParameterView<float>> views,
                      std::shared_ptr<const void> keep);

struct BatchResult {
  double cost() const { return std::accumulate(task_costs.begin(), task_costs.end(), 0.0); }

  std::vector<double> task_costs;
  int64_t cols = 0;                // C
  std::vector<float> predictions;  // [B, C]
  std::vector<float> log_losses;   // [B], or empty
};

// Sets the row gradients of `views`, and returns the other figures.  Throws kData unless the body is the answer
// to this batch, with as many predictions for each example, and costs, as the network makes.
BatchResult decode_result(std::span<const char> body, const PreparedBatch& prepared, const FigureSizes& sizes,
                          const std::vector<ParameterSpec>& specs,
                          std::span<const ParameterView<float>> views);

}  // namespace ps

#endif  // PS_HETER_MESSAGES_H_
