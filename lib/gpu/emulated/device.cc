#include "gpu/emulated/device.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "gpu/emulated/grid_run.h"

namespace ps::gpu::emulated {

namespace {

// Opens the memory of a device to the work of a stream for its own lifetime.
class OpenMemory {
 public:
  explicit OpenMemory(const DeviceMemory& memory) : memory_(memory) { memory_.open(); }
  ~OpenMemory() {
    if (!closed_) close_after_error();
  }
  void close() {
    closed_ = true;
    memory_.close();
  }

 private:
  // Closes the memory without an error of its own, since the error that is being thrown says more than an
  // overwritten guard strip.
  void close_after_error() noexcept {
    try {
      memory_.close();
    } catch (const Error&) {
    }
  }

  const DeviceMemory& memory_;
  bool closed_ = false;
};

// Copies bytes.  Pointers of an empty copy may be null, which memmove does not allow.
void copy_bytes(void* to, const void* from, uint64_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

void check_extent(const char* what, const Extent& asked, const Extent& limit) {
  const auto outside = [](unsigned n, unsigned most) { return n == 0 || n > most; };
  if (outside(asked.x, limit.x) || outside(asked.y, limit.y) || outside(asked.z, limit.z)) {
    fail(Code::kInternal, "cannot launch: ", what, " of ", asked.x, " x ", asked.y, " x ", asked.z,
         ", expected from 1 to ", limit.x, " x ", limit.y, " x ", limit.z);
  }
}

}  // namespace

Device::Device(EmulatorOptions options) : options_(options), memory_(options.memory_bytes) {
  PS_CHECK(options.resident_blocks > 0);
}

void* Device::allocate(uint64_t bytes) {
  for (Stream* stream : streams_) stream->refuse_capture("allocate device memory");
  return memory_.allocate(bytes);
}

// A stream throws the error of a release later; without one, the process ends.
void Device::release(void* memory) noexcept {
  for (Stream* stream : streams_) stream->settle();
  try {
    memory_.release(memory);
    for (Stream* stream : streams_) stream->refuse_capture("release device memory");
  } catch (...) {
    PS_CHECK(!streams_.empty());
    if (std::exception_ptr& error = streams_.front()->error_; !error) error = std::current_exception();
  }
}

DeviceMemoryInfo Device::memory() const {
  return memory_.info();
}

// The n-th number of a device depends on (seed, n) alone, so that a seed gives the same order again.
uint64_t Device::draw() {
  return hash_key(options_.seed ^ 0x5851f42d4c957f2dULL * ++num_drawn_);
}

void Device::note_wait() const {
  if (options_.on_wait) options_.on_wait();
}

// Runs none, one or two items of random streams, so that work may run at any moment between its queueing
// and the wait for it, and programs that need a wait they do not have are caught.
void Device::run_some() {
  if (options_.stream_order != StreamOrder::kRandom) return;
  for (uint64_t turns = draw() % 3; turns > 0; --turns) {
    Stream* stream = streams_[draw() % streams_.size()];
    if (stream->can_run()) stream->run_first();
  }
}

Stream::Stream(Device& device) : device_(device) {
  device_.streams_.push_back(this);
}

Stream::~Stream() {
  settle();
  std::erase(device_.streams_, this);
}

// Errors are kept for the next wait for this stream, since release and the destructor cannot throw them.
void Stream::settle() noexcept {
  try {
    run_until_empty();
  } catch (...) {
    if (error_ == nullptr) error_ = std::current_exception();
  }
}

// Returns true unless the first item waits for an event whose stream has not reached it.
bool Stream::can_run() const {
  return !queue_.empty() &&
         (queue_.front().waits_for == nullptr || queue_.front().waits_for->stream == nullptr);
}

void Stream::push(Item item) {
  queue_.push_back(std::move(item));
  device_.run_some();
}

void Stream::run_first() {
  Item item = std::move(queue_.front());
  queue_.pop_front();
  // A ticket without a stream is an event that has happened.
  if (item.records != nullptr) item.records->stream = nullptr;
  if (!item.work) return;
  try {
    item.work();
  } catch (...) {
    drop_all();
    throw;
  }
}

// Drops all work of the queue, and marks its events as done, so that no stream waits for them for ever.
void Stream::drop_all() noexcept {
  for (const Item& item : queue_) {
    if (item.records != nullptr) item.records->stream = nullptr;
  }
  queue_.clear();
}

// Runs the first work of this stream.  When that waits for an event of another stream, perhaps of another device, that
// stream runs first.
void Stream::run_next() {
  device_.run_some();
  if (can_run()) return run_first();
  if (queue_.empty()) return;
  Stream* other = queue_.front().waits_for->stream;
  if (other->can_run()) {
    other->run_first();
  } else {
    other->run_until_empty();
  }
}

void Stream::run_until_empty() {
  while (!queue_.empty()) run_next();
}

// Returns true if `work` is captured, and so not to be queued.
bool Stream::captures(std::function<void(Stream&)> work) {
  if (captured_ == nullptr) return false;
  captured_->work_.push_back(std::move(work));
  return true;
}

void Stream::refuse_capture(const char* what) {
  if (captured_ == nullptr) return;
  spoilt_ = true;
  fail(Code::kInternal, "cannot ", what, " while work is captured");
}

void Stream::begin_capture() {
  refuse_capture("begin a capture");
  captured_ = std::make_unique<Graph>();
  spoilt_ = false;
}

Graph Stream::end_capture() {
  if (captured_ == nullptr) fail(Code::kInternal, "no work is captured");
  const std::unique_ptr<Graph> captured = std::move(captured_);
  if (spoilt_) fail(Code::kInternal, "cannot capture work: a call was made that no capture allows");
  return std::move(*captured);
}

void Stream::replay(const Graph& graph) {
  refuse_capture("replay a graph");
  for (const auto& work : graph.work_) work(*this);
}

void Stream::synchronize() {
  refuse_capture("wait for a stream");
  if (!queue_.empty()) device_.note_wait();
  run_until_empty();
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Stream::enqueue(std::function<void()> work) {
  if (captures([work](Stream& to) { to.enqueue(work); })) return;
  push({[this, work = std::move(work)] {
          OpenMemory open(device_.memory_);
          work();
          open.close();
        },
        nullptr, nullptr});
}

// Limits are checked now, as CUDA reports a bad launch at once.  The seed is drawn now too, so that the
// order inside a kernel does not depend on the moment at which the stream runs it.
void Stream::enqueue_kernel(Extent grid, Extent block, uint32_t shared_bytes, std::function<void()> kernel,
                            std::function<void(const Stream&)> check_pointers) {
  check_pointers(*this);
  const DeviceLimits& limits = device_.limits();
  check_extent("a grid", grid, limits.grid);
  check_extent("a block", block, limits.block);
  if (block.count() > limits.threads_per_block) {
    fail(Code::kInternal, "cannot launch: a block of ", block.count(), " threads, expected at most ",
         limits.threads_per_block);
  }
  if (shared_bytes > limits.shared_bytes) {
    fail(Code::kInternal, "cannot launch: ", shared_bytes, " bytes of shared memory, expected at most ",
         limits.shared_bytes);
  }
  const auto again = [=](Stream& to) {
    to.enqueue_kernel(grid, block, shared_bytes, kernel, check_pointers);
  };
  if (captures(again)) return;
  const uint64_t seed = hash_key(device_.options_.seed + 0x9e3779b97f4a7c15u * device_.num_launches_++);
  enqueue([this, seed, shape = LaunchShape{grid, block, shared_bytes}, kernel = std::move(kernel)] {
    GridRun(device_.options_, seed, device_.pool_).run(shape, kernel);
  });
}

void Stream::check_on_device(const void* data, uint64_t bytes) const {
  if (data == nullptr && bytes == 0) return;
  if (!device_.memory_.holds(data, bytes)) {
    fail(Code::kInternal, "a pointer to ", bytes, " bytes is not into one array of the stream's device");
  }
}

void Stream::copy_to_device(void* to, const void* from, uint64_t bytes) {
  check_on_device(to, bytes);
  if (device_.memory_.touches(from, bytes)) fail(Code::kInternal, "a copy to a device comes from a device");
  if (captures([=](Stream& stream) { stream.copy_to_device(to, from, bytes); })) return;
  device_.num_host_bytes_ += bytes;
  enqueue([=] { copy_bytes(to, from, bytes); });
}

void Stream::copy_to_host(void* to, const void* from, uint64_t bytes) {
  check_on_device(from, bytes);
  if (device_.memory_.touches(to, bytes)) fail(Code::kInternal, "a copy to the host goes to a device");
  if (captures([=](Stream& stream) { stream.copy_to_host(to, from, bytes); })) return;
  device_.num_host_bytes_ += bytes;
  enqueue([=] { copy_bytes(to, from, bytes); });
}

void Stream::copy_on_device(void* to, const void* from, uint64_t bytes) {
  check_on_device(to, bytes);
  check_on_device(from, bytes);
  if (captures([=](Stream& stream) { stream.copy_on_device(to, from, bytes); })) return;
  enqueue([=] { copy_bytes(to, from, bytes); });
}

void Stream::copy_from_device(void* to, Device& other, const void* from, uint64_t bytes) {
  check_on_device(to, bytes);
  if (!other.memory_.holds(from, bytes))
    fail(Code::kInternal, "a copy between devices comes from no array of the other");
  if (captures([=, &other](Stream& stream) { stream.copy_from_device(to, other, from, bytes); })) return;
  ++device_.num_copies_from_devices_;
  // The stream's own memory is open while its work runs, and the other device's just for this copy.
  enqueue([=, &other] {
    OpenMemory open(other.memory_);
    copy_bytes(to, from, bytes);
    open.close();
  });
}

void Stream::fill(void* to, unsigned char byte, uint64_t bytes) {
  check_on_device(to, bytes);
  if (captures([=](Stream& stream) { stream.fill(to, byte, bytes); })) return;
  enqueue([=] { std::memset(to, byte, bytes); });
}

void Stream::record(Event& event) {
  refuse_capture("record an event");
  event.ticket_ = std::make_shared<Event::Ticket>(Event::Ticket{this});
  push({nullptr, nullptr, event.ticket_});
}

void Event::synchronize() const {
  if (ticket_ != nullptr && ticket_->stream != nullptr) ticket_->stream->device().note_wait();
  while (ticket_ != nullptr && ticket_->stream != nullptr) ticket_->stream->run_next();
}

void Stream::wait(const Event& event) {
  refuse_capture("wait for an event");
  if (event.ticket_ != nullptr) push({nullptr, event.ticket_, nullptr});
}

std::string Device::description() const {
  return cat("emulated on the processor, whose times mean nothing, ", human_bytes(memory().total_bytes));
}

constexpr std::align_val_t kHostAlignment{256};

void* HostMemory::allocate(uint64_t bytes) {
  return ::operator new(bytes, kHostAlignment);
}

void HostMemory::release(void* memory) noexcept {
  ::operator delete(memory, kHostAlignment);
}

void Timer::start(Stream& stream) {
  stream.enqueue([points = points_] { points->begin = monotonic_seconds(); });
}

void Timer::stop(Stream& stream) {
  stream.enqueue([points = points_] { points->end = monotonic_seconds(); });
  stream_ = &stream;
}

double Timer::seconds() const {
  PS_CHECK(stream_ != nullptr);
  stream_->synchronize();
  return points_->end - points_->begin;
}

}  // namespace ps::gpu::emulated
