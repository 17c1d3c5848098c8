// Measures limits of a device: copies and random reads of its memory, copies over the link to the host, and
// launches of kernels.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bench/cuda/device_workload.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// A gigabyte is many times the second-level cache of any device, so that a copy runs at the speed of its
// memory; the least size keeps trials on the emulator short.
constexpr double kFullBytes = double(1 << 30);  // bytes of a copy at full size
constexpr int64_t kLeastBytes = 1 << 12;

// The bytes that a thread copies at a time.
struct alignas(16) Sixteen {
  uint32_t words[4];
};

__global__ void write_words(uint64_t* words, uint64_t size) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size) words[i] = hash_key(i);
}

// Counts the words that differ from what write_words makes: words [size] should be hash_key(0), hash_key(1),
// …
__global__ void count_words(const uint64_t* words, uint64_t size, RowKinds* kinds) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size && words[i] != hash_key(i)) gpu::atomic_add<gpu::Order::kRelaxed>(&kinds->wrong, 1);
}

// Returns a number of words of 64 bits that fills whole blocks of 16 bytes.
int64_t num_words(double scale, double full_bytes) {
  return scaled_count(scale, full_bytes, kLeastBytes) / 16 * 2;
}

// Copies within the memory of the device.  Ten copies in a row make the time of a launch vanish beside
// them.  Memory is cleared before each run, so that check() sees the words of the last run alone, and a
// kernel compares them, since a comparison on the host would take longer than all copies.  The bytes that
// count are those read and those written.  One owner thread.
class Copy final : public DeviceWorkload {
 public:
  Copy(const SharedGpu& device, const BenchSettings& settings)
      : DeviceWorkload(device),
        from_(*device, num_words(settings.scale, kFullBytes / 2)),
        to_(*device, from_.size()) {
    run_items(write_words, static_cast<uint64_t>(from_.size()), stream(), from_.data(),
              static_cast<uint64_t>(from_.size()));
  }

  void prepare() override { stream().fill(to_.data(), 0, to_.bytes()); }

  void run() override {
    time([&] {
      for (int i = 0; i < kCopies; ++i) stream().copy_on_device(to_.data(), from_.data(), to_.bytes());
    });
  }

  void check() override {
    const auto size = static_cast<uint64_t>(to_.size());
    const auto kinds =
        count([&](auto* out) { run_items(count_words, size, stream(), to_.data(), size, out); });
    expect_equal("words that differ", kinds.wrong, 0);
  }

  Work work() const override { return {.bytes = 2.0 * kCopies * static_cast<double>(to_.bytes())}; }

 private:
  static constexpr int kCopies = 10;
  gpu::DeviceArray<uint64_t> from_, to_;
};

// Copies between page-locked memory of the host and the memory of the device.  Page-locked memory is used
// because the device reads and writes it by itself, while pageable memory passes through a second copy in
// the driver.  Each direction begins with the words on one side and zeros on the other, and afterwards both
// sides must have the words.  One owner thread.
class HostLink final : public DeviceWorkload {
 public:
  HostLink(const SharedGpu& device, const BenchSettings& settings, bool to_device)
      : DeviceWorkload(device),
        to_device_(to_device),
        host_memory_(*device),
        on_host_(host_memory_, num_words(settings.scale, kFullBytes / 4)),
        on_device_(*device, on_host_.size()) {}

  void prepare() override {
    if (to_device_) {
      for (int64_t i = 0; i < on_host_.size(); ++i) on_host_.data()[i] = hash_key(static_cast<uint64_t>(i));
      stream().fill(on_device_.data(), 0, on_device_.bytes());
    } else {
      std::memset(on_host_.data(), 0, on_host_.bytes());
      run_items(write_words, size(), stream(), on_device_.data(), size());
    }
    stream().synchronize();
  }

  void run() override {
    time([&] {
      if (to_device_) {
        stream().copy_to_device(on_device_.data(), on_host_.data(), on_host_.bytes());
      } else {
        stream().copy_to_host(on_host_.data(), on_device_.data(), on_host_.bytes());
      }
    });
  }

  void check() override {
    const auto kinds =
        count([&](auto* out) { run_items(count_words, size(), stream(), on_device_.data(), size(), out); });
    uint64_t wrong = kinds.wrong;
    for (uint64_t i = 0; i < size(); ++i) wrong += on_host_.data()[i] != hash_key(i);
    expect_equal("words that differ", wrong, 0);
  }

  Work work() const override { return {.bytes = static_cast<double>(on_host_.bytes())}; }

 private:
  uint64_t size() const { return static_cast<uint64_t>(on_host_.size()); }

  const bool to_device_;
  gpu::HostMemory host_memory_;
  gpu::HostArray<uint64_t> on_host_;
  gpu::DeviceArray<uint64_t> on_device_;
};

// Returns the row that gather number `i` reads.
constexpr uint64_t gathered_row(uint64_t i, uint64_t rows) {
  return hash_key(~i) % rows;
}

// Copies a random row for each gather; each thread copies 16 bytes.  rows [num_rows, parts] -> out [gathers,
// parts], where a row has `parts` blocks of 16 bytes, and a hash draws its number.
__global__ void gather_rows(const Sixteen* rows, uint64_t num_rows, Sixteen* out, uint64_t gathers,
                            uint32_t parts) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= gathers * parts) return;
  out[i] = rows[gathered_row(i / parts, num_rows) * parts + i % parts];
}

// Counts the rows in words [gathers, width] that differ from the ones that gather_rows should have read; the
// words of the table are hash_key(0), hash_key(1), …
__global__ void count_gathered(const uint64_t* words, uint64_t num_rows, uint64_t gathers, uint32_t width,
                               RowKinds* kinds) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= gathers * width) return;
  const uint64_t expected = hash_key(gathered_row(i / width, num_rows) * width + i % width);
  if (words[i] != expected) gpu::atomic_add<gpu::Order::kRelaxed>(&kinds->wrong, 1);
}

// Copies rows at random offsets of 4 GiB, which no cache holds, into consecutive rows.  The rate is the
// limit of look-ups with rows of this size: a table cannot find its rows faster than a kernel that knows
// already where they are.  Threads of neighbouring blocks of 16 bytes read the same row, so that a warp
// asks for whole rows.  One owner thread.
class Gather final : public DeviceWorkload {
 public:
  Gather(const SharedGpu& device, const BenchSettings& settings, uint32_t row_bytes)
      : DeviceWorkload(device),
        parts_(row_bytes / sizeof(Sixteen)),
        num_rows_(scaled_count(settings.scale, 4 * kFullBytes, kLeastBytes) / row_bytes),
        gathers_(scaled_count(settings.scale, 1 << 22, 128)),
        words_(*device, num_rows_ * row_bytes / 8),
        out_(*device, gathers_ * row_bytes / 8) {
    const auto size = static_cast<uint64_t>(words_.size());
    run_items(write_words, size, stream(), words_.data(), size);
  }

  void prepare() override { stream().fill(out_.data(), 0, out_.bytes()); }

  void run() override {
    time([&] {
      run_items(gather_rows, gathers() * parts_, stream(), reinterpret_cast<const Sixteen*>(words_.data()),
                rows(), reinterpret_cast<Sixteen*>(out_.data()), gathers(), parts_);
    });
  }

  void check() override {
    const auto kinds = count([&](auto* out) {
      run_items(count_gathered, static_cast<uint64_t>(out_.size()), stream(), out_.data(), rows(), gathers(),
                2 * parts_, out);
    });
    expect_equal("words that differ", kinds.wrong, 0);
  }

  Work work() const override {
    return {.bytes = static_cast<double>(out_.bytes()), .items = static_cast<double>(gathers_)};
  }

 private:
  uint64_t rows() const { return static_cast<uint64_t>(num_rows_); }
  uint64_t gathers() const { return static_cast<uint64_t>(gathers_); }

  const uint32_t parts_;  // number of blocks of 16 bytes in a row
  const int64_t num_rows_, gathers_;
  gpu::DeviceArray<uint64_t> words_, out_;
};

__global__ void count_launch(uint64_t* launches) {
  if (blockIdx.x == 0 && threadIdx.x == 0) ++*launches;
}

// Launches kernels that do next to nothing.  The host waits for each of them, or for the last one alone.
// The first number is the rate at which the host can queue kernels, the second includes the way back, which
// is the price of any step whose next launch depends on a result.  One owner thread.
class Launch final : public DeviceWorkload {
 public:
  Launch(const SharedGpu& device, const BenchSettings& settings, bool waits)
      : DeviceWorkload(device),
        waits_(waits),
        launches_(scaled_count(settings.scale, 10000, 100)),
        clock_(settings.clock),
        counted_(*device, 1) {}

  void prepare() override {
    stream().fill(counted_.data(), 0, counted_.bytes());
    stream().synchronize();
  }

  // The clock of the host takes the time, since most of a launch is work of the host.
  void run() override {
    const double start = clock_();
    for (int64_t i = 0; i < launches_; ++i) {
      gpu::launch(count_launch, 1, gpu::kWarpSize, 0, stream(), counted_.data());
      if (waits_) stream().synchronize();
    }
    stream().synchronize();
    seconds_ = clock_() - start;
  }

  std::optional<double> seconds() const override { return seconds_; }

  void check() override {
    uint64_t counted = 0;
    stream().copy_to_host(&counted, counted_.data(), sizeof counted);
    stream().synchronize();
    expect_equal("launches", counted, static_cast<uint64_t>(launches_));
  }

  Work work() const override { return {.items = static_cast<double>(launches_)}; }

  std::vector<Figure> figures() const override {
    return {{"µs a launch", seconds_ / static_cast<double>(launches_) * 1e6}};
  }

 private:
  const bool waits_;
  const int64_t launches_;
  const Clock clock_;
  gpu::DeviceArray<uint64_t> counted_;
  double seconds_ = 0;
};

}  // namespace

// The rows of 32, 64 and 256 bytes are one sector of a device's memory, two, and eight: narrow rows are
// limited by the number of accesses, and wide ones by bytes.
std::vector<Benchmark> device_limits(const SharedGpu& device) {
  return {{.name = "gpu/copy",
           .help = "memory of the device copied: bytes read and bytes written",
           .unit = "B",
           .make = make_on<Copy>(device)},
          {.name = "gpu/rows-32",
           .help = "rows of 32 B read at random places, and written one behind the other",
           .unit = "rows",
           .make = make_on<Gather>(device, 32u)},
          {.name = "gpu/rows-64",
           .help = "rows of 64 B, likewise",
           .unit = "rows",
           .make = make_on<Gather>(device, 64u)},
          {.name = "gpu/rows-256",
           .help = "rows of 256 B, likewise",
           .unit = "rows",
           .make = make_on<Gather>(device, 256u)},
          {.name = "gpu/to-device",
           .help = "page-locked memory of the host copied to the device",
           .unit = "B",
           .make = make_on<HostLink>(device, true)},
          {.name = "gpu/from-device",
           .help = "memory of the device copied to the host, page-locked",
           .unit = "B",
           .make = make_on<HostLink>(device, false)},
          {.name = "gpu/launch",
           .help = "kernels of one warp, queued one after the other",
           .unit = "launches",
           .make = make_on<Launch>(device, false)},
          {.name = "gpu/launch/waited-for",
           .help = "kernels of one warp, each waited for by the host",
           .unit = "launches",
           .make = make_on<Launch>(device, true)}};
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
