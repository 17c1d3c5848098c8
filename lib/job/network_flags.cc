#include "job/network_flags.h"

#include "base/error.h"
#include "net/host.h"

namespace ps {

SecurityOptions security_options(const Flags& flags) {
  return {.token_file = flags.text("token-file").value_or(""),
          .tls = {.certificate = flags.text("tls-cert").value_or(""),
                  .key = flags.text("tls-key").value_or(""),
                  .authority = flags.text("tls-ca").value_or("")},
          .etcd = {.certificate = flags.text("etcd-cert").value_or(""),
                   .key = flags.text("etcd-key").value_or(""),
                   .authority = flags.text("etcd-ca").value_or("")},
          .insecure = flags.on("insecure")};
}

std::string host_flag(const Flags& flags, std::string_view name) {
  try {
    return parse_host(flags.text(name).value_or(""));
  } catch (const Error& error) {
    throw error.within(flags.typed(name));
  }
}

}  // namespace ps
