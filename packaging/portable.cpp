// Only in the portable program, which is static: the machine's shared libraries are of another glibc and
// another OpenSSL than the ones inside it, and loading one of them into it ends in whatever way it likes.
#include <nss.h>
#include <openssl/crypto.h>

#include <cstdlib>

namespace {

// Runs before main(), while there is one thread.
[[gnu::constructor]] void load_nothing() {
  // /etc/nsswitch.conf may name libraries (resolve, mdns4, myhostname). These two are in glibc itself.
  __nss_configure_lookup("hosts", "files dns");
  // The machine's openssl.cnf may name providers, in libraries.
  if (std::getenv("OPENSSL_CONF") == nullptr) OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
}

}  // namespace
