#include "store/codec_exchange.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "collective/link_measure.h"

namespace ps {

namespace {

constexpr uint8_t kWhole = 255;  // in a state: the matrix is exchanged whole

// A message between two trainers is { size:u64 bytes[size] }..., one for each matrix of the step, in the
// order of the model.
void put_part(std::string& message, std::string_view bytes) {
  put(message, static_cast<uint64_t>(bytes.size()));
  message += bytes;
}

// Returns the parts of one message.  Throws kCorrupt.
std::vector<std::string_view> parts_of(std::string_view message, size_t num_parts, int rank) {
  ByteReader in(message);
  std::vector<std::string_view> parts;
  for (size_t n = 0; n < num_parts; ++n) parts.push_back(in.get_bytes(in.get<uint64_t>()));
  if (in.ok() && in.remaining() == 0) return parts;
  fail(Code::kCorrupt, "encoded gradients of trainer ", rank, ": ", message.size(), " bytes are not ",
       num_parts, " parts");
}

// Waits in its destructor, also after an error, for a device that copies strings of the enclosing scope.  One
// owner thread.
class DeviceWait {
 public:
  explicit DeviceWait(CompressionDevice* device) : device_(device) {}
  DeviceWait(const DeviceWait&) = delete;
  DeviceWait& operator=(const DeviceWait&) = delete;
  ~DeviceWait() {
    try {
      if (device_ != nullptr) device_->codecs().wait();
    } catch (const Error&) {
      // The next call that waits for the device reports what is wrong with it.
    }
  }

 private:
  CompressionDevice* const device_;
};

}  // namespace

CodecExchange::CodecExchange(const CodecExchangeOptions& options, std::span<const ParameterSpec> specs,
                             LocalStore& local, Communicator& communicator)
    : options_(options), specs_(specs), local_(local), communicator_(communicator), matrices_(specs.size()) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (is_matrix(p)) matrices_[p].codec = 0;
  }
  if (options_.chooses) choose();
}

bool CodecExchange::is_matrix(size_t parameter) const {
  const ParameterSpec& spec = specs_[parameter];
  return spec.kind != ParameterKind::kStatistic && spec.rows > 1 && spec.cols > 1;
}

bool CodecExchange::compresses(size_t parameter) const {
  return local_.schedule().steps() >= options_.begin_step && matrices_[parameter].codec;
}

// Chooses the codec of every matrix.  All trainers choose the same, since they use the numbers of the slowest
// trainer.
void CodecExchange::choose() {
  ClusterParameters cluster = measure_links(communicator_);
  if (options_.latency) cluster.latency = *options_.latency;
  if (options_.bandwidth) cluster.bandwidth = *options_.bandwidth;
  std::vector<size_t> parameters;
  std::vector<MatrixTrials> trials;
  double other_bytes = 0;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (is_matrix(p)) {
      parameters.push_back(p);
      trials.push_back(try_codecs(p));
    } else {
      other_bytes += static_cast<double>(specs_[p].rows * specs_[p].cols) * sizeof(float);
    }
  }
  const CodecChoice choice = choose_codecs(cluster, trials, other_bytes, options_.groups);
  for (size_t n = 0; n < parameters.size(); ++n) matrices_[parameters[n]].codec = choice.codecs[n];
  seconds_ = choice.seconds, whole_seconds_ = choice.whole_seconds;
}

// Tries every codec on one matrix.  `numbers` has bytes, encode_seconds and decode_seconds of each codec in
// turn, and becomes the largest of all trainers, since a step waits for the slowest of them.  All trainers
// then choose from the same numbers, and so choose the same codec.
MatrixTrials CodecExchange::try_codecs(size_t parameter) const {
  std::vector<double> numbers;
  for (size_t codec = 0; codec < options_.codecs.size(); ++codec) {
    const CodecTrial trial = try_codec(parameter, codec);
    numbers.insert(numbers.end(), {trial.bytes, trial.encode_seconds, trial.decode_seconds});
  }
  numbers = largest_of_all(communicator_, numbers);
  MatrixTrials trials;
  trials.values = static_cast<double>(specs_[parameter].rows * specs_[parameter].cols);
  for (size_t n = 0; n < numbers.size(); n += 3)
    trials.trials.push_back({numbers[n], numbers[n + 1], numbers[n + 2]});
  return trials;
}

// Measures a codec on the largest part, that of the first owner, filled with noise.  The times are the least
// of kTimes runs.
CodecTrial CodecExchange::try_codec(size_t parameter, size_t codec) const {
  constexpr int kTimes = 3;
  const ParameterSpec& spec = specs_[parameter];
  const size_t rows = even_part(static_cast<size_t>(spec.rows), communicator_.size(), 0).count();
  std::vector<float> values(rows * static_cast<size_t>(spec.cols));
  Random random(spec.initializer.seed, parameter);
  for (float& value : values) value = unit_float(random.next32()) - 0.5f;
  const std::unique_ptr<Codec> made = make(parameter, codec, 0);
  std::string bytes;
  CodecTrial trial{.encode_seconds = 1e9, .decode_seconds = 1e9};
  for (int n = 0; n < kTimes; ++n) {
    const double begin = monotonic_seconds();
    made->encode(values, bytes);
    const double encoded = monotonic_seconds();
    made->decode(bytes, values);
    trial.bytes = std::max(trial.bytes, static_cast<double>(bytes.size()));
    trial.encode_seconds = std::min(trial.encode_seconds, encoded - begin);
    trial.decode_seconds = std::min(trial.decode_seconds, monotonic_seconds() - encoded);
  }
  return trial;
}

// Part number size() is the owner's sum, so that its random decisions differ from those of the senders.
std::unique_ptr<Codec> CodecExchange::make(size_t parameter, size_t codec, uint64_t part) const {
  const ParameterSpec& spec = specs_[parameter];
  const uint64_t size = static_cast<uint64_t>(communicator_.size());
  const int owner = part == size ? communicator_.rank() : static_cast<int>(part);
  const ElementRange rows = even_part(static_cast<size_t>(spec.rows), communicator_.size(), owner);
  return make_codec(options_.codecs[codec], "codec",
                    {.rows = static_cast<int64_t>(rows.count()),
                     .cols = spec.cols,
                     .seed = spec.initializer.seed,
                     .key = parameter * (size + 1) + part,
                     .cpu = local_.cpu()});
}

// Makes the codecs of a matrix at its first compressed step: one of this trainer's gradient for each
// owner's part, and one of the sum of its own part.  If the device has the gradient, all of them move there
// with their residuals, and the device trains the weights from then on.
void CodecExchange::begin(size_t parameter) {
  Matrix& matrix = matrices_[parameter];
  const int size = communicator_.size();
  matrix.parts = even_parts(static_cast<size_t>(specs_[parameter].rows), size);
  for (int owner = 0; owner < size; ++owner)
    matrix.senders.push_back(make(parameter, *matrix.codec, static_cast<uint64_t>(owner)));
  matrix.owner = make(parameter, *matrix.codec, static_cast<uint64_t>(size));
  if (!runs_there(parameter)) return;
  for (const auto& sender : matrix.senders) sender->move_to(options_.device->codecs());
  matrix.owner->move_to(options_.device->codecs());
  matrix.there = options_.device->make_dense(local_, static_cast<int>(parameter));
}

bool CodecExchange::runs_there(size_t parameter) const {
  return options_.device != nullptr && options_.on_device[parameter] &&
         matrices_[parameter].owner->format_there() && local_.can_lend_dense(static_cast<int>(parameter));
}

void CodecExchange::bind_there(std::span<ParameterView<float>> views) {
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (!compresses(p)) continue;
    if (!is_begun(p)) begin(p);
    if (matrices_[p].there) matrices_[p].there->pull(views[p]);
  }
}

void CodecExchange::push_there() {
  for (const Matrix& matrix : matrices_) {
    if (matrix.there) matrix.there->push();
  }
}

std::span<float> CodecExchange::part_of(const Gradient& gradient, int owner) const {
  const ElementRange& rows = matrices_[gradient.parameter].parts[static_cast<size_t>(owner)];
  const size_t cols = static_cast<size_t>(specs_[gradient.parameter].cols);
  return gradient.values.subspan(rows.begin * cols, rows.count() * cols);
}

// Every trainer sends each owner its encoded part; the owner adds up what came, and sends the encoded sum to
// all; then all decode the sums of all parts.
void CodecExchange::step(std::span<const Gradient> gradients, const StepSize& step) {
  std::vector<Gradient> own;
  for (const Gradient& gradient : gradients) own.push_back(scaled(gradient, step.scale));
  std::vector<std::string> received, sums;
  const DeviceWait wait(options_.device.get());
  received = communicator_.all_to_all(encode_parts(own, step.scale));
  sums = communicator_.gather(encode_sums(own, received));
  decode_sums(own, sums, step.scale);
}

// Returns the gradient in the memory in which it is encoded.  A device applies the scale when it encodes.
GradientCompression::Gradient CodecExchange::scaled(const Gradient& gradient, float scale) {
  const size_t p = gradient.parameter;
  if (!is_begun(p)) begin(p);
  if (!matrices_[p].there) {
    for (float& value : gradient.values) value *= scale;
    return gradient;
  }
  const size_t size = static_cast<size_t>(specs_[p].rows * specs_[p].cols);
  return {p, gradient_there(*matrices_[p].there, gradient.values, size)};
}

// Encodes the parts of all owners.  A device begins all parts before the first one is waited for.
std::vector<std::string> CodecExchange::encode_parts(std::span<const Gradient> gradients, float scale) {
  const size_t size = static_cast<size_t>(communicator_.size()), num = gradients.size();
  std::vector<std::string> messages(size);
  from_device_.resize(size * num);
  const auto each_part = [&](auto&& body) {
    // Number n is the part of owner n / num of gradient n % num, so that the parts of one message follow
    // each other.
    for (size_t n = 0; n < size * num; ++n) {
      const Gradient& gradient = gradients[n % num];
      body(*matrices_[gradient.parameter].senders[n / num], part_of(gradient, static_cast<int>(n / num)), n);
    }
  };
  each_part([&](Codec& codec, std::span<float> part, size_t n) {
    if (codec.is_there()) codec.begin_encode_there(part.data(), scale, from_device_[n]);
  });
  each_part([&](Codec& codec, std::span<float> part, size_t n) {
    codec.is_there() ? codec.finish_encode_there(from_device_[n]) : codec.encode(part, encoded_);
    put_part(messages[n / num], codec.is_there() ? from_device_[n] : encoded_);
  });
  return messages;
}

// Part rank() of each gradient <- the sum of what all trainers have sent of it.  Returns the message for all
// trainers.
std::string CodecExchange::encode_sums(std::span<const Gradient> gradients,
                                       std::span<const std::string> received) {
  std::vector<std::vector<std::string_view>> by_rank;
  for (size_t rank = 0; rank < received.size(); ++rank)
    by_rank.push_back(parts_of(received[rank], gradients.size(), static_cast<int>(rank)));
  std::string message;
  from_device_.resize(gradients.size());
  std::vector<std::string_view> encoded(received.size());
  const auto each_part = [&](bool there, auto&& body) {
    for (size_t n = 0; n < gradients.size(); ++n) {
      Codec& codec = *matrices_[gradients[n].parameter].owner;
      if (there && !codec.is_there()) continue;
      for (size_t rank = 0; rank < received.size(); ++rank) encoded[rank] = by_rank[rank][n];
      body(codec, part_of(gradients[n], communicator_.rank()), n);
    }
  };
  // A device begins with all its parts first, and works while the processor does its own below.
  each_part(true, [&](Codec& codec, std::span<float> sum, size_t n) {
    codec.add_up_there(encoded, sum.data());
    codec.begin_encode_there(sum.data(), 1, from_device_[n]);
  });
  each_part(false, [&](Codec& codec, std::span<float> sum, size_t n) {
    if (codec.is_there()) {
      codec.finish_encode_there(from_device_[n]);
      return put_part(message, from_device_[n]);
    }
    codec.add_up(encoded, sum);
    codec.encode(sum, encoded_);
    put_part(message, encoded_);
  });
  return message;
}

// Decodes the sums of all parts into the gradients.  They are divided by `scale`, since the optimizer
// multiplies its gradient by it.
void CodecExchange::decode_sums(std::span<const Gradient> gradients, std::span<const std::string> sums,
                                float scale) {
  for (int owner = 0; owner < communicator_.size(); ++owner) {
    const auto parts = parts_of(sums[static_cast<size_t>(owner)], gradients.size(), owner);
    for (size_t n = 0; n < gradients.size(); ++n) {
      const std::span<float> sum = part_of(gradients[n], owner);
      const Codec& codec = *matrices_[gradients[n].parameter].senders[static_cast<size_t>(owner)];
      if (codec.is_there()) {
        codec.decode_there(parts[n], scale, sum.data());
        continue;
      }
      codec.decode(parts[n], sum);
      for (float& value : sum) value /= scale;
    }
  }
  if (options_.device != nullptr) options_.device->codecs().wait();
}

// state := { parameter:u32 codec:u8 begun:u8 codecs? }...      for each matrix
// codecs := those of the parts, then that of the sum, as Codec::save writes them; present if begun is 1
// codec: a number among those of the strategy; 255: exchanged whole
void CodecExchange::save(std::string& out) const {
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (!is_matrix(p)) continue;
    put(out, static_cast<uint32_t>(p));
    put(out, static_cast<uint8_t>(matrices_[p].codec.value_or(kWhole)));
    put(out, static_cast<uint8_t>(is_begun(p)));
    if (!is_begun(p)) continue;
    for (const auto& sender : matrices_[p].senders) sender->save(out);
    matrices_[p].owner->save(out);
  }
}

// Matrices may come in any order, but each exactly once.
void CodecExchange::load(ByteReader& in) {
  std::vector<bool> loaded(matrices_.size());
  while (in.ok() && in.remaining() > 0) load_matrix(in, loaded);
  if (!in.ok()) fail(Code::kCorrupt, "state of encoded gradients is cut short");
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (is_matrix(p) && !loaded[p])
      fail(Code::kCorrupt, "state of encoded gradients lacks ", quote(specs_[p].name));
  }
}

// Loads one matrix, and marks it in `loaded`.  The byte `begun` must agree with the restored schedule: a
// matrix that has a codec is begun if a step from options_.begin_step on was made.  begin makes the codecs,
// into which their states are loaded.
void CodecExchange::load_matrix(ByteReader& in, std::vector<bool>& loaded) {
  const uint32_t p = in.get<uint32_t>();
  const uint8_t codec = in.get<uint8_t>(), begun = in.get<uint8_t>();
  if (!in.ok() || p >= matrices_.size() || loaded[p] || !is_matrix(p)) {
    fail(Code::kCorrupt, "state of encoded gradients names parameter ", p);
  }
  const bool should_be = codec != kWhole && local_.schedule().steps() > options_.begin_step;
  const bool is_codec = codec < options_.codecs.size() || (codec == kWhole && options_.chooses);
  if (!is_codec || begun != static_cast<uint8_t>(should_be)) {
    fail(Code::kCorrupt, "state of encoded gradients has ", quote(specs_[p].name), " with codec ", codec,
         begun == 0 ? ", not begun" : ", begun");
  }
  loaded[p] = true;
  matrices_[p].codec = codec == kWhole ? std::nullopt : std::optional<size_t>(codec);
  if (begun == 0) return;
  begin(p);
  for (const auto& sender : matrices_[p].senders) sender->load(in);
  matrices_[p].owner->load(in);
}

Json CodecExchange::describe() const {
  const auto there =
      std::ranges::count_if(matrices_, [](const Matrix& matrix) { return matrix.there != nullptr; });
  if (!options_.chooses) return {{"compressed_there", there}};
  Json codecs = Json::object();
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (!is_matrix(p)) continue;
    const std::optional<size_t>& codec = matrices_[p].codec;
    codecs[specs_[p].name] = codec ? options_.codecs[*codec].at("type") : Json("whole");
  }
  return {{"compressed_there", there},
          {"codecs", std::move(codecs)},
          {"exchange_seconds", seconds_},
          {"whole_exchange_seconds", whole_seconds_}};
}

}  // namespace ps
