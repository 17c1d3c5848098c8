// Device, DeviceArray, HostArray, Stream, Event, Graph, Timer and launch for CUDA: the host's side of gpu/device.h.
// gpu/emulated/device.h documents them.  A CUDA call that fails throws kInternal with CUDA's message, or
// kExhausted for lack of memory.
#ifndef PS_GPU_CUDA_DEVICE_H_
#define PS_GPU_CUDA_DEVICE_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "gpu/device_array.h"
#include "gpu/shape.h"

namespace ps::gpu::cuda_runtime {

// Throws unless the call succeeded.  CUDA remembers the error too and would report it to the next query; this
// clears it there.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  fail(status == cudaErrorMemoryAllocation ? Code::kExhausted : Code::kInternal, what, ": ",
       cudaGetErrorString(status));
}

class Device {
 public:
  explicit Device(int ordinal = 0) : ordinal_(ordinal) {
    check(cudaSetDevice(ordinal), "cannot use the device");
    int processors = 0, threads = 0;
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ordinal),
          "cannot ask the device");
    check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, ordinal),
          "cannot ask the device");
    limits_.resident_threads = static_cast<uint32_t>(processors) * static_cast<uint32_t>(threads);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Makes this the current device of the calling thread.  It is checked first, since the device nearly always
  // is the current one, and the check takes a hundredth of the time.
  void use() const {
    int current = -1;
    if (cudaGetDevice(&current) == cudaSuccess && current == ordinal_) return;
    check(cudaSetDevice(ordinal_), "cannot use the device");
  }

  // Lets this device read another's memory itself, where the two are linked.  Copies between others pass host memory.
  void reach(const Device& other) {
    if (other.ordinal_ == ordinal_) return;
    use();
    int linked = 0;
    check(cudaDeviceCanAccessPeer(&linked, ordinal_, other.ordinal_), "cannot ask the device");
    if (linked == 0) return;
    const cudaError_t status = cudaDeviceEnablePeerAccess(other.ordinal_, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) return void(cudaGetLastError());  // which forgets it
    check(status, "cannot reach another device");
  }

  void* allocate(uint64_t bytes) {
    use();
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes == 0 ? 1 : bytes), "no device memory");
    return memory;
  }
  void release(void* memory) noexcept { cudaFree(memory); }

  DeviceMemoryInfo memory() const {
    use();
    size_t free_bytes = 0, total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "cannot ask for the device's memory");
    return {free_bytes, total_bytes};
  }
  const DeviceLimits& limits() const { return limits_; }
  int ordinal() const { return ordinal_; }

  std::string description() const {
    cudaDeviceProp properties;
    int driver = 0, runtime = 0;
    check(cudaGetDeviceProperties(&properties, ordinal_), "cannot ask the device");
    check(cudaDriverGetVersion(&driver), "cannot ask for the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "cannot ask for the runtime's version");
    const auto version = [](int number) { return cat(number / 1000, ".", number % 1000 / 10); };
    return cat(properties.name, ", ", properties.multiProcessorCount, " multiprocessors, ",
               human_bytes(properties.totalGlobalMem), ", CUDA driver ", version(driver), ", runtime ",
               version(runtime));
  }

 private:
  const int ordinal_;
  DeviceLimits limits_;
};

// `size` values in the memory of a device.
template <class T>
using DeviceArray = ArrayOn<Device, T>;

class HostMemory {
 public:
  explicit HostMemory(Device& device) : device_(device) {}
  void* allocate(uint64_t bytes) {
    device_.use();
    void* memory = nullptr;
    check(cudaMallocHost(&memory, bytes == 0 ? 1 : bytes), "no page-locked memory");
    return memory;
  }
  void release(void* memory) { check(cudaFreeHost(memory), "cannot release page-locked memory"); }

 private:
  Device& device_;
};

template <class T>
using HostArray = ArrayOn<HostMemory, T>;

class Event {
 public:
  explicit Event(Device& device) {
    device.use();
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cannot make an event");
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaEvent_t get() const { return event_; }
  void synchronize() const { check(cudaEventSynchronize(event_), "device"); }

 private:
  cudaEvent_t event_ = nullptr;
};

class Graph {
 public:
  Graph(Graph&& other) noexcept
      : executable_(std::exchange(other.executable_, nullptr)), size_(other.size_) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(executable_, other.executable_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }

  size_t size() const { return size_; }

 private:
  friend class Stream;

  // Takes the graph over, and makes it ready to be started.
  explicit Graph(cudaGraph_t captured) {
    const cudaError_t counted = cudaGraphGetNodes(captured, nullptr, &size_);
    const cudaError_t made = cudaGraphInstantiate(&executable_, captured, 0);
    cudaGraphDestroy(captured);
    check(counted, "cannot count captured work");
    check(made, "cannot make a graph of captured work");
  }

  cudaGraphExec_t executable_ = nullptr;
  size_t size_ = 0;
};

class Stream {
 public:
  explicit Stream(Device& device) : device_(device) {
    device.use();
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cannot make a stream");
  }
  ~Stream() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device() const { return device_; }
  cudaStream_t get() const { return stream_; }

  void copy_to_device(void* to, const void* from, uint64_t bytes) {
    copy(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void copy_to_host(void* to, const void* from, uint64_t bytes) {
    copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  void copy_on_device(void* to, const void* from, uint64_t bytes) {
    copy(to, from, bytes, cudaMemcpyDeviceToDevice);
  }
  void copy_from_device(void* to, Device& other, const void* from, uint64_t bytes) {
    check(cudaMemcpyPeerAsync(to, device_.ordinal(), from, other.ordinal(), bytes, stream_),
          "cannot copy between devices");
  }
  void fill(void* to, unsigned char byte, uint64_t bytes) {
    device_.use();
    check(cudaMemsetAsync(to, byte, bytes, stream_), "cannot fill device memory");
  }

  void record(Event& event) { check(cudaEventRecord(event.get(), stream_), "cannot record an event"); }
  void wait(const Event& event) {
    check(cudaStreamWaitEvent(stream_, event.get()), "cannot wait for an event");
  }
  void synchronize() { check(cudaStreamSynchronize(stream_), "device"); }

  // Calls of other threads do not spoil the capture.
  void begin_capture() {
    device_.use();
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cannot begin a capture");
  }
  Graph end_capture() {
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(stream_, &captured), "cannot capture work");
    return Graph(captured);
  }
  void replay(const Graph& graph) {
    check(cudaGraphLaunch(graph.executable_, stream_), "cannot start a graph");
  }

  // Does nothing: only the emulator checks pointers; on CUDA a kernel faults.
  void check_on_device(const void*, uint64_t) const {}

 private:
  void copy(void* to, const void* from, uint64_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "cannot copy");
  }

  Device& device_;
  cudaStream_t stream_ = nullptr;
};

class Timer {
 public:
  explicit Timer(Device& device) {
    device.use();
    check(cudaEventCreate(&begin_), "cannot make an event");
    check(cudaEventCreate(&end_), "cannot make an event");
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start(Stream& stream) { check(cudaEventRecord(begin_, stream.get()), "cannot record an event"); }
  void stop(Stream& stream) { check(cudaEventRecord(end_, stream.get()), "cannot record an event"); }
  double seconds() const {
    float milliseconds = 0;
    check(cudaEventSynchronize(end_), "device");
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cannot tell the time between events");
    return milliseconds / 1e3;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace ps::gpu::cuda_runtime

#endif  // PS_GPU_CUDA_DEVICE_H_
