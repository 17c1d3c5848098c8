#include "codec/cuda/device_row_codec.h"

#include "codec/cuda/row_codec_kernels.h"
#include "codec/kernels/kernels.h"
#include "math/kernels/half.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

namespace kernels = device_row_codec;

constexpr unsigned kThreads = 256;  // of a block

template <class... Parameters, class... Arguments>
void run(void (*kernel)(Parameters...), int64_t threads, gpu::Stream& stream, Arguments&&... arguments) {
  gpu::launch(kernel, gpu::blocks_for(static_cast<uint64_t>(threads), kThreads), kThreads, 0, stream,
              arguments...);
}

template <class Format>
void encode_values(gpu::Stream& stream, const float* values, float* error, int64_t size, char* encoded) {
  auto* const out = reinterpret_cast<kernels::Coded<Format>*>(encoded);
  run(error != nullptr ? kernels::encode_values<Format, true> : kernels::encode_values<Format, false>, size,
      stream, values, error, size, out);
}

template <class Format>
void decode_values(gpu::Stream& stream, const char* encoded, int64_t size, float* values) {
  run(kernels::decode_values<Format>, size, stream, reinterpret_cast<const kernels::Coded<Format>*>(encoded),
      size, values);
}

kernels::ByteRows byte_rows(RowType type, int64_t rows, int64_t cols) {
  return {rows, cols, type == RowType::kInt8 ? cols : kRowBlock};
}

// A warp for each block.
int64_t threads_of(const kernels::ByteRows& rows) {
  return rows.rows * ((rows.cols + rows.block - 1) / rows.block) * gpu::kWarpSize;
}

}  // namespace

void encode_on_device(gpu::Stream& stream, RowType type, const float* values, float* error, int64_t rows,
                      int64_t cols, char* encoded) {
  const int64_t size = rows * cols;
  if (size == 0) return;
  const bool has_error = error != nullptr;
  const kernels::ByteRows bytes = byte_rows(type, rows, cols);
  switch (type) {
    case RowType::kF32:
      return encode_values<kernels::Float>(stream, values, error, size, encoded);
    case RowType::kF16:
      return encode_values<Half>(stream, values, error, size, encoded);
    case RowType::kBf16:
      return encode_values<Bfloat>(stream, values, error, size, encoded);
    case RowType::kInt8:
    case RowType::kInt8Blocks:
      return run(has_error ? kernels::encode_bytes<true> : kernels::encode_bytes<false>, threads_of(bytes),
                 stream, values, error, bytes, encoded);
    case RowType::kOneBit:
      return run(has_error ? kernels::encode_signs<true> : kernels::encode_signs<false>, rows * kSignLanes,
                 stream, values, error, kernels::SignRows{rows, cols}, encoded);
  }
}

void decode_on_device(gpu::Stream& stream, RowType type, const char* encoded, int64_t rows, int64_t cols,
                      float* values) {
  const int64_t size = rows * cols;
  if (size == 0) return;
  const kernels::ByteRows bytes = byte_rows(type, rows, cols);
  switch (type) {
    case RowType::kF32:
      return decode_values<kernels::Float>(stream, encoded, size, values);
    case RowType::kF16:
      return decode_values<Half>(stream, encoded, size, values);
    case RowType::kBf16:
      return decode_values<Bfloat>(stream, encoded, size, values);
    case RowType::kInt8:
    case RowType::kInt8Blocks:
      return run(kernels::decode_bytes, threads_of(bytes), stream, encoded, bytes, values);
    case RowType::kOneBit:
      return run(kernels::decode_signs, rows * kSignLanes, stream, encoded, kernels::SignRows{rows, cols},
                 values);
  }
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
