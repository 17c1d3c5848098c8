#include "job/tuning/repeated_job.h"

#include "base/error.h"
#include "job/fingerprint.h"

namespace ps {

void check_can_repeat(const Job& job, std::string_view what) {
  if (has_servers(job) || job.cluster.trainers > 1 || !job.cluster.compute.empty())
    fail(Code::kUsage, what, " trains in one process: the job names others, in cluster");
  if (reads_standard_input(job))
    fail(Code::kUsage, what,
         " reads its data several times, and standard input can be read once: give files");
}

}  // namespace ps
