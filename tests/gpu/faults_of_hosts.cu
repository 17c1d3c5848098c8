// Faults of the host: streams, events, copies, launches.
#include <vector>

#include "gpu/counting.h"
#include "gpu/device_data.h"
#include "gpu/scenario.h"

namespace ps {

namespace {

constexpr unsigned kThreads = 32;

__global__ void double_values(const int* in, int* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}

bool is_doubled(const std::vector<int>& found) {
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] != 2 * (static_cast<int>(i) + 1)) return false;
  }
  return true;
}

// One stream copies, another computes.
bool lost_event(gpu::Device& device, bool faulty) {
  gpu::Stream copying(device), computing(device);
  gpu::Event copied(device);
  const std::vector<int> values = counting(40);
  auto in = upload(copying, values);
  copying.record(copied);
  auto out = filled<int>(computing, 40, 0);
  if (!faulty) computing.wait(copied);
  gpu::launch(double_values, 2, kThreads, 0, computing, in.data(), out.data(), 40u);
  const bool right = is_doubled(download(computing, out));
  copying.synchronize();
  return right;
}

// An event that is recorded before the work that it stands for.
bool event_recorded_early(gpu::Device& device, bool faulty) {
  gpu::Stream copying(device), computing(device);
  gpu::Event copied(device);
  const std::vector<int> values = counting(40);
  gpu::DeviceArray<int> in(device, 40), out(device, 40);
  if (faulty) copying.record(copied);
  copying.copy_to_device(in.data(), values.data(), in.bytes());
  if (!faulty) copying.record(copied);
  computing.wait(copied);
  gpu::launch(double_values, 2, kThreads, 0, computing, in.data(), out.data(), 40u);
  const bool right = is_doubled(download(computing, out));
  copying.synchronize();
  return right;
}

bool read_before_waiting(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(40);
  auto in = upload(stream, values), out = filled<int>(stream, 40, 0);
  gpu::launch(double_values, 2, kThreads, 0, stream, in.data(), out.data(), 40u);
  std::vector<int> found(40);
  stream.copy_to_host(found.data(), out.data(), out.bytes());
  if (!faulty) stream.synchronize();
  const bool right = is_doubled(found);
  stream.synchronize();
  return right;
}

bool change_before_waiting(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  std::vector<int> values = counting(40);
  auto in = upload(stream, values), out = filled<int>(stream, 40, 0);
  if (!faulty) stream.synchronize();
  values.assign(40, 0);
  gpu::launch(double_values, 2, kThreads, 0, stream, in.data(), out.data(), 40u);
  return is_doubled(download(stream, out));
}

bool copy_in_the_wrong_direction(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  std::vector<int> values = counting(40);
  gpu::DeviceArray<int> in(device, 40);
  if (faulty) {
    stream.copy_to_host(in.data(), values.data(), in.bytes());
  } else {
    stream.copy_to_device(in.data(), values.data(), in.bytes());
  }
  return download(stream, in) == values;
}

bool pointer_of_the_host(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(40);
  auto in = upload(stream, values), out = filled<int>(stream, 40, 0);
  gpu::launch(double_values, 2, kThreads, 0, stream, faulty ? values.data() : in.data(), out.data(), 40u);
  return is_doubled(download(stream, out));
}

bool use_after_release(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(40);
  auto in = upload(stream, values), out = filled<int>(stream, 40, 0);
  stream.synchronize();
  const int* const data = in.data();
  if (faulty) in = {};
  gpu::launch(double_values, 2, kThreads, 0, stream, data, out.data(), 40u);
  return is_doubled(download(stream, out));
}

bool copy_past_an_end(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(41);
  gpu::DeviceArray<int> in(device, 40), out(device, 40);
  stream.copy_to_device(in.data(), values.data(), (faulty ? 41 : 40) * sizeof(int));
  gpu::launch(double_values, 2, kThreads, 0, stream, in.data(), out.data(), 40u);
  return is_doubled(download(stream, out));
}

bool grid_rounded_down(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(40);
  auto in = upload(stream, values), out = filled<int>(stream, 40, 0);
  gpu::launch(double_values, faulty ? 40 / kThreads : gpu::blocks_for(40, kThreads), kThreads, 0, stream,
              in.data(), out.data(), 40u);
  return is_doubled(download(stream, out));
}

bool grid_of_no_blocks(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  gpu::DeviceArray<int> none(device, 0);
  gpu::launch(double_values, faulty ? 0 : gpu::blocks_for(0, kThreads), kThreads, 0, stream, none.data(),
              none.data(), 0u);
  return is_doubled(download(stream, none));
}

bool read_on_the_host(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(40);
  auto in = upload(stream, values);
  const std::vector<int> copy = download(stream, in);
  return (faulty ? in.data() : copy.data())[7] == 8;
}

// Arrays of several sizes doubled by one launch: a block finds its array by the numbers of the arrays' first blocks.
struct Parts {
  unsigned first_blocks[3], sizes[3];
  const int* in[3];
  int* out[3];
};

__global__ void double_parts(Parts parts, bool faulty) {
  unsigned at = 0;
  while (at < 2 &&
         (faulty ? parts.first_blocks[at + 1] < blockIdx.x : parts.first_blocks[at + 1] <= blockIdx.x))
    ++at;
  const unsigned i = (blockIdx.x - parts.first_blocks[at]) * blockDim.x + threadIdx.x;
  if (i < parts.sizes[at]) parts.out[at][i] = 2 * parts.in[at][i];
}

bool block_of_the_table_before(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  const std::vector<int> values = counting(70);
  auto in = upload(stream, values);
  auto first = filled<int>(stream, 40, 0), second = filled<int>(stream, 32, 0),
       third = filled<int>(stream, 70, 0);
  const Parts parts = {{0, 2, 3},
                       {40, 32, 70},
                       {in.data(), in.data(), in.data()},
                       {first.data(), second.data(), third.data()}};
  gpu::launch(double_parts, 6, kThreads, 0, stream, parts, faulty);
  return is_doubled(download(stream, first)) && is_doubled(download(stream, second)) &&
         is_doubled(download(stream, third));
}

// Two calls whose numbers go to the device from the same page-locked memory, which the second call writes to before the copy of
// the first is done.
bool page_locked_memory_changed_early(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  gpu::HostMemory memory(device);
  gpu::HostArray<int> staged(memory, 40);
  gpu::Event copied(device);
  gpu::DeviceArray<int> in(device, 40);
  auto first = filled<int>(stream, 40, 0), second = filled<int>(stream, 40, 0);
  for (auto* out : {&first, &second}) {
    if (!faulty) copied.synchronize();
    for (int i = 0; i < 40; ++i) staged.data()[i] = out == &first ? i + 1 : 2 * (i + 1);
    stream.copy_to_device(in.data(), staged.data(), in.bytes());
    stream.record(copied);
    gpu::launch(double_values, 2, kThreads, 0, stream, in.data(), out->data(), 40u);
  }
  return is_doubled(download(stream, first));
}

// No work follows the write, so that the release of the array is the last chance to see it.
bool write_past_an_end_on_the_host(gpu::Device& device, bool faulty) {
  gpu::Stream stream(device);
  {
    gpu::DeviceArray<int> array(device, 40);
    volatile int* const end = array.data() + array.size();
    if (faulty) *end = 7;
  }
  stream.synchronize();
  return true;
}

constexpr Scenario kScenarios[] = {
    {"lost_event", lost_event, kWrong, kWrong, kWrong},
    {"event_recorded_early", event_recorded_early, kWrong, kWrong, kWrong},
    {"read_before_waiting", read_before_waiting, kWrong, kWrong, kWrong},
    {"change_before_waiting", change_before_waiting, kWrong, kWrong, kWrong},
    {"block_of_the_table_before", block_of_the_table_before, kWrong, kWrong, kWrong},
    {"page_locked_memory_changed_early", page_locked_memory_changed_early, kWrong, kWrong, kWrong},
    {"copy_in_the_wrong_direction", copy_in_the_wrong_direction, "is not into one array", "is not into",
     "is not into"},
    {"pointer_of_the_host", pointer_of_the_host, "is not into one array", "is not into", "is not into"},
    {"use_after_release", use_after_release, "is not into one array", "is not into", "is not into"},
    {"copy_past_an_end", copy_past_an_end, "164 bytes is not into one array", "is not into", "is not into"},
    {"grid_rounded_down", grid_rounded_down, kWrong, kWrong, kWrong},
    {"grid_of_no_blocks", grid_of_no_blocks, "a grid of 0 x 1 x 1, expected from 1", "a grid of 0",
     "a grid of 0"},
    {"read_on_the_host", read_on_the_host, nullptr, kPoisoned, nullptr},
    {"write_past_an_end_on_the_host", write_past_an_end_on_the_host, kPastEnd, kPoisoned, kPastEnd},
};

}  // namespace

std::span<const Scenario> faults_of_hosts() {
  return kScenarios;
}

}  // namespace ps
