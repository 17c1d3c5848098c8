#include "ps/server/read_answers.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/bytes.h"
#include "base/current_error.h"
#include "base/error.h"

namespace ps {

namespace {

// A connection gets this number of bytes in a turn, and all of them together in a turn of the loop: so much
// is read in a millisecond, after which other requests are handled.
constexpr uint64_t kTurnBytes = uint64_t{64} << 10;
constexpr uint64_t kRoundBytes = uint64_t{1} << 20;

// The memory that a connection has for itself: an equal part of `max_bytes`, or one row that is longer.
uint64_t account_bytes(const ShardTables& tables, uint64_t max_bytes) {
  constexpr uint64_t kConnections = 512, kLeast = 1 << 10, kMost = 64 << 10;
  uint64_t longest = 0;
  for (const int64_t width : tables.widths()) {
    longest = std::max(longest, static_cast<uint64_t>(width) * sizeof(float));
  }
  const uint64_t row = std::bit_ceil(std::min(longest + Buffer::kAlignment, kMost));
  return std::max(std::bit_floor(std::clamp(max_bytes / kConnections, kLeast, kMost)), row);
}

}  // namespace

ReadAnswers::ReadAnswers(ShardTables& tables, HeldMemory& held, ShardCounters& counters, uint64_t max_bytes,
                         std::function<void()> on_room)
    : tables_(tables),
      held_(held),
      counters_(counters),
      on_room_(std::move(on_room)),
      account_bytes_(account_bytes(tables, max_bytes)),
      whole_(max_bytes, on_room_) {}

void ReadAnswers::read(HeldPeer peer, PullRequest request, ReplyPtr& reply) {
  if (num_waiting_ == 0 && answer_at_once(request, *reply)) return;
  wait(peer, std::move(request), reply);
  on_room_();
}

// Returns false if the answer takes more than a turn of the loop, or if it would leave less free memory
// than it takes.
bool ReadAnswers::answer_at_once(const PullRequest& request, Reply& reply) {
  const uint64_t bytes = tables_.bytes_of(request.row_slices, request.type);
  if (bytes > kRoundBytes) return false;
  std::optional<Buffer> room = whole_.try_take(bytes, bytes);
  if (!room) return false;
  tables_.read(request.row_slices, request.mode, request.type, room->data());
  count(request);
  reply.answer(Payload(std::move(*room)));
  return true;
}

void ReadAnswers::count(const PullRequest& request) {
  ++counters_.pulls;
  for (const RowSlice& slice : request.row_slices) counters_.rows_pulled += slice.rows();
}

// Queues the pull behind those of its connection.  Only the first pull that waits while nobody else does
// may be made whole; its memory is taken now, so that later answers cannot take it.
void ReadAnswers::wait(HeldPeer peer, PullRequest request, ReplyPtr& reply) {
  const uint64_t bytes = memory_of_pull(request);
  if (!held_.has_room(peer, bytes)) {
    ++counters_.refused_for_memory;
    fail(Code::kUnavailable, "answers that are not taken use ", human_bytes(bytes_in_use()), ", and ",
         num_waiting_, " pulls wait for room");
  }
  if (!peers_.contains(peer)) forget_idle();
  Peer& known = peers_[peer];
  if (!known.account) known.account = std::make_unique<BufferPool>(account_bytes_, on_room_);
  HeldBytes held = held_.take(peer, HeldKind::kPulls, bytes);
  const uint64_t answer_bytes = tables_.bytes_of(request.row_slices, request.type);
  known.pulls.push_back({std::move(request), std::move(reply), std::move(held)});
  if (num_waiting_++ == 0) known.pulls.back().whole = whole_.try_take(answer_bytes, answer_bytes);
}

// Begins behind the peer that had the last turn.  If a peer got something and has not got all, it may have
// room for more at once, which nobody would tell: it has its next turn when the loop has done other things.
void ReadAnswers::go_on() {
  uint64_t given = 0;
  bool again = false;
  auto each = peers_.upper_bound(last_);
  for (size_t left = peers_.size(); left > 0 && given < kRoundBytes; --left, ++each) {
    if (each == peers_.end()) each = peers_.begin();
    last_ = each->first;
    if (each->second.pulls.empty() || !give_turn(each->second)) continue;
    given += kTurnBytes;
    again = true;
  }
  if (again && num_waiting_ > 0) on_room_();
}

// Answers the peer's pulls in order until they have got kTurnBytes.  Pulls that nobody wants any more cost
// nothing.  Returns false if the peer has no room.
bool ReadAnswers::give_turn(Peer& peer) {
  uint64_t given = 0;
  while (!peer.pulls.empty() && given < kTurnBytes) {
    if (is_unwanted(peer.pulls.front().reply)) {
      drop_first(peer);
    } else if (peer.pulls.front().whole) {
      fill_whole(peer);
      given += kTurnBytes;
    } else if (!answer_piece(peer)) {
      break;
    } else {
      given += std::min(kTurnBytes, account_bytes_);
    }
  }
  return given > 0;
}

uint64_t ReadAnswers::row_bytes(const Pull& pull) const {
  const RowSlice& slice = pull.request.row_slices[pull.slice];
  return encoded_row_bytes(type_of(slice, pull.request.type), tables_.widths()[slice.parameter]);
}

// Returns as many whole slices as take at most `most` bytes; or, if not even one does, some rows of it, at
// least one.  The padding of a slice comes with its last row.
ReadAnswers::Piece ReadAnswers::next_piece(const Pull& pull, uint64_t most) const {
  const std::vector<RowSlice>& slices = pull.request.row_slices;
  Piece piece;
  for (size_t s = pull.slice; pull.row == 0 && s < slices.size(); ++s, ++piece.slices) {
    const uint64_t bytes = tables_.bytes_of({&slices[s], 1}, pull.request.type);
    if (piece.bytes + bytes > most) break;
    piece.bytes += bytes;
  }
  if (piece.slices > 0 || pull.slice == slices.size()) return piece;
  const uint64_t row = row_bytes(pull), all = slices[pull.slice].rows(), left = all - pull.row;
  piece.rows = std::min(left, std::max<uint64_t>(1, (most - Buffer::kAlignment) / row));
  piece.bytes = piece.rows * row;
  if (piece.rows == left) piece.bytes += padded(all * row) - all * row;
  return piece;
}

// Gives the peer the next piece of its first pull.  Returns false if there is no room.
bool ReadAnswers::answer_piece(Peer& peer) {
  Pull& pull = peer.pulls.front();
  try {
    const Piece piece = next_piece(pull, account_bytes_);
    std::optional<Buffer> room = find_room(peer, piece.bytes);
    if (!room) return false;
    read_piece(pull, piece, room->bytes());
    auto payload = std::make_shared<const Payload>(Payload(std::move(*room)));
    if (!advance(pull, piece)) {
      pull.reply->answer_piece(std::move(payload));
      return true;
    }
    count(pull.request);
    pull.reply->answer(std::move(payload));
  } catch (...) {
    pull.reply->fail(current_error());
  }
  drop_first(peer);
  return true;
}

// Makes a turn's part of the answer to the peer's first pull, and sends it when it is whole.
void ReadAnswers::fill_whole(Peer& peer) {
  Pull& pull = peer.pulls.front();
  try {
    const Piece piece = next_piece(pull, kTurnBytes);
    read_piece(pull, piece, pull.whole->bytes().subspan(pull.filled, piece.bytes));
    pull.filled += piece.bytes;
    if (!advance(pull, piece)) return;
    count(pull.request);
    pull.reply->answer(std::make_shared<const Payload>(Payload(std::move(*pull.whole))));
  } catch (...) {
    pull.reply->fail(current_error());
  }
  drop_first(peer);
}

void ReadAnswers::drop_first(Peer& peer) {
  peer.pulls.pop_front();
  --num_waiting_;
}

// A row that is longer than an account takes memory of whole answers.
std::optional<Buffer> ReadAnswers::find_room(Peer& peer, uint64_t bytes) {
  if (peer.account->fits(bytes)) return peer.account->try_take(bytes);
  return whole_.bytes_in_use() == 0 ? whole_.take(bytes) : whole_.try_take(bytes);
}

// room [piece.bytes] <- the bytes of the piece.  Rows of a slice are read as a slice of their own that
// names only them.
void ReadAnswers::read_piece(const Pull& pull, const Piece& piece, std::span<char> room) {
  const PullRequest& request = pull.request;
  const std::span<const RowSlice> slices(request.row_slices);
  if (piece.rows == 0) {
    return tables_.read(slices.subspan(pull.slice, piece.slices), request.mode, request.type, room.data());
  }
  const RowSlice& whole = slices[pull.slice];
  RowSlice rows{.parameter = whole.parameter, .by_keys = whole.by_keys, .keys = {}, .counts = {}};
  rows.exact = whole.exact;
  if (whole.by_keys) {
    const auto first = whole.keys.begin() + static_cast<std::ptrdiff_t>(pull.row);
    rows.keys.assign(first, first + static_cast<std::ptrdiff_t>(piece.rows));
  } else {
    rows.first = whole.first + pull.row, rows.count = piece.rows;
  }
  tables_.read_rows(rows, request.type, room);
}

// Returns true when all rows are answered.
bool ReadAnswers::advance(Pull& pull, const Piece& piece) const {
  const std::vector<RowSlice>& slices = pull.request.row_slices;
  pull.slice += piece.slices;
  pull.row += piece.rows;
  if (piece.rows > 0 && pull.row == slices[pull.slice].rows()) ++pull.slice, pull.row = 0;
  return pull.slice == slices.size();
}

uint64_t ReadAnswers::bytes_in_use() const {
  uint64_t bytes = whole_.bytes_in_use();
  for (const auto& [number, peer] : peers_) bytes += peer.account->bytes_in_use();
  return bytes;
}

// Forgets peers that wait for nothing, and have taken all.
void ReadAnswers::forget_idle() {
  std::erase_if(peers_, [](const auto& each) {
    return each.second.pulls.empty() && each.second.account->bytes_in_use() == 0;
  });
}

void ReadAnswers::forget_unwanted() {
  for (auto& [number, peer] : peers_) {
    num_waiting_ -= std::erase_if(peer.pulls, [](const Pull& pull) { return is_unwanted(pull.reply); });
  }
  forget_idle();
}

void ReadAnswers::release_replies(std::vector<ReplyPtr>& out) {
  for (auto& [number, peer] : peers_) {
    for (Pull& pull : std::exchange(peer.pulls, {})) out.push_back(std::move(pull.reply));
  }
  num_waiting_ = 0;
  forget_idle();
}

}  // namespace ps
