// A batch from a reader, a beginning, and the answer of a compute trainer: what is accepted has all its rows in the bytes
// that came, and a beginning is the same bytes when it is encoded again.
//
// input := kind:u8 body                            (kind, modulo 4: 0 a batch, 1 an answer, 2 a batch ahead, 3 a beginning)
#include <algorithm>
#include <array>

#include "base/error.h"
#include "heter/messages.h"
#include "optim/optimizer_plan.h"
#include "ps/client/stored_beginning.h"
#include "store/local_store.h"
#include "unit/feed/batches.h"

namespace {

const ps::Network<float>& network() {
  static const ps::Network<float> network = ps::feed_network(ps::kFeedModel);
  return network;
}

void take_batch(std::string_view bytes) {
  ps::BufferPool pool;
  ps::Buffer body = pool.take(bytes.size());
  std::ranges::copy(bytes, body.data());
  ps::Network<float>::Planners planners = network().make_planners(ps::KeyOrder::kAscending);
  ps::PreparedBatch prepared;
  std::vector<std::vector<float*>> rows;
  ps::decode_batch(body.bytes(), network(), planners, prepared, rows);
  for (size_t p = 0; p < rows.size(); ++p) {
    const size_t bytes_of_row = static_cast<size_t>(network().parameters()[p].cols) * sizeof(float);
    for (const float* row : rows[p]) {
      const char* begin = reinterpret_cast<const char*>(row);
      PS_CHECK(begin >= body.data() && begin + bytes_of_row <= body.data() + body.size());
    }
  }
}

void take_ahead(std::string_view bytes) {
  ps::BufferPool pool;
  ps::Buffer body = pool.take(bytes.size());
  std::ranges::copy(bytes, body.data());
  ps::Network<float>::Planners planners = network().make_planners(ps::KeyOrder::kAscending);
  const std::vector<ps::ParameterSpec>& specs = network().parameters();
  const ps::ReturnedLayout layout = [&specs](uint32_t p) {
    if (p >= specs.size() || !specs[p].sparse) ps::fail(ps::Code::kData, "no such rows");
    return ps::TableLayout{.name = "", .sparse = true, .width = specs[p].cols, .state_arrays = 1};
  };
  ps::PreparedBatch prepared;
  const ps::AheadBatch ahead = ps::decode_ahead(body.bytes(), network(), planners, layout, prepared);
  for (const ps::ReturnedRows::Slice& slice : ahead.rows.slices) {
    const std::vector<uint64_t>& keys = prepared.plans[slice.parameter].keys;
    PS_CHECK(std::ranges::includes(keys, slice.rows.keys));
    const auto values = static_cast<size_t>(layout(slice.parameter).values());
    PS_CHECK(slice.rows.values.size() == slice.rows.keys.size() * values);
  }
}

// A store begins from it, or is left as it is for an error of its own.
void take_beginning(std::string_view bytes) {
  static const ps::OptimizerPlan plan =
      ps::make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 0.1}}, "mean");
  static ps::Device device(1, ps::best_cpu_level());
  const std::vector<ps::ParameterSpec>& specs = network().parameters();
  const ps::StoredBeginning beginning = ps::decode_beginning({bytes.data(), bytes.size()}, specs.size());
  PS_CHECK(ps::encode_beginning(beginning) == bytes);
  ps::LocalStore copies(specs, plan, uint64_t{1} << 30, device);
  try {
    ps::begin_from(beginning, specs, copies);
  } catch (const ps::Error& error) {
    if (error.code() != ps::Code::kCorrupt) throw;
  }
}

void take_answer(std::string_view bytes) {
  ps::PreparedBatch prepared;
  prepared.batch = ps::feed_batch(5, 6);
  ps::prepare_batch(network(), ps::KeyOrder::kAscending, prepared);
  const std::vector<ps::ParameterSpec>& specs = network().parameters();
  std::vector<std::vector<float>> gradients(specs.size());
  std::vector<ps::ParameterView<float>> views(specs.size());
  for (size_t p = 0; p < specs.size(); ++p) {
    gradients[p].resize(prepared.plans[p].keys.size() * static_cast<size_t>(specs[p].cols));
    views[p].row_gradients = gradients[p].data();
  }
  const ps::FigureSizes sizes = ps::figure_sizes(network());
  const ps::BatchResult result =
      ps::decode_result({bytes.data(), bytes.size()}, prepared, sizes, specs, views);
  PS_CHECK(result.cols == sizes.prediction_cols && std::ssize(result.task_costs) == sizes.tasks);
  PS_CHECK(std::ssize(result.predictions) == 6 * sizes.prediction_cols);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const int kind = data[0] % 4;
    constexpr std::array kTakes{take_batch, take_answer, take_ahead, take_beginning};
    kTakes[static_cast<size_t>(kind)](body);
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() == ps::Code::kData);
  }
  return 0;
}
