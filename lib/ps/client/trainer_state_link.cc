#include "ps/client/trainer_state_link.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

namespace {

// The largest number of chunks, of about 8 MiB each, that are on their way at once.  It is enough to keep a
// network busy.
constexpr size_t kMostOnTheirWay = 4;

constexpr uint32_t kNoChunk = UINT32_MAX;  // a request with this number asks for the number of chunks

// The source of one chunk, or of none if the text is longer than a message may be.  One owner thread.
class FiguresSource final : public StateChunkSource {
 public:
  FiguresSource(size_t rank, const std::function<void(std::string&)>& save) {
    figures_.rank = static_cast<uint32_t>(rank);
    save(figures_.text);
  }
  size_t size() const override { return figures_.text.size() > kMaxMessageBytes / 2 ? 0 : 1; }
  std::string encode(size_t) const override { return encode_figures(figures_); }

 private:
  FiguresChunk figures_;
};

}  // namespace

size_t PushedState::num_chunks() const {
  size_t count = 0;
  for (const auto& source : sources) count += source->size();
  return count;
}

std::string PushedState::encode(size_t chunk) const {
  auto source = sources.begin();
  for (; chunk >= (*source)->size(); ++source) chunk -= (*source)->size();
  return (*source)->encode(chunk);
}

// Chunk n goes to shard (rank + n) % num_shards, so that a shard has every num_shards-th chunk from `first` on.
size_t PushedState::num_messages(size_t shard) const {
  const size_t first = (shard + num_shards_ - rank_ % num_shards_) % num_shards_;
  return sources.empty() ? 0 : (num_chunks() + num_shards_ - 1 - first) / num_shards_ + 1;
}

TrainerStateLink::TrainerStateLink(ShardLinks& links, Residuals& residuals, TrainerState* own,
                                   const RowTypes& types, int rank)
    : links_(links),
      residuals_(residuals),
      own_(own),
      chunk_bytes_(types.state_chunk_bytes),
      rank_(static_cast<size_t>(rank)) {}

// pushed_ says that shards have the state of now: a trainer without data does not change it, so that its
// further steps, which are `ended` too, send nothing.  The first push with data after that makes the chunks
// outdated, and resets pushed_.
PushedState TrainerStateLink::next(bool begins_checkpoint, bool ended) {
  PushedState pushed(rank_, links_.size());
  if (!run_status().checkpointed) return pushed;
  const bool was_pushed = ended && pushed_;
  pushed_ = begins_checkpoint || ended;
  if (!pushed_ || was_pushed) return pushed;
  if (save_figures_) pushed.sources.push_back(std::make_unique<FiguresSource>(rank_, save_figures_));
  if (residuals_.used()) {
    pushed.sources.push_back(residuals_.chunks());
    pushed.sources.push_back(residuals_.codec_chunks());
  }
  if (own_ != nullptr) pushed.sources.push_back(own_->chunks(chunk_bytes_));
  return pushed;
}

// A chunk is encoded only when it can be sent at once.  The last message to each shard is an empty chunk, which
// tells the shard that it has all chunks.  That message is small, and its answer is that of the step.
void TrainerStateLink::push(const PushedState& state, std::span<PushHeader> headers, const Send& send) {
  for (PushHeader& header : headers) header.type = RowType::kF32, header.coded = false;
  for (size_t n = 0; n < state.num_chunks(); ++n) {
    links_.wait([this] { return on_their_way_ < kMostOnTheirWay; });
    ++on_their_way_;
    const size_t shard = state.shard_of(n);
    send_chunk(shard, headers[shard], state.encode(n), send, [this] { --on_their_way_; });
  }
  for (size_t s = 0; s < headers.size() && !state.sources.empty(); ++s) {
    send_chunk(s, headers[s], "", send, [] {});
  }
}

void TrainerStateLink::send_chunk(size_t shard, PushHeader& header, std::string chunk, const Send& send,
                                  std::function<void()> on_answer) {
  header.chunk = std::move(chunk);
  send(shard, header, std::move(on_answer));
  header.chunk.reset();
  ++header.slice;
}

// Reads the chunks of all shards, and restores them only when all have come.  Shards drop the chunks of a process
// that has pushed another batch since, perhaps while they are read: the last push of the earlier process may wait
// for those of other trainers.  Without the chunks the run can only go on if the state does not matter.
//
// A process sends its state once for a number of batches, but two processes of a rank may send it for the same number, each
// divided into other chunks: the second did not find all chunks of the first, or repeats the push with them, which some
// shards had taken from the first.  So chunks belong together if one process has sent them, or if all are of the checkpoint.
// With all chunks restored, the shards have the state of now, and a push without data need not send it again.
void TrainerStateLink::resume(uint64_t batches, bool given_up, const Consistency& consistency) {
  if (!run_status().checkpointed) return;
  std::vector<Frame> answers;
  std::optional<uint64_t> sender;
  for (size_t s = 0; s < links_.size(); ++s) {
    if (!read_chunks(s, batches, sender, answers)) return check_not_missed(given_up, consistency);
  }
  for (Frame& answer : answers) {
    restore(decode_chunk_answer(answer.body.bytes()).chunk);
    answer.body = Buffer();
  }
  if (own_ != nullptr) own_->end_restoring(batches);
  pushed_ = !answers.empty();
}

std::vector<std::string> TrainerStateLink::release_figures() {
  std::ranges::sort(figures_, {}, &FiguresChunk::rank);
  std::vector<std::string> all;
  for (FiguresChunk& figures : std::exchange(figures_, {})) all.push_back(std::move(figures.text));
  return all;
}

void TrainerStateLink::check_not_missed(bool given_up, const Consistency& consistency) const {
  if (given_up) return;
  if (residuals_.used() && !consistency.async && consistency.staleness == 0) {
    throw StateLost(run_status().run, /*checkpointed=*/true,
                    "what rounding had taken from gradients was lost with the process before this one");
  }
  if (own_ != nullptr && own_->matters()) {
    throw StateLost(run_status().run, /*checkpointed=*/true,
                    "the state of the optimizer was lost with the process before this one");
  }
}

Frame TrainerStateLink::ask(size_t shard, uint32_t number) {
  return links_.call(shard, Message::kTrainerChunk, Payload(encode_chunk_request(number)));
}

// Appends the answers with the chunks of a shard.  Returns false if they are not those of so many batches and of
// `sender`, which the first answer of all sets, or are not any more.
bool TrainerStateLink::read_chunks(size_t shard, uint64_t batches, std::optional<uint64_t>& sender,
                                   std::vector<Frame>& answers) {
  const Frame first = ask(shard, kNoChunk);
  const StateChunkAnswer about = decode_chunk_answer(first.body.bytes());
  if (!sender) sender = about.sender;
  const auto belongs = [&](const StateChunkAnswer& answer) {
    return answer.known && answer.batches == batches && answer.sender == *sender;
  };
  if (!belongs(about)) return false;
  for (uint32_t number = 0; number < about.num_chunks; ++number) {
    const Frame& frame = answers.emplace_back(ask(shard, number));
    const StateChunkAnswer answer = decode_chunk_answer(frame.body.bytes());
    if (!belongs(answer) || answer.num_chunks != about.num_chunks) return false;
    if (answer.chunk.empty())
      fail(Code::kData, "a server has lost a trainer state chunk that it had told of");
  }
  return true;
}

// Restores state from one chunk.  Ignores kinds of chunks that this job does not use, since the checkpoint may
// come from a job of another kind.
void TrainerStateLink::restore(std::string_view chunk) {
  if (is_of_kind(chunk, StateChunkKind::kFigures)) {
    figures_.push_back(decode_figures(chunk));
  } else if (is_of_kind(chunk, StateChunkKind::kErrors) || is_of_kind(chunk, StateChunkKind::kCodecs)) {
    if (residuals_.used()) residuals_.restore(chunk);
  } else if (own_ != nullptr) {
    own_->restore(chunk);
  }
}

}  // namespace ps
