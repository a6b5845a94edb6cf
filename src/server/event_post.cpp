#include "server/event_post.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <exception>
#include <optional>
#include <stdexcept>

#include "net/tls.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

// An answer is read for its status alone.
constexpr std::size_t kMostAnswer = std::size_t{64} << 10;
constexpr std::string_view kHeadEnds = "\r\n\r\n";
constexpr std::chrono::seconds kAtTheEnd{1};

// One request under way. It is written as a text, and an answer's head is read before it is parsed: Beast's
// own operations, for two kinds of streams, were a third of what compiling the server took.
class Posting {
 public:
  Posting(asio::io_context& context, std::string host, bool tls, std::string request)
      : host_(std::move(host)), request_(std::move(request)), resolver_(context), plain_(context) {
    if (tls) {
      tls_ = net::client_tls("events", {});
      secure_.emplace(context, tls_);
      SSL_set_tlsext_host_name(secure_->native_handle(), host_.c_str());
      secure_->set_verify_callback([this](bool passed, asio::ssl::verify_context& certificate) {
        return net::verify(certificate, passed, host_, why_);
      });
    }
  }

  void start(const std::string& port) {
    resolver_.async_resolve(host_, port, [this](const error_code& error, const auto& found) {
      if (error) return fail(error);
      asio::async_connect(socket(), found, [this](const error_code& failed, const auto&) {
        if (failed) return fail(failed);
        if (!secure_) return exchange(plain_);
        secure_->async_handshake(asio::ssl::stream_base::client, [this](const error_code& refused) {
          refused ? fail(refused) : exchange(*secure_);
        });
      });
    });
  }

  const std::optional<unsigned>& status() const { return status_; }
  const std::string& wrong() const { return wrong_; }

 private:
  asio::ip::tcp::socket& socket() { return secure_ ? secure_->next_layer() : plain_; }
  void fail(const error_code& error) {
    wrong_ = !why_.empty()                     ? why_
             : error == asio::error::eof       ? "it closed the connection without an answer"
             : error == asio::error::not_found ? "its answer begins with more than 64 KiB"
                                               : error.message();
  }

  template <class Stream>
  void exchange(Stream& stream) {
    asio::async_write(stream, asio::buffer(request_), [this, &stream](const error_code& error, std::size_t) {
      error ? fail(error) : read_status(stream);
    });
  }

  // What comes before the answer itself, as 100 Continue may, is passed over.
  template <class Stream>
  void read_status(Stream& stream) {
    asio::async_read_until(stream, asio::dynamic_buffer(answer_, kMostAnswer), kHeadEnds,
                           [this, &stream](const error_code& failed, std::size_t size) {
                             if (failed) return fail(failed);
                             if (is_on_the_way(size)) read_status(stream);
                           });
  }
  // Of the answer whose head has that many bytes.
  bool is_on_the_way(std::size_t size) {
    beast::http::response_parser<beast::http::empty_body> parser;
    error_code wrong;
    parser.put(asio::buffer(answer_.data(), size), wrong);
    if (wrong) {
      fail(wrong);
      return false;
    }
    answer_.erase(0, size);
    const unsigned status = parser.get().result_int();
    if (status / 100 == 1) return true;
    status_ = status;
    return false;
  }

  const std::string host_;
  const std::string request_;
  asio::ip::tcp::resolver resolver_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  asio::ip::tcp::socket plain_;
  std::optional<asio::ssl::stream<asio::ip::tcp::socket>> secure_;
  std::string answer_;
  std::optional<unsigned> status_;
  std::string why_;  // the certificate does not pass
  std::string wrong_;
};

}  // namespace

EventPost::EventPost(const std::string& url) {
  tls_ = url.starts_with("https://");
  const std::size_t begin = url.find("://") + 3;
  const std::size_t path = std::min(url.find_first_of("/?", begin), url.size());
  authority_ = url.substr(begin, path - begin);
  const auto fail = [this](const std::string& what) {
    throw std::runtime_error("events: " + name() + ": " + what);
  };
  if (const std::size_t at = authority_.rfind('@'); at != std::string::npos) {
    authority_.erase(0, at + 1);
    fail("a user and a password in a URL are not taken");
  }
  target_ = path < url.size() && url[path] == '/' ? url.substr(path) : "/" + url.substr(path);
  target_ = target_.substr(0, target_.find('#'));
  const bool bracket = authority_.starts_with('[');
  const std::size_t end =
      bracket ? authority_.find(']') + 1 : std::min(authority_.find(':'), authority_.size());
  host_ = bracket ? authority_.substr(1, end - 2) : authority_.substr(0, end);
  port_ = end < authority_.size() ? authority_.substr(end + 1) : tls_ ? "443" : "80";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_shown = [](char c) { return c > ' ' && c <= '~'; };
  if (host_.empty() || port_.empty() || port_.size() > 5 ||
      !std::all_of(port_.begin(), port_.end(), is_digit) ||
      !std::all_of(authority_.begin(), authority_.end(), is_shown) ||
      (end < authority_.size() && authority_[end] != ':'))
    fail("this is not http://HOST[:PORT]/PATH");
  if (!std::all_of(target_.begin(), target_.end(), is_shown))
    fail("its path has a character that has to be written as a percent sign and two digits");
}

std::string EventPost::send(const std::string& lines) {
  std::string request = "POST " + target_ + " HTTP/1.1\r\nHost: " + authority_ +
                        "\r\nUser-Agent: weir/" WEIR_VERSION
                        "\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\nContent-Length: " +
                        std::to_string(lines.size()) + "\r\n\r\n" + lines;
  asio::io_context context;
  std::optional<Posting> posting;
  try {
    posting.emplace(context, host_, tls_, std::move(request));
  } catch (const std::exception& error) {
    return error.what();
  }
  posting->start(port_);
  constexpr std::chrono::milliseconds kStep{100};
  std::chrono::milliseconds left = kLongest;
  for (; !context.stopped() && left.count() > 0; left -= kStep) {
    if (given_up_) left = std::min<std::chrono::milliseconds>(left, kAtTheEnd);
    context.run_for(kStep);
  }
  if (const auto& status = posting->status())
    return *status >= 200 && *status < 300 ? "" : "it answered " + std::to_string(*status);
  return posting->wrong().empty() ? "no answer within " + std::to_string(kLongest.count()) + " s"
                                  : posting->wrong();
}

}  // namespace weir::server
