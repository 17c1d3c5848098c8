#include "collective/exchange.h"

namespace ps {

namespace {

const char* collective_name(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllGather:
      return "all-gather";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kGather:
      return "gather";
    case Collective::kBarrier:
      return "barrier";
    case Collective::kAllToAll:
      return "all-to-all";
  }
  return "unknown collective";
}

const char* mark_name(MessageMark mark) {
  switch (mark) {
    case MessageMark::kNone:
      return "no mark";
    case MessageMark::kContribution:
      return "the mark of a contribution";
    case MessageMark::kSum:
      return "the mark of a sum";
  }
  return "an unknown mark";
}

}  // namespace

std::string to_text(const CollectiveCall& call) {
  return cat(collective_name(call.collective), " ", call.number);
}

void check_same_call(int from, const CollectiveCall& found, const CollectiveCall& expected) {
  if (found == expected) return;
  if (found.collective == expected.collective && found.number == expected.number) {
    fail(Code::kUsage, "rank ", from, " uses algorithm ", int{found.algorithm}, " for ", to_text(expected),
         ", this rank ", int{expected.algorithm});
  }
  fail(Code::kUsage, "rank ", from, " is at ", to_text(found), ", this rank at ", to_text(expected),
       ": all ranks must call the same collectives in the same order");
}

void fail_size(int from, const CollectiveCall& call, uint64_t found, uint64_t expected) {
  fail(Code::kUsage, "rank ", from, " sent ", found, " bytes for ", to_text(call), ", expected ", expected,
       ": all ranks must call it for as many elements");
}

void check_mark(int from, const CollectiveCall& call, MessageMark found, MessageMark expected) {
  if (found == expected) return;
  fail(Code::kUsage, "rank ", from, " sent a message with ", mark_name(found), " in ", to_text(call),
       ", expected ", mark_name(expected), ": all ranks must call it for as many elements");
}

}  // namespace ps
