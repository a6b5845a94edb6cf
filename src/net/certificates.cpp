#include "net/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

#include "core/regular_file.hpp"

namespace weir::inline v0_1::net {
namespace {

std::chrono::system_clock::time_point time_of(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

std::string name_of(const X509_NAME* name) {
  const std::unique_ptr<char, void (*)(char*)> text(X509_NAME_oneline(name, nullptr, 0),
                                                    [](char* given) { OPENSSL_free(given); });
  return text ? text.get() : "";
}

}  // namespace

std::vector<Certificate> certificates(const std::string& file) {
  std::vector<Certificate> found;
  const auto bytes = core::read_regular_file(file);
  if (!bytes) return found;
  const std::unique_ptr<BIO, int (*)(BIO*)> text(
      BIO_new_mem_buf(bytes->data(), static_cast<int>(bytes->size())), BIO_free);
  while (text) {
    const std::unique_ptr<X509, void (*)(X509*)> each(
        PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr), X509_free);
    if (!each) break;
    found.push_back({name_of(X509_get_subject_name(each.get())), time_of(X509_get0_notBefore(each.get())),
                     time_of(X509_get0_notAfter(each.get()))});
  }
  ERR_clear_error();  // the end of the file counts as one
  return found;
}

}  // namespace weir::net
