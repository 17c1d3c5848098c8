// Gathering: collects what every trainer gives, and answers all of them with all of it.  Used by Shard.
#ifndef PS_PS_SERVER_GATHERING_H_
#define PS_PS_SERVER_GATHERING_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "ps/server/held_memory.h"
#include "ps/server/reply.h"

namespace ps {

// Gatherings follow each other and are numbered.  The answers of the last two are kept: an answer may be lost
// on its way, and a process that takes a rank over when all others have ended the run ends its last pass
// again.  One owner thread.
class Gathering {
 public:
  uint64_t number() const { return number_; }  // of the present gathering

  // Forgets everything, for another run.
  void restart(uint64_t number);

  // Answers for one of the last two gatherings, and takes the reply.  Returns false for the present one, and
  // throws kData for every other.
  bool answer_former(uint64_t number, ReplyPtr& reply) const;

  bool has_given(int rank) const { return given_.contains(rank); }
  bool has_given_end(int rank) const;  // the trainer has done all of the run
  bool is_empty() const { return given_.empty(); }

  // A process that takes a rank over has seen less than the one before it: the first that is given stays.
  // `held` is of the bytes, and goes when the answers of this gathering do.
  void give(int rank, std::string bytes, HeldBytes held) {
    if (given_.try_emplace(rank, std::move(bytes)).second) held_.push_back(std::move(held));
  }
  void add_reply(ReplyPtr reply) { replies_.push_back(std::move(reply)); }

  // Answers all with what the ranks below `num_trainers` gave, and begins the next gathering.
  void finish(size_t num_trainers);

  size_t num_waiting() const { return replies_.size(); }
  void forget_unwanted() { std::erase_if(replies_, is_unwanted); }
  void take_replies(std::vector<ReplyPtr>& out);

  // For shard snapshots, which may be damaged: `is_of` is false when a rank has given that is not below
  // `num_trainers`, and then finish must not be called.
  void save(std::string& out) const;
  void load(ByteReader& in, HeldMemory& held);
  bool is_of(size_t num_trainers) const;

 private:
  uint64_t number_ = 0;
  std::map<int, std::string> given_;  // by rank
  std::vector<ReplyPtr> replies_;     // of all that have given, more than one of a trainer that asked again
  std::vector<HeldBytes> held_;       // of what is given

  // The answers of the last two gatherings, the newest first.
  std::array<std::shared_ptr<const std::string>, 2> answers_;  // null: there was none
  std::array<std::vector<HeldBytes>, 2> answers_held_;
};

// The bytes of memory of an entry of a gathering.
inline uint64_t memory_of_given(std::string_view bytes) {
  return 512 + bytes.size();
}

// The body of a gather request.  decode_gather throws kData.
struct GatherRequest {
  uint64_t number = 0;
  std::string bytes;
};
std::string encode_gather(uint64_t number, std::string_view bytes);
GatherRequest decode_gather(std::string_view body);

}  // namespace ps

#endif  // PS_PS_SERVER_GATHERING_H_
