#include "store/dgc_exchange.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace ps {

namespace {

uint64_t values_in(const ParameterSpec& spec) {
  return static_cast<uint64_t>(spec.rows) * static_cast<uint64_t>(spec.cols);
}

// Throws kUsage if the parameter is tuned in a way that moves cannot follow.  l1 pulls each weight towards
// zero in every step, and clip_value bounds single gradients, while most moves are not sent in the step in
// which they arise.
void check_tuning(const ParameterSpec& spec) {
  const ParameterTuning& tuning = spec.tuning;
  if (tuning.l1.value_or(0) == 0 && !tuning.clip_value) return;
  fail(Code::kUsage, "parameter ", quote(spec.name), " has its own ", tuning.clip_value ? "clip_value" : "l1",
       ", which train.strategy dgc cannot apply to moves: leave it out, or exclude the parameter");
}

}  // namespace

DgcExchange::DgcExchange(const DgcExchangeOptions& options, std::span<const ParameterSpec> specs,
                         LocalStore& local, Communicator& communicator)
    : options_(options), specs_(specs), local_(local), communicator_(communicator), states_(specs.size()) {
  for (const ParameterSpec& spec : specs_) {
    const std::array<int64_t, 2> shape = {spec.rows, spec.cols};
    if (spec.kind != ParameterKind::kStatistic && dgc_compresses(options_.dgc, shape)) check_tuning(spec);
  }
}

bool DgcExchange::compresses(size_t parameter) const {
  return compresses_at(parameter, local_.schedule().steps());
}

bool DgcExchange::compresses_at(size_t parameter, int64_t step) const {
  const ParameterSpec& spec = specs_[parameter];
  const std::array<int64_t, 2> shape = {spec.rows, spec.cols};
  if (spec.kind == ParameterKind::kStatistic || !dgc_compresses(options_.dgc, shape)) return false;
  return dgc_selected(options_.dgc, step, values_in(spec)) < values_in(spec);
}

DgcOptions DgcExchange::options_of(size_t parameter) const {
  const ParameterSpec& spec = specs_[parameter];
  DgcOptions own = options_.dgc;
  own.momentum = spec.tuning.momentum.value_or(own.momentum);
  own.l2 = spec.tuning.l2.value_or(own.l2);
  if (spec.tuning.clip_norm) own.clip_norm = spec.tuning.clip_norm;
  return own;
}

bool DgcExchange::runs_there(size_t parameter) const {
  return options_.device != nullptr && options_.on_device[parameter] &&
         specs_[parameter].kind == ParameterKind::kMatrix && dgc_runs_there(options_of(parameter));
}

std::unique_ptr<DeepGradientCompression> DgcExchange::make(size_t parameter) const {
  const ParameterSpec& spec = specs_[parameter];
  const DgcTarget target{.shape = {spec.rows, spec.cols},
                         .num_trainers = communicator_.size(),
                         .seed = spec.initializer.seed,
                         .key = parameter,
                         .cpu = local_.cpu()};
  DgcDevice* const device = runs_there(parameter) ? options_.device.get() : nullptr;
  return std::make_unique<DeepGradientCompression>(options_of(parameter), target, device);
}

void DgcExchange::bind_there(std::span<ParameterView<float>> views) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!runs_there(p) || !compresses(p)) continue;
    if (!states_[p]) begin(p);
    DgcThere& arrays = *states_[p]->there(local_.whole(static_cast<int>(p)));
    views[p].value = arrays.weights();
    views[p].gradient = arrays.gradient();
    views[p].there = true;
  }
}

Json DgcExchange::describe() const {
  size_t there = 0;
  for (size_t p = 0; p < states_.size(); ++p) there += states_[p] && runs_there(p);
  return {{"compressed_there", there}};
}

// Begins to compress a parameter.  A row of its table has the weights and then the momentum, which is the
// only state of its optimizer.
void DgcExchange::begin(size_t parameter) {
  constexpr uint64_t kRowsAtOnce = 1024;
  const ParameterSpec& spec = specs_[parameter];
  const size_t cols = static_cast<size_t>(spec.cols);
  std::vector<float> velocity;
  velocity.reserve(values_in(spec));
  RowBlock block;
  std::vector<uint64_t> keys;
  for (uint64_t first = 0; first < static_cast<uint64_t>(spec.rows); first += keys.size()) {
    keys.clear();
    const uint64_t end = std::min(first + kRowsAtOnce, static_cast<uint64_t>(spec.rows));
    for (uint64_t key = first; key < end; ++key) keys.push_back(key);
    block.clear();
    local_.copy_rows(static_cast<int>(parameter), keys, block);
    PS_CHECK(block.values.size() == keys.size() * 2 * cols);
    for (size_t r = 0; r < keys.size(); ++r) {
      const float* row = block.values.data() + (2 * r + 1) * cols;
      velocity.insert(velocity.end(), row, row + cols);
    }
  }
  states_[parameter] = make(parameter);
  states_[parameter]->begin(local_.schedule().steps(), velocity);
}

// First makes the local step of every parameter, which selects the values to send; then adds up the selected
// values of all trainers in one exchange.  The sums are kept, since backward may still read the weights.
void DgcExchange::step(std::span<const Gradient> gradients, const StepSize& step) {
  std::vector<SparseShare> shares(gradients.size());
  std::string bytes;
  for (size_t n = 0; n < gradients.size(); ++n) {
    const size_t p = gradients[n].parameter;
    if (!states_[p]) begin(p);
    DeepGradientCompression& dgc = *states_[p];
    PS_CHECK(dgc.steps() == local_.schedule().steps());
    shares[n].elements = dgc.elements();
    shares[n].selected = dgc.selected();
    const double rate = step.learning_rate * specs_[p].tuning.learning_rate;
    bytes.clear();
    dgc.step_sparse({.values = gradients[n].values,
                     .scale = step.scale * static_cast<float>(communicator_.size()),
                     .rate = static_cast<float>(rate)},
                    local_.whole(static_cast<int>(p)), bytes);
    shares[n].vector = dgc.sent();
  }
  const SparseEncoding encoding = find_sparse_encoding(options_.dgc.encoding);
  sparse_all_reduce(communicator_, options_.exchange, encoding, shares);
  for (size_t n = 0; n < gradients.size(); ++n)
    moves_.push_back({gradients[n].parameter, std::move(shares[n].vector)});
}

void DgcExchange::end_step() {
  for (const Moves& moves : moves_)
    states_[moves.parameter]->apply(moves.sum, local_.whole(static_cast<int>(moves.parameter)));
  moves_.clear();
}

// state := { parameter:u32 u and v, as DeepGradientCompression::save writes them }...
void DgcExchange::save(std::string& out) const {
  for (size_t p = 0; p < states_.size(); ++p) {
    if (!states_[p]) continue;
    put(out, static_cast<uint32_t>(p));
    states_[p]->save(out);
  }
}

// Loads into new objects, which replace the states only when all of them are there.  A parameter must have
// a state exactly if the last step has compressed it, and that state must be as many steps old as the
// restored schedule.
void DgcExchange::load(ByteReader& in) {
  const int64_t steps = local_.schedule().steps();
  std::vector<std::unique_ptr<DeepGradientCompression>> loaded(specs_.size());
  while (in.ok() && in.remaining() > 0) {
    const uint32_t p = in.get<uint32_t>();
    if (!in.ok() || p >= loaded.size() || loaded[p] || specs_[p].kind == ParameterKind::kStatistic) {
      fail(Code::kCorrupt, "state of Deep Gradient Compression names parameter ", p);
    }
    loaded[p] = make(p);
    loaded[p]->load(in);
    if (loaded[p]->steps() == steps) continue;
    fail(Code::kCorrupt, "state of Deep Gradient Compression is after ", loaded[p]->steps(),
         " steps, not after ", steps);
  }
  for (size_t p = 0; p < loaded.size(); ++p) {
    if (loaded[p] || steps == 0 || !compresses_at(p, steps - 1)) continue;
    fail(Code::kCorrupt, "state of Deep Gradient Compression lacks ", quote(specs_[p].name));
  }
  states_ = std::move(loaded);
}

}  // namespace ps
