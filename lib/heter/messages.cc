#include "heter/messages.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"
#include "feed/prepared_batch_bytes.h"

namespace ps {

namespace {

constexpr size_t kAlignment = Buffer::kAlignment;
alignas(kAlignment) constexpr std::array<char, kAlignment> kZeros{};

size_t padding_after(size_t size) {
  return (kAlignment - size % kAlignment) % kAlignment;
}

void pad(std::string& out) {
  out.append(padding_after(out.size()), '\0');
}

// Skips the padding behind the bytes that were read so far of a message of `whole` bytes.
void skip_padding(ByteReader& in, size_t whole) {
  in.get_bytes(padding_after(whole - in.remaining()));
}

void check_whole(const ByteReader& in, const char* what) {
  if (!in.ok()) fail(Code::kData, what, ": it is cut short");
}

// Returns the number of floats of the rows that a plan names.
size_t num_floats(const KeyPlan& plan, const ParameterSpec& spec) {
  return plan.keys.size() * static_cast<size_t>(spec.cols);
}

std::string_view text_of_body(std::span<const char> body) {
  return {body.data(), body.size()};
}

void check_size(size_t size) {
  if (size <= kMostBatchBytes) return;
  fail(Code::kUsage, "a batch with its rows takes more than ", kMostBatchBytes,
       " bytes, which a compute trainer does not take: try a smaller data.batch_size");
}

// Appends step:u64 size:u64 prepared[size] pad.  The size is not known before the batch is encoded; it is
// written over its zero afterwards.
void put_prepared(uint64_t step, const PreparedBatch& prepared, std::string& out) {
  put(out, step);
  put(out, uint64_t{0});
  const size_t begin = out.size();
  encode_prepared(prepared, out);
  const uint64_t size = out.size() - begin;
  std::memcpy(out.data() + begin - sizeof size, &size, sizeof size);
  pad(out);
}

// left:u64 pass:i64 rows
void put_rows(const AheadBatch& ahead, std::string& out) {
  put(out, ahead.left);
  put(out, ahead.pass);
  out += encode_returned_rows(ahead.rows);
  check_size(out.size());
}

// Returns the step.
uint64_t get_prepared(ByteReader& in, size_t whole, const Network<float>& network,
                      Network<float>::Planners& planners, PreparedBatch& prepared) {
  const uint64_t step = in.get<uint64_t>(), size = in.get<uint64_t>();
  if (!in.has(size)) fail(Code::kData, "batch: it is cut short");
  decode_prepared(in.get_bytes(size), network, planners, prepared);
  if (!prepared.training) fail(Code::kData, "batch: it is not for training");
  skip_padding(in, whole);
  return step;
}

// Throws kData if there are rows that the batch does not use.  Such rows would never leave the copies.
void check_rows_of(const PreparedBatch& prepared, const ReturnedRows& rows) {
  for (const ReturnedRows::Slice& slice : rows.slices) {
    if (std::ranges::includes(prepared.plans[slice.parameter].keys, slice.rows.keys)) continue;
    fail(Code::kData, "batch: it has rows that it does not use");
  }
}

// Reads the part of a result before the gradients.  All numbers must be those that this reader expects of
// its own batch and network, before memory is taken for what they announce.
BatchResult get_figures(ByteReader& in, const PreparedBatch& prepared, const FigureSizes& sizes) {
  BatchResult result;
  const uint64_t rows = in.get<uint32_t>(), cols = in.get<uint32_t>(), losses = in.get<uint32_t>();
  const uint64_t tasks = in.get<uint32_t>();
  if (cols != static_cast<uint64_t>(sizes.prediction_cols)) {
    fail(Code::kData, "result: it has ", cols, " predictions an example, the network ",
         sizes.prediction_cols);
  }
  if (tasks != static_cast<uint64_t>(sizes.tasks)) {
    fail(Code::kData, "result: it has costs of ", tasks, " tasks, the network has ", sizes.tasks);
  }
  if (rows != static_cast<uint64_t>(prepared.batch.size()) ||
      !in.has(tasks * sizeof(double) + (rows * cols + losses) * sizeof(float))) {
    fail(Code::kData, "result: it has ", rows, " predictions, the batch ", prepared.batch.size(),
         " examples");
  }
  if (losses != 0 && losses != rows) {
    fail(Code::kData, "result: it has ", losses, " log losses, the batch ", rows, " examples");
  }
  result.task_costs.resize(tasks);
  in.get_array(std::span<double>(result.task_costs));
  result.cols = static_cast<int64_t>(cols);
  result.predictions.resize(rows * cols);
  in.get_array(std::span<float>(result.predictions));
  result.log_losses.resize(losses);
  in.get_array(std::span<float>(result.log_losses));
  return result;
}

}  // namespace

const ObjectSpec<ReaderHello>& ReaderHello::spec() {
  static const ObjectSpec<ReaderHello> spec = [] {
    constexpr double kMostRanks = 1 << 16;
    ObjectSpec<ReaderHello> s;
    s.field("protocol", &ReaderHello::protocol, "version of the messages");
    s.field("rank", &ReaderHello::rank, "rank of the reader").at_least(0).at_most(kMostRanks);
    s.field("trainers", &ReaderHello::trainers, "readers of the job").at_least(1).at_most(kMostRanks);
    s.field("generation", &ReaderHello::generation, "of the reader's process").at_least(1);
    s.field("run", &ReaderHello::run, "run of the servers, 0: it had ended before the reader came");
    s.field("cpu", &ReaderHello::cpu, "level of the reader's kernels");
    s.field("job", &ReaderHello::job, "what both must have in common");
    s.field("schema", &ReaderHello::schema, "fields of an example");
    s.field("ends", &ReaderHello::ends, "it takes no further part in the run");
    s.check([](const ReaderHello& hello, std::string_view path) {
      if (hello.run == 0 && !hello.ends)
        fail(Code::kUsage, json_path(path, "run"), ": 0, expected at least 1");
    });
    return s;
  }();
  return spec;
}

const ObjectSpec<ComputeWelcome>& ComputeWelcome::spec() {
  static const ObjectSpec<ComputeWelcome> spec = [] {
    ObjectSpec<ComputeWelcome> s;
    s.field("protocol", &ComputeWelcome::protocol, "version of the messages");
    s.field("cpu", &ComputeWelcome::cpu, "level of the compute trainer's kernels");
    return s;
  }();
  return spec;
}

// The size is checked before the rows of each parameter are appended, so that a batch that is too large is
// refused before it takes the memory.
std::string encode_batch(uint64_t step, const PreparedBatch& prepared,
                         const std::vector<ParameterSpec>& specs,
                         std::span<const ParameterView<float>> views) {
  std::string out;
  put_prepared(step, prepared, out);
  for (size_t p = 0; p < specs.size(); ++p) {
    if (!with_readers(specs[p])) continue;
    const size_t cols = static_cast<size_t>(specs[p].cols), num_keys = prepared.plans[p].keys.size();
    check_size(out.size() + num_keys * cols * sizeof(float));
    for (size_t n = 0; n < num_keys; ++n) put_array<float>(out, {views[p].rows[n], cols});
    pad(out);
  }
  return out;
}

uint64_t step_of_batch(std::span<const char> body) {
  ByteReader in(text_of_body(body));
  const uint64_t step = in.get<uint64_t>();
  check_whole(in, "batch");
  return step;
}

// Checks the size of each parameter's rows before it points into them, so that damaged bytes cannot make a
// pointer leave the body.
void decode_batch(std::span<char> body, const Network<float>& network, Network<float>::Planners& planners,
                  PreparedBatch& prepared, std::vector<std::vector<float*>>& rows) {
  const std::vector<ParameterSpec>& specs = network.parameters();
  ByteReader in(text_of_body(body));
  get_prepared(in, body.size(), network, planners, prepared);
  rows.resize(specs.size());
  for (size_t p = 0; p < specs.size(); ++p) {
    rows[p].clear();
    if (!with_readers(specs[p])) continue;
    const size_t bytes = num_floats(prepared.plans[p], specs[p]) * sizeof(float);
    if (!in.has(bytes)) fail(Code::kData, "batch: it has too few rows");
    char* from = body.data() + (body.size() - in.remaining());
    in.get_bytes(bytes);
    skip_padding(in, body.size());
    for (size_t n = 0; n < prepared.plans[p].keys.size(); ++n) {
      rows[p].push_back(reinterpret_cast<float*>(from) + n * static_cast<size_t>(specs[p].cols));
    }
  }
  check_whole(in, "batch");
  if (in.remaining() > 0) fail(Code::kData, "batch: it has ", in.remaining(), " bytes too many");
}

std::string encode_ahead(const AheadBatch& ahead, const PreparedBatch& prepared) {
  std::string out;
  put_prepared(ahead.step, prepared, out);
  put_rows(ahead, out);
  return out;
}

std::string encode_ahead_again(const AheadBatch& ahead, std::span<const char> before) {
  ByteReader in(text_of_body(before));
  in.get<uint64_t>();
  in.get_bytes(in.get<uint64_t>());
  skip_padding(in, before.size());
  std::string out(before.data(), before.size() - in.remaining());
  put_rows(ahead, out);
  return out;
}

// Reads the message in its order.  The rows must be some of those that the batch uses, which only the
// decoded batch tells.
AheadBatch decode_ahead(std::span<char> body, const Network<float>& network,
                        Network<float>::Planners& planners, const ReturnedLayout& layout,
                        PreparedBatch& prepared) {
  ByteReader in(text_of_body(body));
  AheadBatch ahead;
  ahead.step = get_prepared(in, body.size(), network, planners, prepared);
  ahead.left = in.get<uint64_t>();
  ahead.pass = in.get<int64_t>();
  check_whole(in, "batch");
  ahead.rows = decode_returned_rows(in.get_bytes(in.remaining()), layout);
  check_rows_of(prepared, ahead.rows);
  return ahead;
}

std::string encode_no_data(const StepWithoutData& step) {
  std::string out;
  put(out, step.step);
  put(out, step.pass);
  return out;
}

StepWithoutData decode_no_data(std::span<const char> body) {
  ByteReader in(text_of_body(body));
  StepWithoutData step;
  step.step = in.get<uint64_t>();
  step.pass = in.get<int64_t>();
  check_whole(in, "step without data");
  if (in.remaining() > 0) fail(Code::kData, "step without data: it has ", in.remaining(), " bytes too many");
  return step;
}

std::string encode_pass_ended(bool ended) {
  return std::string(1, ended ? 1 : 0);
}

bool decode_pass_ended(std::span<const char> body) {
  if (body.size() != 1) fail(Code::kData, "end of a pass: it has ", body.size(), " bytes, expected 1");
  return body[0] != 0;
}

std::string encode_first(uint64_t first) {
  std::string out;
  put(out, first);
  return out;
}

uint64_t decode_first(std::span<const char> body) {
  const auto [first, rest] = split_first(body);
  if (!rest.empty()) fail(Code::kData, "first step: it has ", rest.size(), " bytes too many");
  return first;
}

std::pair<uint64_t, std::span<const char>> split_first(std::span<const char> body) {
  ByteReader in(text_of_body(body));
  const uint64_t first = in.get<uint64_t>();
  check_whole(in, "first step");
  return {first, body.subspan(sizeof first)};
}

// The head is copied; the gradients are sent from the memory of `views`, each parameter's followed by zeros
// up to the alignment.  `Both` keeps the head and that memory for as long as the payload lives.
Payload encode_result(const BatchFigures& figures, const PreparedBatch& prepared,
                      const std::vector<ParameterSpec>& specs, std::span<const ParameterView<float>> views,
                      std::shared_ptr<const void> keep) {
  const Matrix<const float>& predictions = figures.predictions;
  std::string head;
  put(head, static_cast<uint32_t>(predictions.rows));
  put(head, static_cast<uint32_t>(predictions.cols));
  put(head, static_cast<uint32_t>(figures.log_losses.size()));
  put(head, static_cast<uint32_t>(figures.task_costs.size()));
  put_array<double>(head, figures.task_costs);
  put_array<float>(head, {predictions.data, static_cast<size_t>(predictions.size())});
  put_array<float>(head, figures.log_losses);
  pad(head);
  Payload payload{std::move(head)};
  using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  payload.keep = std::make_shared<Both>(std::move(payload.keep), std::move(keep));
  for (size_t p = 0; p < specs.size(); ++p) {
    if (!with_readers(specs[p])) continue;
    const size_t bytes = num_floats(prepared.plans[p], specs[p]) * sizeof(float);
    if (bytes == 0) continue;
    payload.parts.push_back({reinterpret_cast<const char*>(views[p].row_gradients), bytes});
    if (padding_after(bytes) > 0) payload.parts.push_back({kZeros.data(), padding_after(bytes)});
  }
  return payload;
}

// Gradients are copied into the buffers from which the reader pushes them.  A body that is too short leaves
// `in` without bytes, which is noticed at the end, and the batch is not pushed.
BatchResult decode_result(std::span<const char> body, const PreparedBatch& prepared, const FigureSizes& sizes,
                          const std::vector<ParameterSpec>& specs,
                          std::span<const ParameterView<float>> views) {
  ByteReader in(text_of_body(body));
  BatchResult result = get_figures(in, prepared, sizes);
  skip_padding(in, body.size());
  for (size_t p = 0; p < specs.size(); ++p) {
    if (!with_readers(specs[p])) continue;
    in.get_array(std::span<float>(views[p].row_gradients, num_floats(prepared.plans[p], specs[p])));
    skip_padding(in, body.size());
  }
  check_whole(in, "result");
  if (in.remaining() > 0) fail(Code::kData, "result: it has ", in.remaining(), " bytes too many");
  return result;
}

}  // namespace ps
