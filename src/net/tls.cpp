#include "net/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "core/regular_file.hpp"

namespace weir::inline v0_1::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// OpenSSL's own reasons ("no start line") help only its authors; what can be wrong with a file is one of
// these.
std::runtime_error unusable(const std::string& flag, const std::string& file, const std::string& what) {
  return std::runtime_error(flag + ": '" + file + "': " + what);
}

std::string text_of_file(const std::string& flag, const std::string& file) {
  auto text = core::read_regular_file(file);
  if (!text) throw unusable(flag, file, text.error());
  return *std::move(text);
}

// False when there is none among them, or one is damaged.
bool trust_all(X509_STORE* trusted, const std::string& text) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> from(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  bool any = false;
  while (from) {
    const std::unique_ptr<X509, decltype(&X509_free)> each(
        PEM_read_bio_X509_AUX(from.get(), nullptr, nullptr, nullptr), X509_free);
    if (!each) break;
    any = X509_STORE_add_cert(trusted, each.get()) == 1;
    if (!any) return false;
  }
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();  // the end of the text counts as one
  return any && ended;
}

std::string text_of(const ASN1_TIME* time) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  if (!out || ASN1_TIME_print(out.get(), time) != 1) return "?";
  char* text = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

// Which check of OpenSSL's has failed.
std::string failed_check(X509_STORE_CTX* context) {
  const X509* const it = X509_STORE_CTX_get_current_cert(context);
  const int check = X509_STORE_CTX_get_error(context);
  const std::string whose = X509_STORE_CTX_get_error_depth(context) > 0 ? "its signer's certificate " : "it ";
  const std::string words = X509_verify_cert_error_string(check);
  switch (check) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return whose + "expired at " + text_of(X509_get0_notAfter(it));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return whose + "is not valid before " + text_of(X509_get0_notBefore(it));
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "it is self-signed, and is not itself trusted";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "no trusted authority has signed it (" + words + ")";
    default:
      return whose + "fails: " + words;
  }
}

// The file of all authorities that a distribution trusts: Debian's, Red Hat's older and newer one, SUSE's,
// Alpine's.
constexpr std::array kSystemAuthorities{
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

// Whether OpenSSL finds authorities where it was built to look, or where the environment says.
bool openssl_has_authorities() {
  if (std::getenv(X509_get_default_cert_file_env()) != nullptr) return true;
  if (std::getenv(X509_get_default_cert_dir_env()) != nullptr) return true;
  namespace fs = std::filesystem;
  std::error_code none;
  return fs::exists(X509_get_default_cert_file(), none) ||
         fs::directory_iterator(X509_get_default_cert_dir(), none) != fs::directory_iterator();
}

// A program that was built on one distribution and runs on another looks where the other one keeps them.
void trust_system(asio::ssl::context& tls) {
  error_code ignored;  // without any, no signer is trusted
  tls.set_default_verify_paths(ignored);
  if (openssl_has_authorities()) return;
  for (const char* file : kSystemAuthorities) {
    if (SSL_CTX_load_verify_file(tls.native_handle(), file) == 1) return;
  }
  ERR_clear_error();
}

}  // namespace

bool has_certificate(const std::string& flag, const TlsFiles& files) {
  if (files.cert.empty() != files.key.empty()) {
    throw std::invalid_argument(flag + "-cert and " + flag + "-key must be given together");
  }
  return !files.cert.empty();
}

asio::ssl::context client_tls(const std::string& flag, const TlsFiles& files) {
  const bool shows = has_certificate(flag, files);
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  tls.set_verify_mode(asio::ssl::verify_peer);
  if (files.ca.empty()) {
    trust_system(tls);
  } else {
    trust(tls, flag + "-ca", files.ca);
  }
  if (shows) show_certificate(tls, flag, files.cert, files.key);
  return tls;
}

void show_certificate(asio::ssl::context& tls, const std::string& flag, const std::string& cert,
                      const std::string& key) {
  error_code error;
  tls.use_certificate_chain(asio::buffer(text_of_file(flag + "-cert", cert)), error);
  if (error) throw unusable(flag + "-cert", cert, "is not a certificate in PEM");
  // Without a callback OpenSSL asks the terminal for a passphrase, and waits.
  tls.set_password_callback([](std::size_t, asio::ssl::context::password_purpose) { return std::string(); });
  tls.use_private_key(asio::buffer(text_of_file(flag + "-key", key)), asio::ssl::context::pem, error);
  // OpenSSL silently accepts a key whose type is not the certificate's, such as RSA for EC.
  if (error || SSL_CTX_check_private_key(tls.native_handle()) != 1)
    throw unusable(flag + "-key", key,
                   "is not a private key in PEM without a passphrase, or not that of the certificate");
}

void trust(asio::ssl::context& tls, const std::string& flag, const std::string& ca) {
  if (!trust_all(SSL_CTX_get_cert_store(tls.native_handle()), text_of_file(flag, ca)))
    throw unusable(flag, ca, "contains no certificate in PEM");
}

bool verify(asio::ssl::verify_context& certificate, bool passed, const std::string& host, std::string& why) {
  if (!passed) {
    why = failed_check(certificate.native_handle());
    return false;
  }
  if (asio::ssl::host_name_verification(host)(true, certificate)) return true;
  why = "it is not for '" + host + "'";
  return false;
}

}  // namespace weir::net
