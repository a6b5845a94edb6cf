// weir check: asks a running server once.
#include <CLI/CLI.hpp>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <istream>
#include <memory>
#include <stdexcept>

#include "cli/commands.hpp"
#include "core/duration.hpp"
#include "core/printable.hpp"
#include "resp/number.hpp"
#include "resp/writer.hpp"
#include "weir/quota.hpp"

namespace weir::cli {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

struct Flags {
  std::string key;
  std::string limit;
  std::string cost = "1";
  std::string host = "127.0.0.1";
  int port = 6390;
  std::string user = "default";
  std::string password;
  bool json = false;
};

// Each step may take five seconds, so that half an answer cannot hang a script. The calls are asynchronous
// and waited for, because Asio's blocking calls have no timeout.
class Connection {
 public:
  Connection(const std::string& host, const std::string& port)
      : where_(host + ":" + port), socket_(context_) {
    error_code error;
    tcp::resolver resolver(context_);
    const auto found = resolver.resolve(host, port, error);
    if (error) throw std::runtime_error("cannot connect to " + where_ + ": " + error.message());
    asio::async_connect(socket_, found,
                        [&error](const error_code& done, const tcp::endpoint&) { error = done; });
    wait();
    if (error) throw std::runtime_error("cannot connect to " + where_ + ": " + error.message());
  }

  void send(std::initializer_list<std::string_view> words) {
    std::string out;
    resp::Writer request(out);
    request.array(words.size());
    for (const std::string_view word : words) request.bulk(word);
    error_code error;
    asio::async_write(socket_, asio::buffer(out),
                      [&error](const error_code& done, std::size_t) { error = done; });
    wait();
    if (error) throw std::runtime_error("cannot send to " + where_ + ": " + error.message());
  }

  // One line of a reply, without its CRLF.
  std::string line() {
    error_code error;
    asio::async_read_until(socket_, buffer_, "\r\n",
                           [&error](const error_code& done, std::size_t) { error = done; });
    wait();
    if (error == asio::error::not_found)
      throw std::runtime_error(where_ + " does not answer like a weir server");
    if (error) throw std::runtime_error(where_ + " closed the connection");
    std::string text;
    std::istream in(&buffer_);
    std::getline(in, text);
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (!text.empty() && text[0] == '-')
      throw std::runtime_error(where_ + " answered: " + core::printable(text.substr(1)));
    return text;
  }

 private:
  using error_code = boost::system::error_code;

  void wait() {
    context_.restart();
    context_.run_for(std::chrono::seconds{5});
    if (context_.stopped()) return;
    error_code ignored;
    socket_.close(ignored);
    context_.run();  // the handler refers to its caller
    throw std::runtime_error(where_ + " did not answer within 5 seconds");
  }

  std::string where_;
  asio::io_context context_;
  tcp::socket socket_;
  asio::streambuf buffer_{4096};
};

// The period as a decimal number of seconds, the form that GCRA takes.
std::string decimal_seconds(std::chrono::nanoseconds period) {
  const std::string fraction = std::to_string(1'000'000'000 + period.count() % 1'000'000'000).substr(1);
  return std::to_string(period.count() / 1'000'000'000) + "." + fraction;
}

int check(const Flags& flags) {
  const auto quota = Quota::parse(flags.limit);
  if (!quota) throw std::runtime_error("limit: " + quota.error());
  const auto cost = resp::parse_integer(flags.cost);
  if (!cost || *cost < 0) {
    throw std::runtime_error("cost: '" + flags.cost + "' is not an integer from 0 to 9223372036854775807");
  }
  Connection server(flags.host, std::to_string(flags.port));
  if (!flags.password.empty()) {
    server.send({"AUTH", flags.user, flags.password});
    server.line();
  }
  server.send({"GCRA", flags.key, std::to_string(quota->burst() - 1), std::to_string(quota->rate().count),
               decimal_seconds(quota->rate().period), "TOKENS", flags.cost});
  std::array<std::int64_t, 5> answer{};
  bool understood = server.line() == "*5";
  for (std::int64_t& number : answer) {
    const std::string text = understood ? server.line() : "";
    const auto value = text.size() > 1 && text[0] == ':'
                           ? resp::parse_integer(std::string_view(text).substr(1))
                           : std::nullopt;
    understood = understood && value.has_value();
    number = value.value_or(0);
  }
  if (!understood) throw std::runtime_error("unexpected answer: this is not a weir server");

  const auto [limited, limit, remaining, retry_after_s, reset_after_s] = answer;
  const char* verdict = limited == 0 ? "allowed" : retry_after_s < 0 ? "never" : "denied";
  if (flags.json) {
    const std::string retry = retry_after_s < 0 ? "null" : std::to_string(retry_after_s);
    std::printf(
        "{\"verdict\":\"%s\",\"limit\":%lld,\"remaining\":%lld,\"retry_after_s\":%s,\"reset_after_s\":%lld}"
        "\n",
        verdict, static_cast<long long>(limit), static_cast<long long>(remaining), retry.c_str(),
        static_cast<long long>(reset_after_s));
  } else {
    std::string text =
        std::string(verdict) + ": " + std::to_string(remaining) + " of " + std::to_string(limit) + " left";
    if (retry_after_s >= 0) text += ", retry in " + std::to_string(retry_after_s) + " s";
    if (std::string_view(verdict) == "never") text += ", the cost is above the burst: waiting does not help";
    text += ", full again in " + std::to_string(reset_after_s) + " s";
    std::puts(text.c_str());
  }
  return limited == 0 ? 0 : 1;
}

}  // namespace

void add_check(CLI::App& app, int& result) {
  auto flags = std::make_shared<Flags>();
  CLI::App* check_app =
      app.add_subcommand("check", "Ask a running server once; exit code 0 allowed, 1 denied, 2 error");
  check_app->add_option("KEY", flags->key, "what to count by, for example a user: user:42")->required();
  check_app->add_option("--limit", flags->limit, "COUNT/PERIOD [burst N], as in '15/60s' or '5/10s burst 20'")
      ->type_name("QUOTA")
      ->required();
  check_app->add_option("--cost", flags->cost, "units to take; 0 looks without taking any")
      ->type_name("N")
      ->capture_default_str();
  check_app->add_option("--host", flags->host, "the server's host")->type_name("HOST")->capture_default_str();
  check_app->add_option("--port", flags->port, "the server's port")
      ->type_name("N")
      ->check(CLI::Range(1, 65535).description(""))
      ->capture_default_str();
  check_app->add_option("--user", flags->user, "name for AUTH")
      ->type_name("NAME")
      ->envname("WEIR_USER")
      ->capture_default_str();
  check_app->add_option("--password", flags->password, "password for AUTH")
      ->type_name("WORD")
      ->envname("WEIR_PASSWORD");
  check_app->add_flag("--json", flags->json, "print one line of JSON");
  check_app->callback([flags, &result] { result = check(*flags); });
}

}  // namespace weir::cli
