// Times every codec of the catalogue: encoding with its residual, as in training, encoding alone, and
// decoding.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/hash.h"
#include "bench/codec/suite.h"
#include "bench/pages.h"
#include "codec/codec.h"
#include "config/catalog.h"

namespace ps {

// Returns `size` values like those of a gradient, most of which are small: they are nearly normal, and
// every 128th group of 64 is a hundred times larger than the others.  Values depend on `stream` and
// position alone.
std::vector<float> bench_gradient(size_t size, uint64_t stream) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) {
    // The sum of four uniform numbers is nearly normal.
    const uint64_t bits = hash_key(stream << 40 | i);
    int32_t sum = -131070;
    for (int word = 0; word < 4; ++word) sum += static_cast<int32_t>(bits >> 16 * word & 0xffff);
    values[i] = static_cast<float>(sum) * (i / 64 % 128 == 0 ? 2.6e-7f : 2.6e-9f);
  }
  return values;
}

namespace {

constexpr int64_t kCols = 1024;

enum class CodecTask { kEncode, kEncodeAlone, kDecode };

// Runs of one codec.  One owner thread.
//
// The first encode, in the constructor, gives decode its input and a residual to the later ones.  kEncode
// keeps the residual from run to run, as training does; kEncodeAlone and kDecode are made without one.
class CodecRuns final : public Workload {
 public:
  CodecRuns(const CodecEntry& entry, CodecTask task, const BenchSettings& settings)
      : task_(task),
        values_(bench_gradient(scaled_power(settings.scale, 1 << 24, 1 << 16), 1)),
        back_(values_.size()) {
    Json object = {{"type", entry.name}};
    if (task != CodecTask::kEncode && entry.name != "none") object["error_feedback"] = false;
    const int64_t rows = static_cast<int64_t>(values_.size()) / kCols;
    codec_ = make_codec(object, "codec", {.rows = rows, .cols = kCols, .cpu = settings.cpu});
    codec_->encode(values_, bytes_);
  }

  // Clears the output of a run, so that check() notices if a run did not write it.
  void prepare() override {
    old_.assign(codec_->residual().begin(), codec_->residual().end());
    if (task_ == CodecTask::kDecode) {
      std::fill(back_.begin(), back_.end(), std::numeric_limits<float>::quiet_NaN());
    } else {
      bytes_.clear();
    }
  }

  void run() override {
    task_ == CodecTask::kDecode ? codec_->decode(bytes_, back_) : codec_->encode(values_, bytes_);
  }

  // Checks that the decoded values and the new residual add up to the values and the old residual; the
  // bound allows the rounding of one addition.  Without a residual nothing says how much was lost, so
  // values must only be finite.  The relative error is |sum - back| / |sum| over all values: above 2, the
  // gradient would be lost in noise.
  void check() override {
    if (bytes_.empty()) fail(Code::kInternal, "nothing was encoded");
    if (task_ != CodecTask::kDecode) codec_->decode(bytes_, back_);
    const std::span<const float> kept = codec_->residual();
    double errors = 0, squares = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      const double sum = static_cast<double>(values_[i]) + (old_.empty() ? 0 : static_cast<double>(old_[i]));
      const double back = static_cast<double>(back_[i]),
                   whole = back + (kept.empty() ? 0 : static_cast<double>(kept[i]));
      const double bound = 1e-6 * std::max(std::fabs(sum), std::fabs(back)) + 1e-30;
      const bool right = kept.empty() ? std::isfinite(back) : std::fabs(whole - sum) <= bound;
      if (!right) fail(Code::kInternal, "value ", i, " is ", whole, " in all, expected ", sum);
      errors += (sum - back) * (sum - back);
      squares += sum * sum;
    }
    error_ = std::sqrt(errors / squares);
    if (error_ > 2) fail(Code::kInternal, "the error is ", error_, " of the gradient");
  }

  Work work() const override { return {.bytes = static_cast<double>(values_.size() * sizeof(float))}; }

  std::vector<Figure> figures() const override {
    const double ratio =
        static_cast<double>(values_.size() * sizeof(float)) / static_cast<double>(bytes_.size());
    return {{"ratio", ratio}, {"relative error", error_}};
  }

 private:
  const CodecTask task_;
  const std::vector<float> values_;
  std::vector<float> back_, old_;
  std::unique_ptr<Codec> codec_;
  std::string bytes_;
  double error_ = 0;
};

void add(std::vector<Benchmark>& out, const CodecEntry& entry, CodecTask task, const char* name,
         const char* help) {
  out.push_back({.name = cat("codec/", entry.name, "/", name),
                 .help = cat(entry.name, ": ", help),
                 .unit = "B",
                 .make =
                     [&entry, task](const BenchSettings& settings) {
                       return std::make_unique<CodecRuns>(entry, task, settings);
                     },
                 .limit = "limits/copy",
                 .paired = true});
}

}  // namespace

std::vector<Benchmark> codec_benchmarks() {
  std::vector<Benchmark> out;
  for (const CodecEntry* entry : codec_catalog()) {
    if (entry->name != "none")
      add(out, *entry, CodecTask::kEncode, "encode-feedback", "floats encoded, residuals kept");
    add(out, *entry, CodecTask::kEncodeAlone, "encode", "floats encoded");
    add(out, *entry, CodecTask::kDecode, "decode", "floats decoded");
  }
  return out;
}

}  // namespace ps
