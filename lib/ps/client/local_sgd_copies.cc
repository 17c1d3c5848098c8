#include "ps/client/local_sgd_copies.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/radix_sort.h"
#include "store/optimizer_states.h"

namespace ps {

namespace {

template <class... Parts>
[[noreturn]] void damaged(const Parts&... parts) {
  fail(Code::kCorrupt, "what was kept of the trainer's copies is damaged: ", parts...);
}

}  // namespace

struct LocalSgdCopies::Restoring {
  bool has_schedule = false;
  std::map<uint64_t, std::string> known;  // by offset
  uint64_t known_bytes = 0;               // size of the whole, as the chunks say
  uint64_t rows = 0;
  std::vector<std::vector<bool>> has_row;  // by parameter that is not sparse, by key: the row has come
};

void LocalSgdCopy::add_count(float* row, const KeyCount& more) const {
  const KeyCount count = end_count(row);
  const auto sum = [](uint64_t a, uint64_t b) {
    return static_cast<uint32_t>(std::min<uint64_t>(a + b, UINT32_MAX));
  };
  const uint32_t sums[] = {sum(count.shows, more.shows), sum(count.clicks, more.clicks)};
  std::memcpy(row + cols + 1, sums, sizeof sums);
}

KeyCount LocalSgdCopy::end_count(float* row) const {
  uint32_t count[kCountFloats];
  std::memcpy(count, row + cols + 1, sizeof count);
  std::fill_n(row + cols + 1, kCountFloats, 0.0f);
  return {count[0], count[1]};
}

float* LocalSgdCopy::find_or_start(const ParameterSpec& spec, uint64_t key) {
  if (float* row = rows->find(key)) return row;
  float* row = rows->add(key);
  spec.initializer.fill(key, {row, cols}, cpu);
  return row;
}

LocalSgdCopies::LocalSgdCopies(std::vector<ParameterSpec> specs, int64_t period, LocalStore& local)
    : specs_(std::move(specs)), period_(period), local_(local), restoring_(std::make_unique<Restoring>()) {
  for (const ParameterSpec& spec : specs_) copies_.emplace_back(spec, local_.cpu());
}

LocalSgdCopies::~LocalSgdCopies() = default;

// The rows lie in the order in which batches first used them, and a plan's keys ascend: hence the sort.
std::vector<KeyPlan> LocalSgdCopies::sent_keys() const {
  std::vector<KeyPlan> plans(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    const KeyedRows& rows = *copies_[p].rows;
    for (size_t n = 0; n < rows.size(); ++n) {
      if ((copies_[p].mark(rows.row(n)) & LocalSgdCopy::kSent) != 0) plans[p].keys.push_back(rows.keys()[n]);
    }
    radix_sort(plans[p].keys);
  }
  return plans;
}

// ---- telling

// For a sparse table, only the rows that batches have used are sent.  Each step moves all rows of another table,
// so all are sent.  Statistics are not sent, since no optimizer moves them and servers have their values.
uint64_t LocalSgdCopies::num_rows(size_t p) const {
  if (specs_[p].kind == ParameterKind::kStatistic) return 0;
  return specs_[p].sparse ? copies_[p].rows->size() : static_cast<uint64_t>(specs_[p].rows);
}

// keys <- the keys of rows [first, first + count) among those that are sent.  A sparse table numbers them
// in the order in which batches first used them, which stays the same; in another table the number is the
// key.
void LocalSgdCopies::list_keys(size_t p, uint64_t first, uint64_t count, std::vector<uint64_t>& keys) const {
  keys.clear();
  for (uint64_t n = first; n < first + count; ++n) {
    keys.push_back(specs_[p].sparse ? copies_[p].rows->keys()[n] : n);
  }
}

const float* LocalSgdCopies::base_of(size_t p, uint64_t key, bool& sent) const {
  const LocalSgdCopy& copy = copies_[p];
  if (specs_[p].kind == ParameterKind::kMatrix) {
    if (copy.whole.empty()) return nullptr;
    sent = whole_is_sent;
    return copy.whole.data() + key * copy.cols;
  }
  const float* base = copy.rows->find(key);
  sent = base != nullptr && (copy.mark(base) & LocalSgdCopy::kSent) != 0;
  return base;
}

// ---- restoring up

// Chunks come in any order.  Rows go into the tables at once; the bytes of the optimizers are kept in
// restoring_ until the last chunk has come, since they are cut anywhere, and end_restoring checks them
// against the rows.
void LocalSgdCopies::restore(std::string_view chunk) {
  PS_CHECK(restoring_ != nullptr);
  ByteReader in(chunk);
  switch (in.get<StateChunkKind>()) {
    case StateChunkKind::kSchedule:
      return restore_schedule(in);
    case StateChunkKind::kSteps:
      return restore_steps(in);
    case StateChunkKind::kRows:
      return restore_rows(in);
    case StateChunkKind::kErrors:
    case StateChunkKind::kFigures:
    case StateChunkKind::kCodecs:
      break;
  }
  damaged("a chunk of kind ", chunk.empty() ? 0 : static_cast<int>(chunk[0]));
}

void LocalSgdCopies::restore_schedule(ByteReader& in) {
  local_.schedule().advance(in);
  if (in.remaining() > 0) damaged("a schedule of another length");
  restoring_->has_schedule = true;
}

// Keeps a part of `known` by its offset.  The total comes from a file: it allocates nothing, but must be
// the same in all parts, and no part may reach beyond it.
void LocalSgdCopies::restore_steps(ByteReader& in) {
  const uint64_t offset = in.get<uint64_t>(), total = in.get<uint64_t>();
  const std::string_view bytes = in.get_bytes(in.remaining());
  const bool other = !restoring_->known.empty() && restoring_->known_bytes != total;
  if (!in.ok() || bytes.empty() || other || offset > total || bytes.size() > total - offset) {
    damaged(bytes.size(), " bytes at ", offset, " of ", total);
  }
  restoring_->known_bytes = total;
  if (!restoring_->known.try_emplace(offset, bytes).second) damaged("bytes at ", offset, " come twice");
}

// Reads the sections of a chunk.  The rows of a section are gathered in `block`, which goes into the table
// when it has kPutAtOnce rows, or with the last row of the section.  `count` is not trusted: every row
// checks that its bytes are there, so that a large count ends at the end of the chunk.
void LocalSgdCopies::restore_rows(ByteReader& in) {
  constexpr size_t kPutAtOnce = 256;  // rows that are put into a table at once
  while (in.remaining() > 0) {
    const uint32_t p = in.get<uint32_t>(), count = in.get<uint32_t>();
    if (!in.ok() || p >= specs_.size() || specs_[p].kind == ParameterKind::kStatistic) {
      damaged("rows of parameter ", p);
    }
    const TableLayout layout = local_.layout(static_cast<int>(p));
    RowBlock block;
    for (uint32_t n = 0; n < count; ++n) {
      restore_row(p, layout, in, block);
      if (block.size() < kPutAtOnce && n + 1 < count) continue;
      local_.put_rows(static_cast<int>(p), block);
      block.clear();
    }
    restoring_->rows += count;
  }
}

// Appends the row to the block.  The form of a row stands in local_sgd_chunks.cc.  Its length depends on
// its flags, so that the bytes behind these are checked at once, before anything is read into memory.  A
// sparse row is only sent because a batch has read it, and so must have a base; a difference that is on its
// way needs one too.
void LocalSgdCopies::restore_row(size_t p, const TableLayout& layout, ByteReader& in, RowBlock& block) {
  const ParameterSpec& spec = specs_[p];
  const size_t values = static_cast<size_t>(layout.values());
  const uint64_t key = in.get<uint64_t>();
  const uint8_t flags = in.get<uint8_t>();
  const size_t left = (flags & kLocalSgdBase) * static_cast<size_t>(spec.cols) * sizeof(float) +
                      (layout.stamped ? sizeof(uint32_t) : 0) + values * sizeof(float);
  if (!in.has(left)) damaged("rows of ", quote(spec.name), " are cut short");
  if (flags > (kLocalSgdBase | kLocalSgdSent) || (spec.sparse && (flags & kLocalSgdBase) == 0) ||
      flags == kLocalSgdSent) {
    damaged("row ", key, " of ", quote(spec.name), " has flags ", int{flags});
  }
  const bool bounded = spec.rows > 0 || !spec.sparse;
  if (bounded && key >= static_cast<uint64_t>(spec.rows)) damaged(quote(spec.name), " has no row ", key);
  if (!spec.sparse && !note_row(p, key)) damaged("row ", key, " of ", quote(spec.name), " comes twice");
  if ((flags & kLocalSgdBase) != 0) restore_base(p, key, flags, in);
  block.keys.push_back(key);
  if (layout.stamped) block.stamps.push_back(in.get<uint32_t>());
  block.values.resize(block.keys.size() * values);
  in.get_array(std::span(block.values).last(values));
}

// Notes that a row of a parameter that is not sparse has come; returns false if it had come before.  Rows are
// only counted in the end, so that a row which came twice would hide one that is missing.
bool LocalSgdCopies::note_row(size_t p, uint64_t key) {
  restoring_->has_row.resize(specs_.size());
  std::vector<bool>& rows = restoring_->has_row[p];
  rows.resize(static_cast<size_t>(specs_[p].rows));
  if (rows[key]) return false;
  return rows[key] = true;
}

// Sets the base of one row.  The base of a matrix is one block of memory; those of other parameters are
// rows of their own, each with a mark.  The mark gets no round, so that the first batch that uses the row
// reads it again.
void LocalSgdCopies::restore_base(size_t p, uint64_t key, uint8_t flags, ByteReader& in) {
  const ParameterSpec& spec = specs_[p];
  LocalSgdCopy& copy = copies_[p];
  const bool sent = (flags & kLocalSgdSent) != 0;
  if (spec.kind == ParameterKind::kMatrix) {
    copy.whole.resize(static_cast<size_t>(spec.rows) * copy.cols);
    whole_is_sent |= sent;
    return in.get_array(std::span(copy.whole).subspan(key * copy.cols, copy.cols));
  }
  if (copy.rows->find(key) != nullptr) damaged("row ", key, " of ", quote(spec.name), " comes twice");
  float* base = copy.rows->add(key);
  in.get_array(std::span(base, copy.cols));
  copy.set_mark(base, sent ? LocalSgdCopy::kSent : 0);
}

// Chunks of a run with another number of trainers contain only schedules; a trainer that begins anew has no
// chunks.  The loop joins the parts of `known` in the order of their offsets; each must begin where the one
// before has ended, so that neither a gap nor an overlap goes unseen.
void LocalSgdCopies::end_restoring(uint64_t batches) {
  const std::unique_ptr<Restoring> restoring = std::move(restoring_);
  if (restoring->known.empty() && restoring->rows == 0) return;
  std::string known;
  for (const auto& [offset, bytes] : restoring->known) {
    if (offset != known.size()) damaged("there is nothing at ", known.size(), " of ", restoring->known_bytes);
    known += bytes;
  }
  if (known.size() != restoring->known_bytes || !restoring->has_schedule) damaged("some of it is missing");
  ByteReader in(known);
  end_known(in, restoring->rows, batches);
  resumed_ = true;
}

// Checks the numbers against each other: a batch is one step, and a push has at most a period of batches.
// Servers count a push as one of `batches`, so that there are at least ceil(steps / period) of them.
void LocalSgdCopies::end_known(ByteReader& in, uint64_t rows, uint64_t batches) {
  for (int64_t* number : {&progress.pass, &progress.pass_batches, &progress.batches}) {
    *number = in.get<int64_t>();
    if (*number < 0) damaged("counts below 0");
  }
  const uint64_t all_rows = in.get<uint64_t>();
  const int64_t steps = in.get<int64_t>();
  if (!in.ok() || all_rows != rows) damaged(rows, " rows, expected ", all_rows);
  const uint64_t period = static_cast<uint64_t>(period_);
  if (steps < 0 || (static_cast<uint64_t>(steps) + period - 1) / period > batches) {
    damaged(steps, " steps in ", batches, " rounds of ", period);
  }
  load_optimizers(local_.tables(), in, steps);
  if (!in.ok() || in.remaining() > 0) damaged("what is known of its steps has another length");
}

}  // namespace ps
