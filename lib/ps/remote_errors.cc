// What rounding takes from a remote store's gradients: kept from step to step, told for checkpoints, and
// taken up from the one in which a run begins.
#include <algorithm>
#include <cstring>

#include "ps/error_pieces.h"
#include "ps/remote_state.h"
#include "ps/remote_store.h"

namespace ps {

// Made when they are used first: who only reads has none.
RemoteStore::Errors& RemoteStore::errors_of(size_t p) {
  Errors& errors = errors_[p];
  const ParameterSpec& spec = specs_[p];
  if (spec.kind == ParameterKind::kMatrix) {
    errors.whole.resize(static_cast<size_t>(spec.rows * spec.cols));
  } else if (spec.kind == ParameterKind::kRows && !errors.by_key) {
    const auto num_keyed = std::ranges::count(specs_, ParameterKind::kRows, &ParameterSpec::kind);
    errors.by_key =
        std::make_unique<ErrorMemory>(spec.cols, types_.error_bytes / static_cast<uint64_t>(num_keyed));
  }
  return errors;
}

// Before the rows of a step are encoded, since what is kept must not depend on how they are spread over the
// shards.
void RemoteStore::find_errors(std::span<const KeyPlan> plans) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    Errors& errors = errors_of(p);
    if (errors.by_key) errors.by_key->find(plans[p].keys, errors.rows);
  }
}

uint64_t RemoteStore::errors_dropped() const {
  uint64_t dropped = 0;
  for (const Errors& errors : errors_) {
    if (errors.by_key) dropped += errors.by_key->dropped();
  }
  return dropped;
}

// With its mark, and, once, when it has no data left: then it may push nothing more before a checkpoint.
RemoteStore::Told RemoteStore::what_to_tell(bool cut, bool ended) {
  Told told{.rank = static_cast<size_t>(rank_), .num_shards = links_.size()};
  if (!standing().checkpointed) return told;
  const bool was_told = ended && state_told_;
  state_told_ = cut || ended;
  if (!state_told_ || was_told) return told;
  told.state = save_state_ != nullptr;
  if (types_.push == RowType::kF32) return told;
  told.errors.emplace(types_.error_piece_bytes);
  for (size_t p = 0; p < specs_.size(); ++p) {
    const uint32_t parameter = static_cast<uint32_t>(p);
    if (errors_[p].by_key) told.errors->add_keyed(parameter, specs_[p].cols, *errors_[p].by_key);
    told.errors->add_whole(parameter, specs_[p].cols, errors_[p].whole);
  }
  return told;
}

// As the last pieces of the push: then it is in the checkpoint that begins after the step, or in none.  There
// is no state when it were too long.
void RemoteStore::tell(const Told& told, size_t shard, PushHeader& header) {
  header.type = RowType::kF32;
  for (size_t n = 0; n < told.num_errors(shard); ++n, ++header.piece) {
    const size_t piece = told.error_piece(shard, n);
    header.errors = piece < told.errors->size() ? told.errors->encode(piece) : "";
    send_piece(shard, header, nullptr, {});
    header.errors.reset();
  }
  if (!told.has_state(shard)) return;
  save_state_(header.state);
  if (header.state.size() > kMaxMessageBytes / 2) header.state.clear();
  send_piece(shard, std::move(header), nullptr, {});
}

// Those of the process before, or of the checkpoint in which the run began.  They are lost when that process
// has pushed more since: then a run in which all steps are to have the same bits goes back.
void RemoteStore::take_up_errors(bool given_up) {
  if (types_.push == RowType::kF32 || !standing().checkpointed) return;
  bool known = true;
  for (size_t s = 0; s < links_.size() && known; ++s) known = take_errors_of(s);
  if (known) return;
  for (Errors& errors : errors_) errors = {};
  if (consistency_.async || consistency_.staleness > 0 || given_up) return;
  throw StateLost(standing().run, /*checkpointed=*/true,
                  "what rounding had taken from gradients was lost with the process before this one");
}

// False when the shard does not know them as they are at this process' first step.
bool RemoteStore::take_errors_of(size_t shard) {
  for (uint32_t number = 0;; ++number) {
    const Frame frame = links_.call(shard, Message::kKeptErrors, Payload(encode_errors_request(number)));
    const KeptErrors kept = decode_kept_errors(frame.body.bytes());
    if (!kept.known || kept.batches != static_cast<uint64_t>(position_.batches)) return false;
    read_error_piece(kept.piece, specs_,
                     [this](uint32_t p, ErrorRows rows, uint64_t key, std::string_view error) {
                       put_error_back(p, rows, key, error);
                     });
    if (number + 1 >= kept.num_pieces) return true;
  }
}

void RemoteStore::put_error_back(size_t p, ErrorRows rows, uint64_t key, std::string_view error) {
  Errors& errors = errors_of(p);
  float* to = rows == ErrorRows::kWhole ? errors.whole.data() + key * static_cast<uint64_t>(specs_[p].cols)
                                        : errors.by_key->put_back(key, rows == ErrorRows::kYoung);
  std::memcpy(to, error.data(), error.size());
}

}  // namespace ps
