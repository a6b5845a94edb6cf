#include "server/event_post.hpp"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <exception>
#include <optional>
#include <stdexcept>

#include "net/tls.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using PostRequest = beast::http::request<beast::http::string_body>;
using asio::use_awaitable;

// An answer is read for its status alone.
constexpr std::size_t kMostAnswer = std::size_t{64} << 10;

constexpr std::chrono::seconds kAtTheEnd{1};

template <class Stream>
asio::awaitable<unsigned> exchange(Stream& stream, const PostRequest& request) {
  co_await beast::http::async_write(stream, request, use_awaitable);
  beast::flat_buffer buffer;
  beast::http::response_parser<beast::http::string_body> answer;
  answer.body_limit(kMostAnswer);
  co_await beast::http::async_read_header(stream, buffer, answer, use_awaitable);
  co_return answer.get().result_int();
}

struct Place {
  const std::string& host;
  const std::string& port;
  bool tls;
};

asio::awaitable<unsigned> post(asio::io_context& context, Place place, const PostRequest& request) {
  asio::ip::tcp::resolver resolver(context);
  const auto found = co_await resolver.async_resolve(place.host, place.port, use_awaitable);
  if (!place.tls) {
    beast::tcp_stream stream(context);
    co_await stream.async_connect(found, use_awaitable);
    co_return co_await exchange(stream, request);
  }
  asio::ssl::context tls = net::client_tls("events", {});
  beast::ssl_stream<beast::tcp_stream> stream(context, tls);
  SSL_set_tlsext_host_name(stream.native_handle(), place.host.c_str());
  std::string why;
  stream.set_verify_callback([&place, &why](bool passed, asio::ssl::verify_context& certificate) {
    return net::verify(certificate, passed, place.host, why);
  });
  co_await stream.next_layer().async_connect(found, use_awaitable);
  try {
    co_await stream.async_handshake(asio::ssl::stream_base::client, use_awaitable);
  } catch (const std::exception& error) {
    throw std::runtime_error(why.empty() ? error.what() : why);
  }
  co_return co_await exchange(stream, request);
}

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
  if (host_.empty() || port_.empty() || port_.size() > 5 ||
      !std::all_of(port_.begin(), port_.end(), is_digit) ||
      (end < authority_.size() && authority_[end] != ':'))
    fail("this is not http://HOST[:PORT]/PATH");
  if (!std::all_of(target_.begin(), target_.end(), [](char c) { return c > ' ' && c <= '~'; }))
    fail("its path has a character that has to be written as a percent sign and two digits");
}

std::string EventPost::send(const std::string& lines) {
  PostRequest request(beast::http::verb::post, target_, 11);
  request.set(beast::http::field::host, authority_);
  request.set(beast::http::field::user_agent, "weir/" WEIR_VERSION);
  request.set(beast::http::field::content_type, "application/x-ndjson");
  request.set(beast::http::field::connection, "close");
  request.body() = lines;
  request.prepare_payload();
  asio::io_context context;
  std::optional<unsigned> status;
  std::string wrong = "no answer within " + std::to_string(kLongest.count()) + " s";
  asio::co_spawn(context, post(context, {host_, port_, tls_}, request),
                 [&](const std::exception_ptr& error, unsigned answered) {
                   if (!error) {
                     status = answered;
                     return;
                   }
                   try {
                     std::rethrow_exception(error);
                   } catch (const std::exception& said) {
                     wrong = said.what();
                   }
                 });
  constexpr std::chrono::milliseconds kStep{100};
  std::chrono::milliseconds left = kLongest;
  for (; !context.stopped() && left.count() > 0; left -= kStep) {
    if (given_up_) left = std::min<std::chrono::milliseconds>(left, kAtTheEnd);
    context.run_for(kStep);
  }
  if (!status) return wrong;
  return *status >= 200 && *status < 300 ? "" : "it answered " + std::to_string(*status);
}

}  // namespace weir::server
