// Gathering: collects what every trainer gives, in slices, and answers all trainers with what all gave.  Used
// by Shard.
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
// on its way, and a process that takes a rank over after all others have ended the run ends its last pass
// again.  One owner thread.
class Gathering {
 public:
  uint64_t number() const { return number_; }  // of the present gathering

  // Forgets everything, for another run.
  void restart(uint64_t number);

  // Answers a request for one of the last two gatherings by `reply`, and returns true.  Returns false for the
  // present gathering, and throws kData for every other.
  bool answer_former(const GatherRequest& request, ReplyPtr& reply) const;

  // Returns a part of what all gave to one of the last two gatherings.  Throws kData for every other number.
  Payload former_slice(const GatheredRequest& request) const;

  bool has_given(int rank) const { return given_.contains(rank); }
  bool has_given_end(int rank) const;  // the trainer has done all of the run
  bool is_empty() const { return given_.empty(); }

  // Takes a slice from a rank that has not given all.  The first slice takes the memory of all slices.  A
  // process may send its slices again; they are the same, and change nothing.  Returns all bytes of the rank
  // once they are complete, for the caller to give; else nothing.  Throws kData for a slice that does not
  // follow.
  struct WholeGift {
    std::string bytes;
    HeldBytes held;
  };
  std::optional<WholeGift> add_slice(int rank, const GatherRequest& slice, HeldMemory& held);

  // Forgets the slices of a rank that has not given all: another process has the rank, and gives from the
  // beginning.
  void forget_slices(int rank) { slices_.erase(rank); }

  // Takes what a rank gives.  If the rank has given before, those bytes stay, since a process that takes a
  // rank over knows less than the process before it.  `held` is the memory of the bytes, and is freed with
  // the answers of this gathering.
  void give(int rank, std::string bytes, HeldBytes held);

  // Takes the reply to a slice.  The reply to the last slice of a rank is answered when all trainers have
  // given, that to another slice when the rank has.
  void add_reply(int rank, const GatherRequest& slice, ReplyPtr reply);

  // Answers all trainers with what the ranks below `num_trainers` gave, and begins the next gathering.
  void finish(size_t num_trainers);

  size_t num_waiting() const;
  void forget_unwanted();
  void release_replies(std::vector<ReplyPtr>& out);

  // For shard snapshots, which may be damaged: `is_of` returns false if a rank has given that is not below
  // `num_trainers`; finish must then not be called.
  void save(std::string& out) const;
  void load(ByteReader& in, HeldMemory& held);
  bool is_of(size_t num_trainers) const;

 private:
  struct Slices {
    std::string bytes;  // the slices so far, joined
    uint64_t size = 0;  // size of all slices
    HeldBytes held;
    std::vector<ReplyPtr> replies;
  };

  std::shared_ptr<const Gathered> former(uint64_t number) const;

  uint64_t number_ = 0;
  std::map<int, std::string> given_;  // what each rank gave
  std::vector<ReplyPtr> replies_;     // to the last slices; a trainer that asked again has several
  std::map<int, Slices> slices_;      // by rank, for ranks that have not given all
  std::vector<HeldBytes> held_;       // memory of given_

  // The answers of the last two gatherings, the newest first.
  std::array<std::shared_ptr<const Gathered>, 2> answers_;  // null: there was none
  std::array<std::vector<HeldBytes>, 2> answers_held_;
};

// The memory that `bytes` given bytes take in a gathering.
inline uint64_t memory_of_given(uint64_t bytes) {
  return 512 + bytes;
}

}  // namespace ps

#endif  // PS_PS_SERVER_GATHERING_H_
