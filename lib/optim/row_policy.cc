#include "optim/row_policy.h"

#include "config/spec.h"

namespace ps {

namespace {

constexpr double kMostCounted = 65535;  // the largest count of CountedKeys

}  // namespace

const ObjectSpec<Admission>& Admission::spec() {
  static const ObjectSpec<Admission> spec = [] {
    ObjectSpec<Admission> s;
    s.field("count", &Admission::count, "a key gets a row once it has occurred so often")
        .at_least(1)
        .at_most(kMostCounted);
    s.field("probability", &Admission::probability,
            "each occurrence of a key gives it a row with this probability, drawn from the job's seed")
        .above(0)
        .at_most(1);
    s.field("max_waiting", &Admission::max_waiting,
            "count: keys of the table, on all servers together, that are counted before they have a row, at "
            "most 32 bytes each; when there are more, all their counts are halved, and those at 0 forgotten")
        .at_least(64);
    s.check([](const Admission& admission, std::string_view path) {
      if (admission.count.has_value() != admission.probability.has_value()) return;
      fail(Code::kUsage, path, ": expected either count or probability, found ",
           admission.count ? "both" : "neither");
    });
    return s;
  }();
  return spec;
}

const ObjectSpec<RowScore>& RowScore::spec() {
  static const ObjectSpec<RowScore> spec = [] {
    ObjectSpec<RowScore> s;
    s.field("non_click", &RowScore::non_click, "what an occurrence without a click is worth").at_least(0);
    s.field("click", &RowScore::click, "what an occurrence in an example with a positive label is worth")
        .at_least(0);
    return s;
  }();
  return spec;
}

const ObjectSpec<Expiry>& Expiry::spec() {
  static const ObjectSpec<Expiry> spec = [] {
    ObjectSpec<Expiry> s;
    s.field("unseen", &Expiry::unseen,
            "remove rows whose keys have sat out more intervals between shrinks than this")
        .at_least(0)
        .at_most(RowHistory::kMostUnseen - 1);
    s.field("below_score", &Expiry::below_score, "remove rows whose score is less").at_least(0);
    return s;
  }();
  return spec;
}

const ObjectSpec<RowReport>& RowReport::spec() {
  static const ObjectSpec<RowReport> spec = [] {
    ObjectSpec<RowReport> s;
    s.field("rows", &RowReport::rows, "rows that there are");
    s.field("waiting", &RowReport::waiting, "keys without a row whose occurrences are counted");
    s.field("created", &RowReport::created, "rows made so far");
    s.field("expired", &RowReport::expired, "rows removed by shrinks");
    s.field("evicted", &RowReport::evicted, "rows removed to make room");
    s.field("refused", &RowReport::refused, "times that a new row was refused for want of room");
    return s;
  }();
  return spec;
}

const ObjectSpec<RowPolicy>& RowPolicy::spec() {
  static const ObjectSpec<RowPolicy> spec = [] {
    ObjectSpec<RowPolicy> s;
    s.field("admission", &RowPolicy::admission, "which keys get a row; absent: each from its first step on");
    s.field("score", &RowPolicy::score, "what a row is worth");
    s.field("decay", &RowPolicy::decay, "each shrink multiplies the shows and clicks of a row by it")
        .at_least(0)
        .at_most(1);
    s.field("expire", &RowPolicy::expire, "which rows a shrink removes; absent: none");
    s.field("shrink_passes", &RowPolicy::shrink_passes,
            "passes between two shrinks, each at the end of a pass; 0: none there")
        .at_least(0);
    s.field("shrink_steps", &RowPolicy::shrink_steps, "steps between two shrinks, 0: none within a pass")
        .at_least(0);
    s.field("limit", &RowPolicy::limit,
            "rows of the table, on all servers together, 0: any number; each of its 64 partitions has a 64th")
        .at_least(0);
    s.field("when_full", &RowPolicy::when_full,
            "a new key of a partition that is full: refuse it a row, or evict the least valuable rows, a "
            "sixteenth of the partition at once")
        .one_of({"refuse", "evict"});
    s.check([](const RowPolicy& policy, std::string_view path) {
      constexpr int64_t kPartitions = 64;  // partitions of a table
      if (policy.limit == 0 || policy.limit >= kPartitions) return;
      fail(Code::kUsage, json_path(path, "limit"), ": ", policy.limit, " is too small, expected 0, or ",
           kPartitions, " and more: a row a partition");
    });
    return s;
  }();
  return spec;
}

}  // namespace ps
