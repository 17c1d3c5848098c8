#include "ps/server/rest_of_pass.h"

namespace ps {

namespace {

constexpr uint64_t kLargestStride = uint64_t{1} << 40;

}  // namespace

void RestOfPass::begin_pass(size_t num_trainers) {
  const uint32_t shares = static_cast<uint32_t>(num_trainers);
  dealt_.assign(num_trainers, {});
  for (uint32_t rank = 0; rank < shares; ++rank) dealt_[rank].strand = DataStrand{rank, shares, 0, 1};
  left_.clear();
  dealings_ = 0;
}

// Every rank gives its strand back.  A rank that is not at the end of it has trained pass_batches -
// done_before batches of the strand, so its rest begins as many strides later, and waits at the end of
// left_.  Then the oldest strand of left_ is divided among the takers; the others wait for later dealings.
void RestOfPass::deal(std::span<const uint64_t> pass_batches, std::span<const int> takers) {
  ++dealings_;
  for (size_t rank = 0; rank < dealt_.size(); ++rank) {
    Dealt& own = dealt_[rank];
    if (own.strand && !own.at_end) {
      DataStrand rest = *own.strand;
      rest.first += (pass_batches[rank] - own.done_before) * rest.stride;
      left_.push_back(rest);
    }
    own.strand.reset();
    own.done_before = pass_batches[rank];
    own.at_end = false;
  }
  if (left_.empty() || takers.empty()) return;
  const DataStrand strand = left_.front();
  left_.pop_front();
  divide(strand, takers);
}

// Taker i of n gets every n-th batch of the strand, from its batch i on: first + i stride, with n times the
// stride.  Strands become sparser each time that a trainer with a part of one is lost; at some point one
// trainer takes all of it.
void RestOfPass::divide(const DataStrand& strand, std::span<const int> takers) {
  const bool too_sparse = strand.stride > kLargestStride / takers.size();
  const size_t strands = too_sparse ? 1 : takers.size();
  for (size_t i = 0; i < strands; ++i) {
    dealt_[static_cast<size_t>(takers[i])].strand =
        DataStrand{strand.share, strand.shares, strand.first + i * strand.stride, strand.stride * strands};
  }
}

RankWork RestOfPass::of(int rank) const {
  RankWork work;
  work.dealings = dealings_;
  for (const Dealt& each : dealt_) work.some_left |= each.strand.has_value();
  const Dealt& own = dealt_[static_cast<size_t>(rank)];
  work.batches_before = own.done_before;
  work.strand = own.strand;
  return work;
}

// rest := dealings:u64 (batches_before:u64 has:u8 strand[has])[trainers] waiting:u32 strand[waiting]
void RestOfPass::save(std::string& out) const {
  put(out, dealings_);
  for (const Dealt& own : dealt_) {
    put(out, own.done_before);
    put(out, static_cast<uint8_t>(own.strand.has_value()));
    if (own.strand) put_strand(*own.strand, out);
  }
  put(out, static_cast<uint32_t>(left_.size()));
  for (const DataStrand& strand : left_) put_strand(strand, out);
}

bool RestOfPass::load(ByteReader& in, size_t num_trainers) {
  begin_pass(num_trainers);
  dealings_ = in.get<uint64_t>();
  for (Dealt& own : dealt_) {
    own.done_before = in.get<uint64_t>();
    const bool has = in.get<uint8_t>() != 0;
    own.strand.reset();
    if (has && !get_strand(in, own.strand.emplace())) return false;
  }
  for (uint32_t waiting = in.get<uint32_t>(); waiting > 0 && in.ok(); --waiting) {
    if (!get_strand(in, left_.emplace_back())) return false;
  }
  return in.ok();
}

}  // namespace ps
