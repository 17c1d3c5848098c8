// Gathering: collects what every trainer gives, in pieces, and answers all of them with all of it.  Used by Shard.
#ifndef PS_PS_SERVER_GATHERING_H_
#define PS_PS_SERVER_GATHERING_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "ps/server/gathered.h"
#include "ps/server/held_memory.h"
#include "ps/server/reply.h"
#include "ps/wire/gather.h"

namespace ps {

// Gatherings follow each other and are numbered.  The answers of the last two are kept: an answer may be lost
// on its way, and a process that takes a rank over when all others have ended the run ends its last pass
// again.  One owner thread.
class Gathering {
 public:
  uint64_t number() const { return number_; }  // of the present gathering

  // Forgets everything, for another run.
  void restart(uint64_t number);

  // Answers a request for one of the last two gatherings by `reply`, and returns true.  Returns false for the present
  // gathering, and throws kData for every other.
  bool answer_former(const GatherRequest& request, ReplyPtr& reply) const;

  // Returns some of what all gave to one of the last two gatherings.  Throws kData for every other.
  Payload former_piece(const GatheredRequest& request) const;

  bool has_given(int rank) const { return given_.contains(rank); }
  bool has_given_end(int rank) const;  // the trainer has done all of the run
  bool is_empty() const { return given_.empty(); }

  // Takes a piece of a rank that has not given; the first one takes the memory of all.  Pieces of one process that are sent
  // again are the same, and change nothing.  Returns all that the rank gives once that is whole, to be given then, else
  // nothing: the piece is answered when it is.  Throws kData for a piece that does not follow.
  struct WholeGift {
    std::string bytes;
    HeldBytes held;
  };
  std::optional<WholeGift> add_piece(int rank, const GatherRequest& piece, HeldMemory& held);

  // Forgets the pieces of a rank that has not given all: another process has the rank, and gives from the beginning.
  void forget_pieces(int rank) { pieces_.erase(rank); }

  // A process that takes a rank over has seen less than the one before it: the first that is given stays.
  // `held` is of the bytes, and goes when the answers of this gathering do.
  void give(int rank, std::string bytes, HeldBytes held);

  // Takes the reply to a piece of what a rank gives: to the last one, until all have given; to others, until the rank has.
  void add_reply(int rank, const GatherRequest& piece, ReplyPtr reply);

  // Answers all with what the ranks below `num_trainers` gave, and begins the next gathering.
  void finish(size_t num_trainers);

  size_t num_waiting() const;
  void forget_unwanted();
  void release_replies(std::vector<ReplyPtr>& out);

  // For shard snapshots, which may be damaged: `is_of` is false when a rank has given that is not below
  // `num_trainers`, and then finish must not be called.
  void save(std::string& out) const;
  void load(ByteReader& in, HeldMemory& held);
  bool is_of(size_t num_trainers) const;

 private:
  struct Pieces {
    std::string bytes;  // up to the next piece
    uint64_t size = 0;  // when it is whole
    HeldBytes held;
    std::vector<ReplyPtr> replies;
  };

  std::shared_ptr<const Gathered> former(uint64_t number) const;

  uint64_t number_ = 0;
  std::map<int, std::string> given_;  // by rank
  std::vector<ReplyPtr> replies_;     // of all that have given, more than one of a trainer that asked again
  std::map<int, Pieces> pieces_;      // of ranks that have not given all
  std::vector<HeldBytes> held_;       // of what is given

  // The answers of the last two gatherings, the newest first.
  std::array<std::shared_ptr<const Gathered>, 2> answers_;  // null: there was none
  std::array<std::vector<HeldBytes>, 2> answers_held_;
};

// The memory of an entry of a gathering, of so many bytes.
inline uint64_t memory_of_given(uint64_t bytes) {
  return 512 + bytes;
}

}  // namespace ps

#endif  // PS_PS_SERVER_GATHERING_H_
