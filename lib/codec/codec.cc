#include "codec/codec.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "config/catalog.h"

namespace ps {

// Residuals of a gradient of fixed size are one array, those of rows are kept by key within a bound of
// memory, and those of slices belong to the caller.
Codec::Codec(const CodecTarget& target, bool keeps_residual)
    : target_(target), keeps_residual_(keeps_residual) {
  PS_CHECK(target.rows >= 0 && target.cols > 0);
  PS_CHECK(target.rows == 0 || !target.in_slices);
  if (!keeps_residual || target.in_slices) return;
  if (target.rows > 0) {
    residual_.resize(static_cast<size_t>(target.rows * target.cols));
  } else {
    rows_.emplace(target.cols, target.residual_bytes);
  }
}

void Codec::encode(std::span<const float> values, std::string& bytes) {
  PS_CHECK(values.size() == static_cast<size_t>(elements()) && !there_);
  encode_values({values, residual_.empty() ? nullptr : residual_.data(), steps_}, bytes);
  ++steps_;
}

// The codec takes residuals as one array.  So the residuals of the rows are copied side by side into gathered_
// before the call, and back into the table of rows after it.
void Codec::encode_rows(std::span<const uint64_t> keys, std::span<const float> values, std::string& bytes) {
  const size_t cols = static_cast<size_t>(target_.cols);
  PS_CHECK(target_.rows == 0 && values.size() == keys.size() * cols);
  float* residual = nullptr;
  if (rows_) {
    rows_->find(keys, errors_);
    gathered_.resize(values.size());
    for (size_t n = 0; n < keys.size(); ++n) std::copy_n(errors_[n], cols, &gathered_[n * cols]);
    residual = gathered_.data();
  }
  encode_values({values, residual, steps_}, bytes);
  ++steps_;
  if (rows_) {
    for (size_t n = 0; n < keys.size(); ++n) std::copy_n(&gathered_[n * cols], cols, errors_[n]);
  }
}

void Codec::encode_slice(std::span<const float> values, std::span<float> residual, std::string& bytes) {
  PS_CHECK(target_.in_slices && values.size() % static_cast<size_t>(target_.cols) == 0);
  PS_CHECK(!keeps_residual_ || residual.size() == values.size());
  encode_values({values, keeps_residual_ ? residual.data() : nullptr, steps_}, bytes);
  ++steps_;
}

// Adds and looks for the largest size in one pass: a size from kInfiniteSize on is that of an infinity or a
// NaN.
std::span<const float> Codec::add_residual(const Encoding& in) const {
  const int64_t n = static_cast<int64_t>(in.values.size());
  const uint32_t size = in.residual != nullptr ? kernels().add(in.values.data(), n, in.residual)
                                               : kernels().largest_size(in.values.data(), n);
  if (size >= kInfiniteSize) refuse(in);
  return {in.residual != nullptr ? in.residual : in.values.data(), in.values.size()};
}

// The order of the parts is the order of the additions, which all trainers keep.
void Codec::add_up(std::span<const std::string_view> parts, std::span<float> sums) const {
  PS_CHECK(!parts.empty());
  decode(parts[0], sums);
  std::vector<float> values(sums.size());
  for (std::string_view part : parts.subspan(1)) {
    decode(part, values);
    for (size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
  }
}

// Without a residual the value itself is not finite, and the other refuse finds it.  With one, the first
// sum that is not finite is looked for.
void Codec::refuse(const Encoding& in) {
  size_t odd = 0;
  while (odd + 1 < in.values.size() && in.residual != nullptr && std::isfinite(in.residual[odd])) ++odd;
  refuse(in.values, odd);
}

// If all values are finite, their sums with the residuals have overflowed.
void Codec::refuse(std::span<const float> values, size_t odd_sum) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) fail(Code::kData, "value ", i, " of a gradient is ", values[i]);
  }
  fail(Code::kData, "value ", odd_sum, " of a gradient is too large: ", values[odd_sum],
       " and what is left of former ones overflow");
}

// ---- on a device

// Residuals begin as zeros on either side, so nothing is copied; the memory here is given back.
void Codec::move_to(CodecDevice& device) {
  const std::optional<CodecFormat> format = format_there();
  PS_CHECK(format && steps_ == 0 && !target_.in_slices);
  there_ = device.make(*format, static_cast<uint64_t>(elements()), keeps_residual_);
  std::vector<float>().swap(residual_);
}

void Codec::begin_encode_there(const float* values, float scale, std::string& bytes) {
  bytes.resize(static_cast<size_t>(bytes_of(elements())));
  there_->begin_encode(values, scale, steps_, bytes);
  ++steps_;
}

// If a sum on the device is not finite, its values are fetched to say which one, and why.
void Codec::finish_encode_there(const std::string& bytes) {
  const uint64_t odd = there_->finish_encode();
  if (odd == CodecThere::kAllFinite) return check_encoded(bytes, elements());
  std::vector<float> values(static_cast<size_t>(elements()));
  there_->get_values(values);
  refuse(values, odd);
}

void Codec::decode_there(std::string_view bytes, float divisor, float* values) const {
  check(bytes, elements());
  there_->decode(bytes, divisor, values);
}

void Codec::add_up_there(std::span<const std::string_view> parts, float* sums) const {
  for (std::string_view part : parts) check(part, elements());
  there_->add_up(parts, sums);
}

// state := steps:u64 dense | rows      dense := f32[rows x cols], where residuals are kept
// rows := rows:u64 (key:u64 young:u8 f32[cols])[rows]                        then the codec's own state
void Codec::save(std::string& out) const {
  put(out, steps_);
  if (there_ && keeps_residual_) {
    std::vector<float> residual(static_cast<size_t>(elements()));
    there_->get_residual(residual);
    put_array<float>(out, residual);
  }
  put_array<float>(out, residual_);
  if (rows_) {
    put(out, rows_->rows());
    rows_->for_each([&](uint64_t key, const float* row, bool young) {
      put(out, key);
      put(out, static_cast<uint8_t>(young));
      put_array<float>(out, {row, static_cast<size_t>(target_.cols)});
    });
  }
  save_state(out);
}

// Reads the parts in the order in which save has written them; a residual on the device is read here and
// sent there.
void Codec::load(ByteReader& in) {
  PS_CHECK(steps_ == 0);
  steps_ = in.get<uint64_t>();
  if (there_ && keeps_residual_) {
    std::vector<float> residual(static_cast<size_t>(elements()));
    in.get_array<float>(residual);
    there_->set_residual(residual);
  }
  in.get_array<float>(residual_);
  if (rows_) load_rows(in);
  load_state(in);
  if (!in.ok()) fail(Code::kCorrupt, "state of a codec is cut short");
}

// The count is compared with the remaining bytes before any row is made.
void Codec::load_rows(ByteReader& in) {
  const size_t cols = static_cast<size_t>(target_.cols);
  const uint64_t count = in.get<uint64_t>();
  if (count > in.remaining() / (sizeof(uint64_t) + 1 + cols * sizeof(float))) {
    fail(Code::kCorrupt, "state of a codec: ", count, " residuals in ", in.remaining(), " bytes");
  }
  for (uint64_t n = 0; n < count; ++n) {
    const uint64_t key = in.get<uint64_t>();
    const bool young = in.get<uint8_t>() != 0;
    in.get_array<float>({rows_->put_back(key, young), cols});
  }
}

std::unique_ptr<Codec> make_codec(const Json& object, std::string_view path, const CodecTarget& target) {
  const CodecEntry& entry = find_entry(codec_catalog(), object, path, "codec");
  entry.spec().complete(without_type(object), path);  // throws errors that name the path
  return entry.make(object, target);
}

}  // namespace ps
