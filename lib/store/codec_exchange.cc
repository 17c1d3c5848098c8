#include "store/codec_exchange.h"

#include "base/error.h"

namespace ps {

namespace {

// A message between two trainers is { size:u64 bytes[size] }..., one for each matrix of the step, in the order of the
// model.
void put_part(std::string& message, std::string_view bytes) {
  put(message, static_cast<uint64_t>(bytes.size()));
  message += bytes;
}

// The parts of one message.  Throws kCorrupt.
std::vector<std::string_view> parts_of(std::string_view message, size_t num_parts, int rank) {
  ByteReader in(message);
  std::vector<std::string_view> parts;
  for (size_t n = 0; n < num_parts; ++n) parts.push_back(in.get_bytes(in.get<uint64_t>()));
  if (in.ok() && in.remaining() == 0) return parts;
  fail(Code::kCorrupt, "encoded gradients of trainer ", rank, ": ", message.size(), " bytes are not ",
       num_parts, " parts");
}

}  // namespace

CodecExchange::CodecExchange(const CodecExchangeOptions& options, std::span<const ParameterSpec> specs,
                             const LocalStore& local, Communicator& communicator)
    : options_(options), specs_(specs), local_(local), communicator_(communicator), matrices_(specs.size()) {}

bool CodecExchange::is_matrix(size_t parameter) const {
  const ParameterSpec& spec = specs_[parameter];
  return spec.kind != ParameterKind::kStatistic && spec.rows > 1 && spec.cols > 1;
}

bool CodecExchange::compresses(size_t parameter) const {
  return local_.schedule_steps() >= options_.begin_step && is_matrix(parameter);
}

// Part number size() is that of the owner's sum, so that its random decisions are not those of a sender.
std::unique_ptr<Codec> CodecExchange::make(size_t parameter, uint64_t part) const {
  const ParameterSpec& spec = specs_[parameter];
  const uint64_t size = static_cast<uint64_t>(communicator_.size());
  const int owner = part == size ? communicator_.rank() : static_cast<int>(part);
  const ElementRange rows = even_part(static_cast<size_t>(spec.rows), communicator_.size(), owner);
  return make_codec(options_.codec, "train.strategy.codec",
                    {.rows = static_cast<int64_t>(rows.count()),
                     .cols = spec.cols,
                     .seed = spec.initializer.seed,
                     .key = parameter * (size + 1) + part});
}

void CodecExchange::begin(size_t parameter) {
  Matrix& matrix = matrices_[parameter];
  const int size = communicator_.size();
  matrix.parts = even_parts(static_cast<size_t>(specs_[parameter].rows), size);
  for (int owner = 0; owner < size; ++owner)
    matrix.senders.push_back(make(parameter, static_cast<uint64_t>(owner)));
  matrix.owner = make(parameter, static_cast<uint64_t>(size));
}

std::span<float> CodecExchange::part_of(const Gradient& gradient, int owner) const {
  const ElementRange& rows = matrices_[gradient.parameter].parts[static_cast<size_t>(owner)];
  const size_t cols = static_cast<size_t>(specs_[gradient.parameter].cols);
  return gradient.values.subspan(rows.begin * cols, rows.count() * cols);
}

void CodecExchange::step(std::span<const Gradient> gradients, const StepSize& step) {
  for (const Gradient& gradient : gradients) {
    if (!is_begun(gradient.parameter)) begin(gradient.parameter);
    for (float& value : gradient.values) value *= step.scale;
  }
  const std::vector<std::string> received = communicator_.all_to_all(encode_parts(gradients));
  const std::vector<std::string> sums = communicator_.gather(encode_sums(gradients, received));
  decode_sums(gradients, sums, step.scale);
}

std::vector<std::string> CodecExchange::encode_parts(std::span<const Gradient> gradients) {
  std::vector<std::string> messages(static_cast<size_t>(communicator_.size()));
  for (int owner = 0; owner < communicator_.size(); ++owner) {
    for (const Gradient& gradient : gradients) {
      Codec& codec = *matrices_[gradient.parameter].senders[static_cast<size_t>(owner)];
      codec.encode(part_of(gradient, owner), encoded_);
      put_part(messages[static_cast<size_t>(owner)], encoded_);
    }
  }
  return messages;
}

// Part rank() of each gradient <- the sum of what all trainers have sent of it.  Returns the message for all.
std::string CodecExchange::encode_sums(std::span<const Gradient> gradients,
                                       std::span<const std::string> received) {
  std::vector<std::vector<std::string_view>> by_rank;
  for (size_t rank = 0; rank < received.size(); ++rank)
    by_rank.push_back(parts_of(received[rank], gradients.size(), static_cast<int>(rank)));
  std::string message;
  std::vector<std::string_view> encoded(received.size());
  for (size_t n = 0; n < gradients.size(); ++n) {
    for (size_t rank = 0; rank < received.size(); ++rank) encoded[rank] = by_rank[rank][n];
    const std::span<float> sum = part_of(gradients[n], communicator_.rank());
    Codec& codec = *matrices_[gradients[n].parameter].owner;
    codec.add_up(encoded, sum);
    codec.encode(sum, encoded_);
    put_part(message, encoded_);
  }
  return message;
}

// The optimizer multiplies its gradient by `scale`.
void CodecExchange::decode_sums(std::span<const Gradient> gradients, std::span<const std::string> sums,
                                float scale) {
  for (int owner = 0; owner < communicator_.size(); ++owner) {
    const auto parts = parts_of(sums[static_cast<size_t>(owner)], gradients.size(), owner);
    for (size_t n = 0; n < gradients.size(); ++n) {
      const std::span<float> sum = part_of(gradients[n], owner);
      matrices_[gradients[n].parameter].senders[static_cast<size_t>(owner)]->decode(parts[n], sum);
      for (float& value : sum) value /= scale;
    }
  }
}

// state := { parameter:u32 the codec of each part, then that of the sum, as Codec::save writes them }...
void CodecExchange::save(std::string& out) const {
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (!is_begun(p)) continue;
    put(out, static_cast<uint32_t>(p));
    for (const auto& sender : matrices_[p].senders) sender->save(out);
    matrices_[p].owner->save(out);
  }
}

void CodecExchange::load(ByteReader& in) {
  while (in.ok() && in.remaining() > 0) {
    const uint32_t p = in.get<uint32_t>();
    if (!in.ok() || p >= matrices_.size() || is_begun(p) || !is_matrix(p)) {
      fail(Code::kCorrupt, "state of encoded gradients names parameter ", p);
    }
    begin(p);
    for (const auto& sender : matrices_[p].senders) sender->load(in);
    matrices_[p].owner->load(in);
  }
  if (!in.ok()) fail(Code::kCorrupt, "state of encoded gradients is cut short");
  if (local_.schedule_steps() <= options_.begin_step) return;
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (compresses(p) && !is_begun(p))
      fail(Code::kCorrupt, "state of encoded gradients lacks ", quote(specs_[p].name));
  }
}

}  // namespace ps
