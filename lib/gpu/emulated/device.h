// Device, DeviceArray, HostArray, Stream, Event, Graph, Timer and launch of the emulator: the host's side of
// gpu/device.h, with the same names as its CUDA half.  Used by code that owns device memory or launches kernels.
//
// A device belongs to one thread of the process, and so do its arrays, streams and events; other threads may
// have other devices.  Work is queued on streams, and runs when its stream is waited for, or at random
// moments before.
#ifndef PS_GPU_EMULATED_DEVICE_H_
#define PS_GPU_EMULATED_DEVICE_H_

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "gpu/device_array.h"
#include "gpu/emulated/device_memory.h"
#include "gpu/emulated/device_thread.h"
#include "gpu/emulated/options.h"
#include "gpu/shape.h"

namespace ps::gpu::emulated {

class Graph;
class Stream;
struct LaunchShape;

// One owner thread.  It must outlive its arrays, streams and events.
class Device {
 public:
  explicit Device(EmulatorOptions options = {});
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Allocates uninitialised memory, aligned to 256 bytes.  Throws kExhausted.
  void* allocate(uint64_t bytes);

  // First waits for all work of the device, as CUDA does.  Errors of that work are thrown when their streams
  // are waited for, and errors of the memory, such as a write past its end, when the first stream is.
  void release(void* memory) noexcept;

  DeviceMemoryInfo memory() const;
  const DeviceLimits& limits() const { return options_.limits; }

  // Returns true if [data, data + bytes) lies in one array of the device.
  bool holds(const void* data, uint64_t bytes) const { return memory_.holds(data, bytes); }

  // Return how many kernels, copies from other devices, and bytes of copies from and to the host have been queued so
  // far.
  uint64_t num_launches() const { return num_launches_; }
  uint64_t num_copies_from_devices() const { return num_copies_from_devices_; }
  uint64_t num_host_bytes() const { return num_host_bytes_; }

  // Returns the name of the device, and further properties on which its times depend.
  std::string description() const;

 private:
  friend class Event;
  friend class Stream;
  uint64_t draw();
  void note_wait() const;
  void run_some();  // runs work of random streams, if the order of streams is random

  const EmulatorOptions options_;
  DeviceMemory memory_;
  ThreadPool pool_;
  std::vector<Stream*> streams_;
  uint64_t num_launches_ = 0, num_copies_from_devices_ = 0, num_host_bytes_ = 0, num_drawn_ = 0;
};

// `size` values in the memory of a device.
template <class T>
using DeviceArray = ArrayOn<Device, T>;

// Memory of the host that stays in place, so that a device can copy to and from it without the processor.  Must
// outlive its arrays.
class HostMemory {
 public:
  explicit HostMemory(Device&) {}
  void* allocate(uint64_t bytes);  // aligned to 256 bytes
  void release(void* memory) noexcept;
};

// `size` values in such memory.
template <class T>
using HostArray = ArrayOn<HostMemory, T>;

// A point in the work of a stream.  Another stream, or the host, can wait until all work before it is done.
class Event {
 public:
  explicit Event(Device&) {}

  void synchronize() const;  // the host waits; errors of the work before it are thrown

 private:
  friend class Stream;
  struct Ticket {
    Stream* stream;  // the stream in which it was recorded; null when done
  };
  std::shared_ptr<Ticket> ticket_;  // the last record; null: never recorded, so that waits return at once
};

// A queue of work of one device, which runs in order.  Sizes are in bytes.  Wrong arguments of a launch or a
// copy throw kInternal when it is queued; errors during the work are thrown when it runs.  An error empties
// the queue.
class Stream {
 public:
  explicit Stream(Device& device);
  ~Stream();  // waits for all work, and drops its errors
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device() const { return device_; }

  // The host must not change its memory until the stream has been waited for.
  void copy_to_device(void* to, const void* from, uint64_t bytes);
  void copy_to_host(void* to, const void* from, uint64_t bytes);
  void copy_on_device(void* to, const void* from, uint64_t bytes);
  void copy_from_device(void* to, Device& other, const void* from, uint64_t bytes);
  void fill(void* to, unsigned char byte, uint64_t bytes);

  void record(Event& event);
  void wait(const Event& event);  // work queued from now on runs after the event
  void synchronize();

  // From begin_capture on, work becomes part of a graph instead of being queued, until end_capture returns the
  // graph.  Meanwhile it is an error to wait for the stream, to record or wait for an event in it, and to allocate
  // or release memory of its device; end_capture then throws too.  replay queues the work of a graph of this
  // stream's device, with the same arguments; they are checked again.
  void begin_capture();
  Graph end_capture();
  void replay(const Graph& graph);

  // Queues `work`, which may touch device memory while it runs.  Used by launch and algorithms. check_pointers
  // throws unless the arguments of the kernel are in memory of the stream's device.
  void enqueue(std::function<void()> work);
  void enqueue_kernel(Extent grid, Extent block, uint32_t shared_bytes, std::function<void()> kernel,
                      std::function<void(const Stream&)> check_pointers);

  // Throws kInternal unless [data, data + bytes) is memory of this device, and so can be used by kernels;
  // null never is.
  void check_on_device(const void* data, uint64_t bytes) const;

 private:
  friend class Device;
  friend class Event;
  // An item is work, a wait for an event, or the record of an event.
  struct Item {
    std::function<void()> work;
    std::shared_ptr<Event::Ticket> waits_for, records;
  };
  bool captures(std::function<void(Stream&)> work);
  void refuse_capture(const char* what);
  void settle() noexcept;
  bool can_run() const;
  void push(Item item);
  void run_first();
  void run_next();
  void run_until_empty();
  void drop_all() noexcept;

  Device& device_;
  std::deque<Item> queue_;
  std::exception_ptr error_;         // error of finished work, to be thrown by the next wait
  std::unique_ptr<Graph> captured_;  // null: work is queued
  bool spoilt_ = false;              // a call that no capture allows was made in this one
};

// Work that was captured from a stream, to be queued again and again as one.  It uses the memory of its work, which must
// be there whenever it is queued.
class Graph {
 public:
  size_t size() const { return work_.size(); }  // pieces of work: kernels, copies and fills

 private:
  friend class Stream;
  std::vector<std::function<void(Stream&)>> work_;
};

// The time between two points of one stream.
class Timer {
 public:
  explicit Timer(Device&) {}

  void start(Stream& stream);
  void stop(Stream& stream);
  double seconds() const;  // waits until the second point has been reached

 private:
  struct Points {
    double begin = 0, end = 0;
  };
  const std::shared_ptr<Points> points_ = std::make_shared<Points>();
  Stream* stream_ = nullptr;
};

// Runs kernel(arguments...) on grid x block threads.  Arguments are copied when this is called; pointers
// among them must point to memory of the stream's device.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), Extent grid, Extent block, uint32_t shared_bytes, Stream& stream,
            Arguments&&... arguments) {
  std::tuple<std::remove_const_t<Parameters>...> values(static_cast<Parameters>(arguments)...);
  const auto check_all = [values](const Stream& on) {
    const auto check = [&on](const auto& value) {
      if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(value)>>) on.check_on_device(value, 0);
    };
    std::apply([&](const auto&... each) { (check(each), ...); }, values);
  };
  stream.enqueue_kernel(
      grid, block, shared_bytes, [kernel, values] { std::apply(kernel, values); }, check_all);
}

}  // namespace ps::gpu::emulated

#endif  // PS_GPU_EMULATED_DEVICE_H_
