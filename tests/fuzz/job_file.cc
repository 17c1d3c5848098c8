// A job file: parsed, and checked as a whole.
#include <string>

#include "base/error.h"
#include "config/json.h"
#include "job/job.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    ps::make_job(ps::parse_json(text, "job.json"), "job.json", {});
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() != ps::Code::kInternal);
  }
  return 0;
}
