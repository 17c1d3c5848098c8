// ReadAnswers: answers the pulls to read, of readers and of trainers, so that a connection that does not take
// its answers keeps no other from its own.  Used by PullService.
#ifndef PS_PS_SERVER_READ_ANSWERS_H_
#define PS_PS_SERVER_READ_ANSWERS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "net/buffer_pool.h"
#include "ps/server/held_memory.h"
#include "ps/server/reply.h"
#include "ps/server/shard_tables.h"
#include "ps/status/shard_status.h"

namespace ps {

// While nobody waits, an answer that takes at most half of the free memory is made whole: at once if it is short,
// else in turns, as pieces are, and is then sent.  Every other answer is made in pieces, in memory that its
// connection alone uses: the next piece is made when the memory of the former ones is free again, which is when
// the connection has taken them.  Connections have turns, of at most kTurnBytes each.  One owner thread.
class ReadAnswers {
 public:
  // Answers take at most `max_bytes`, and the accounts of connections together as much again.  `on_room` is
  // called, on any thread, when go_on has to be called soon.
  ReadAnswers(ShardTables& tables, HeldMemory& held, ShardCounters& counters, uint64_t max_bytes,
              std::function<void()> on_room);

  // Answers a pull that was checked.  Throws kUnavailable if it has to wait, and there is no room for it; the
  // caller has the reply again then.
  void read(HeldPeer peer, PullRequest request, ReplyPtr& reply);

  // Gives each connection that has room the next pieces.
  void go_on();

  size_t num_waiting() const { return num_waiting_; }
  uint64_t bytes_in_use() const;
  void forget_unwanted();
  void release_replies(std::vector<ReplyPtr>& out);

 private:
  // A pull of which some rows are answered.
  struct Pull {
    PullRequest request;
    ReplyPtr reply;
    HeldBytes held;
    std::optional<Buffer> whole = std::nullopt;  // of an answer that is made whole in turns
    uint64_t filled = 0;                         // bytes of it that are made
    size_t slice = 0;                            // the first slice of which not all rows are answered
    uint64_t row = 0;                            // of its rows, those before this one are
  };

  // The pulls of one connection, in order of arrival, and the memory of their pieces.
  struct Peer {
    std::unique_ptr<BufferPool> account;
    std::deque<Pull> pulls;
  };

  // A piece of an answer: whole slices, or rows of a single one.
  struct Piece {
    size_t slices = 0;   // number of whole slices
    uint64_t rows = 0;   // of the pull's first slice, if there are no whole ones
    uint64_t bytes = 0;  // of the piece
  };

  Piece next_piece(const Pull& pull, uint64_t most) const;
  uint64_t row_bytes(const Pull& pull) const;
  bool answer_at_once(const PullRequest& request, Reply& reply);
  void fill_whole(Peer& peer);
  bool give_turn(Peer& peer);
  bool answer_piece(Peer& peer);
  void drop_first(Peer& peer);
  std::optional<Buffer> find_room(Peer& peer, uint64_t bytes);
  void read_piece(const Pull& pull, const Piece& piece, std::span<char> room);
  bool advance(Pull& pull, const Piece& piece) const;
  void count(const PullRequest& request);
  void wait(HeldPeer peer, PullRequest request, ReplyPtr& reply);
  void forget_idle();

  ShardTables& tables_;
  HeldMemory& held_;
  ShardCounters& counters_;
  const std::function<void()> on_room_;
  const uint64_t account_bytes_;  // of each connection
  BufferPool whole_;  // of answers that are made whole, and of rows that are longer than an account
  std::map<HeldPeer, Peer> peers_;  // those with pulls, or with pieces that are not taken yet
  HeldPeer last_ = 0;               // the peer that had the last turn
  size_t num_waiting_ = 0;          // pulls of all peers
};

}  // namespace ps

#endif  // PS_PS_SERVER_READ_ANSWERS_H_
