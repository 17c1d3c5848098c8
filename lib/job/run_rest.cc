#include "job/run_rest.h"

#include <utility>

namespace ps {

namespace {

// An empty source, for a trainer that has to wait for others.
class NoBatches final : public BatchSource {
 public:
  int64_t begin_pass(const SourcePass& pass, const Stop&) override { return pass.skip; }
  const PreparedBatch* next(const Stop&) override { return nullptr; }
  const PreparedBatch* peek(size_t) override { return nullptr; }
  double fraction_read() const override { return 1; }
  void end_pass() override {}
};

}  // namespace

RunRest::RunRest(const Job& job, TaskData& data, const Network<float>& network, RunControl& run,
                 BatchReader& own, MakeSource make_source, Log& log)
    : job_(job),
      data_(data),
      network_(network),
      run_(run),
      reads_once_(reads_standard_input(job) || own.may_wait()),
      make_source_(std::move(make_source)),
      log_(log) {}

// In a pass whose rest was dealt anew, the strand replaces the share.  If there is none for this rank, or
// if it cannot be read again, the trainer begins with an empty source, and gets its data from next.
BatchSource& RunRest::first(int pass, BatchSource& share) {
  const RunPosition position = run_.position();
  if (!position.dealt || pass != position.pass) return share;
  if (position.strand && !reads_once_) return open(*position.strand);
  source_ = std::make_unique<NoBatches>();
  return *source_;
}

// Takes strands of the rest until one can be trained.  Data from a pipe are gone, so their strands are
// taken and passed over, for otherwise the pass would not end.
BatchSource* RunRest::next(int pass) {
  for (;;) {
    const std::optional<DataStrand> strand = run_.next_strand(pass);
    if (!strand) return nullptr;
    if (!reads_once_) {
      log_.info("Taking over from trainer ", strand->share, " in pass ", pass, ": its batches ",
                strand->first, ", ", strand->first + strand->stride, " and so on");
      return &open(*strand);
    }
    log_.warning("what trainer ", strand->share, " has left of pass ", pass,
                 " is left out: data that come from a pipe cannot be read again");
  }
}

// Opens a strand with a reader of its own, which gives the share in the order in which its trainer would have
// read it.
BatchSource& RunRest::open(const DataStrand& strand) {
  source_.reset();
  const DataShare share{static_cast<int>(strand.share), static_cast<int>(strand.shares),
                        static_cast<int64_t>(strand.first), static_cast<int64_t>(strand.stride),
                        job_.train.accumulate};
  reader_ = data_.make_reader(job_.data.files, job_.data.shuffle, /*passes=*/1, share, DataPart::kTraining);
  reader_->check_labels([this](float label) { network_.check_label(label); });
  source_ = make_source_(*reader_);
  return *source_;
}

}  // namespace ps
