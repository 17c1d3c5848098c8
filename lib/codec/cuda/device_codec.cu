#include "codec/cuda/device_codec.h"

#include "base/error.h"
#include "codec/cuda/codec_kernels.h"
#include "codec/cuda/sign_block_kernels.h"
#include "codec/cuda/whole_block_kernels.h"
#include "codec/kernels/kernels.h"
#include "math/kernels/half.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

namespace kernels = device_codec;

constexpr unsigned kThreads = 256;  // threads of a block

template <class... Parameters, class... Arguments>
void run(void (*kernel)(Parameters...), int64_t threads, gpu::Stream& stream, Arguments&&... arguments) {
  gpu::launch(kernel, gpu::blocks_for(static_cast<uint64_t>(threads), kThreads), kThreads, 0, stream,
              arguments...);
}

template <class Format, class Values>
void encode_values(gpu::Stream& stream, const Values& values, float* error, int64_t size, char* encoded) {
  auto* const out = reinterpret_cast<kernels::Coded<Format>*>(encoded);
  run(error != nullptr ? kernels::encode_values<Format, true, Values>
                       : kernels::encode_values<Format, false, Values>,
      size, stream, values, error, size, out);
}

template <class Format, class Into>
void decode_values(gpu::Stream& stream, const char* encoded, int64_t size, const Into& into) {
  run(kernels::decode_values<Format, Into>, size, stream,
      reinterpret_cast<const kernels::Coded<Format>*>(encoded), size, into);
}

// Returns the number of threads that give each block a warp.
int64_t threads_of(const kernels::BlockRows& rows) {
  return rows.rows * ((rows.cols + rows.block - 1) / rows.block) * gpu::kWarpSize;
}

template <class Format, class Values>
void encode_blocks(gpu::Stream& stream, const Values& values, float* error, const kernels::BlockRows& rows,
                   const Format& format, char* encoded) {
  run(error != nullptr ? kernels::encode_blocks<true, Format, Values>
                       : kernels::encode_blocks<false, Format, Values>,
      threads_of(rows), stream, values, error, rows, format, encoded);
}

template <class Format, class Into>
void decode_blocks(gpu::Stream& stream, const char* encoded, const kernels::BlockRows& rows,
                   const Into& into) {
  run(kernels::decode_blocks<Format, Into>, threads_of(rows), stream, encoded, rows, into);
}

// Chooses the kernel of the format.  `into` is how the kernel stores a decoded value: as it is, divided, or
// added.  Selected values and factors have functions of their own (codec/cuda/device_sparse_codec.h and
// device_power_iteration.h), and do not come here.
template <class Into>
void decode_into(const Into& into, gpu::Stream& stream, const CodecFormat& format, const char* encoded,
                 int64_t size) {
  if (size == 0) return;
  const kernels::BlockRows blocks{1, size, format.block};
  switch (format.kind) {
    case CodecFormat::Kind::kF16:
      return decode_values<Half>(stream, encoded, size, into);
    case CodecFormat::Kind::kBf16:
      return decode_values<Bfloat>(stream, encoded, size, into);
    case CodecFormat::Kind::kInt8:
    case CodecFormat::Kind::kInt8Even:
      return decode_blocks<kernels::NearestBytes>(stream, encoded, blocks, into);
    case CodecFormat::Kind::kOneBit:
      return run(kernels::decode_sign_blocks<Into>, size, stream, encoded,
                 kernels::SignBlocks{size, format.block}, into);
    case CodecFormat::Kind::kShared8:
      return decode_blocks<kernels::SharedWholes<8>>(stream, encoded, blocks, into);
    case CodecFormat::Kind::kShared16:
      return decode_blocks<kernels::SharedWholes<16>>(stream, encoded, blocks, into);
    case CodecFormat::Kind::kLargest:
    case CodecFormat::Kind::kFromSize:
    case CodecFormat::Kind::kLowRank:
      PS_CHECK(!format.selects() && format.kind != CodecFormat::Kind::kLowRank);
  }
}

}  // namespace

// Chooses the kernel of the format.  Float formats have a thread for each value, int8 and shared scales a
// warp for each block, one_bit as many threads for each block as its sums have lanes.  With a residual
// another kernel runs, which adds it first and leaves the rounding error there.
void encode_gradient(gpu::Stream& stream, const CodecFormat& format, const GradientThere& gradient,
                     char* encoded) {
  const int64_t size = gradient.size;
  if (size == 0) return;
  const kernels::Scaled values{gradient.values, gradient.scale, gradient.odd};
  const kernels::BlockRows blocks{1, size, format.block};
  switch (format.kind) {
    case CodecFormat::Kind::kF16:
      return encode_values<Half>(stream, values, gradient.residual, size, encoded);
    case CodecFormat::Kind::kBf16:
      return encode_values<Bfloat>(stream, values, gradient.residual, size, encoded);
    case CodecFormat::Kind::kInt8:
      return encode_blocks(stream, values, gradient.residual, blocks, kernels::NearestBytes{}, encoded);
    case CodecFormat::Kind::kInt8Even:
      return encode_blocks(stream, values, gradient.residual, blocks,
                           kernels::EvenBytes{{}, format.seed, gradient.step}, encoded);
    case CodecFormat::Kind::kOneBit:
      return run(gradient.residual != nullptr ? kernels::encode_sign_blocks<true, kernels::Scaled>
                                              : kernels::encode_sign_blocks<false, kernels::Scaled>,
                 (size + format.block - 1) / format.block * kernels::kLanesOfBlock, stream, values,
                 gradient.residual, kernels::SignBlocks{size, format.block}, encoded);
    case CodecFormat::Kind::kShared8:
      return encode_blocks(stream, values, gradient.residual, blocks, kernels::SharedWholes<8>{}, encoded);
    case CodecFormat::Kind::kShared16:
      return encode_blocks(stream, values, gradient.residual, blocks, kernels::SharedWholes<16>{}, encoded);
    case CodecFormat::Kind::kLargest:
    case CodecFormat::Kind::kFromSize:
    case CodecFormat::Kind::kLowRank:
      PS_CHECK(!format.selects() && format.kind != CodecFormat::Kind::kLowRank);
  }
}

void decode_gradient(gpu::Stream& stream, const CodecFormat& format, const char* encoded, int64_t size,
                     float divisor, float* values) {
  decode_into(kernels::Divided{values, divisor}, stream, format, encoded, size);
}

void set_decoded(gpu::Stream& stream, const CodecFormat& format, const char* encoded, int64_t size,
                 float* sums) {
  decode_into(kernels::Set{sums}, stream, format, encoded, size);
}

void add_decoded(gpu::Stream& stream, const CodecFormat& format, const char* encoded, int64_t size,
                 float* sums) {
  decode_into(kernels::Added{sums}, stream, format, encoded, size);
}

bool adds_parts_together(const CodecFormat& format) {
  return format.kind == CodecFormat::Kind::kShared8 || format.kind == CodecFormat::Kind::kShared16;
}

void add_up_parts(gpu::Stream& stream, const CodecFormat& format, const char* parts, int64_t num,
                  int64_t bytes, int64_t size, float* sums) {
  PS_CHECK(adds_parts_together(format));
  if (size == 0) return;
  run(format.kind == CodecFormat::Kind::kShared8 ? kernels::add_shared<8> : kernels::add_shared<16>, size,
      stream, kernels::EncodedParts{parts, num, bytes}, size, format.block, sums);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
