// Fence: tells a server if another server has replaced it.  A server that was paused or disconnected for so
// long that it was replaced must not answer requests any more, nor touch a checkpoint: it is fenced.
// Used by ShardServer.  Implemented by FileFence and EtcdFence; ServerLease makes them.
#ifndef PS_MEMBERSHIP_FENCE_H_
#define PS_MEMBERSHIP_FENCE_H_

namespace ps {

// Any thread may call it.
class Fence {
 public:
  virtual ~Fence() = default;

  // To be called before the process serves as server number `server` of the job.  Throws kUnavailable while
  // it is unknown if another such server is alive, kFenced if one is, and kUsage if this process has another
  // number.
  virtual void claim(int server) = 0;

  // To be called before every answer; in most calls it only compares two times.  Throws kFenced.
  virtual void check() = 0;
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_FENCE_H_
