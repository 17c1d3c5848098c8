// Fence: how a server knows that another one has not taken its place.  A server that was paused, or cut off,
// for so long that it was replaced must not answer anybody any more, nor touch a checkpoint: it is fenced.
// Used by ShardServer.  Implemented by FileFence and EtcdFence; ServerLease makes them.
#ifndef PS_MEMBERSHIP_FENCE_H_
#define PS_MEMBERSHIP_FENCE_H_

namespace ps {

// Any thread.
class Fence {
 public:
  virtual ~Fence() = default;

  // To be called before anybody is served as server number `server` of the job.  Throws kUnavailable while it
  // is not known whether another one lives, kFenced when one does, and kUsage when this is another number.
  virtual void claim(int server) = 0;

  // To be called before every answer; mostly it does nothing but compare two times.  Throws kFenced.
  virtual void check() = 0;
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_FENCE_H_
