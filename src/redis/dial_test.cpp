#include "redis/dial.hpp"

#include <gtest/gtest.h>

#include <string>

#include "redis/hosts_test.hpp"

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::make_address;
using boost::system::error_code;

struct Dialled {
  explicit Dialled(boost::asio::io_context& its_context, Dial::Endpoints endpoints)
      : context(its_context),
        dial(Dial::start(its_context, std::move(endpoints),
                         [this](const error_code& error, tcp::socket socket, std::size_t number) {
                           ++times;
                           outcome = error ? error.message() : std::to_string(number);
                           open = socket.is_open();
                         })) {}
  std::string wait(std::chrono::seconds longest = 20s) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (times == 0 && std::chrono::steady_clock::now() < end) context.run_one_for(100ms);
    return outcome;
  }

  boost::asio::io_context& context;
  std::string outcome = "nothing";
  int times = 0;
  bool open = false;
  std::shared_ptr<Dial> dial;
};

TEST(Dial, the_families_alternate_and_any_address_may_be_the_first) {
  struct Row {
    std::string found;
    std::size_t first;
    std::string order;
  };
  const std::vector<Row> rows = {
      {"1", 0, "1"},       {"1", 7, "1"},       {"12", 0, "12"},
      {"12", 1, "21"},     {"123", 5, "312"},   {"abc12", 0, "a1b2c"},
      {"1abc", 0, "1abc"}, {"12ab", 0, "1a2b"}, {"12ab", 2, "2b1a"},
      {"", 3, ""},         {"ab", 0, "ab"},     {"123456789123456789", 0, "1234567891234567"},
  };
  for (const Row& row : rows) {
    Dial::Endpoints found;
    for (const char c : row.found) {
      const std::string text = c < 'a' ? "10.0.0." + std::string(1, c) : "fd00::" + std::string(1, c);
      found.emplace_back(make_address(text), 6379);
    }
    std::string order;
    for (const tcp::endpoint& each : Dial::order(found, row.first))
      order += each.address().to_string().back();
    EXPECT_EQ(order, row.order) << row.found << " " << row.first;
  }
}

TEST(Dial, the_first_that_accepts) {
  boost::asio::io_context context;
  const Host drops(context, Host::Manner::drops);
  const Host accepts(context, Host::Manner::accepts);
  const Host also(context, Host::Manner::accepts);
  const tcp::endpoint refuses = refusing(context);
  struct Row {
    const char* name;
    Dial::Endpoints endpoints;
    std::string outcome;
  };
  for (const Row& row :
       {Row{"alone", {accepts.endpoint()}, "0"},
        Row{"the first of two", {accepts.endpoint(), also.endpoint()}, "0"},
        Row{"after one that drops packets", {drops.endpoint(), accepts.endpoint()}, "1"},
        Row{"after three", {drops.endpoint(), drops.endpoint(), drops.endpoint(), accepts.endpoint()}, "3"},
        Row{"after one that refuses", {refuses, accepts.endpoint()}, "1"},
        Row{"after both", {refuses, drops.endpoint(), refuses, accepts.endpoint()}, "3"},
        Row{"refused by all", {refuses, refuses}, "Connection refused"}}) {
    Dialled dialled(context, row.endpoints);
    EXPECT_EQ(dialled.wait(), row.outcome) << row.name;
    context.run_for(10ms);
    context.restart();
    EXPECT_EQ(dialled.times, 1) << row.name;
    EXPECT_EQ(dialled.open, row.outcome.size() == 1) << row.name;
  }
}

TEST(Dial, one_that_refuses_costs_no_time) {
  boost::asio::io_context context;
  const Host accepts(context, Host::Manner::accepts);
  const tcp::endpoint refuses = refusing(context);
  Dial::Endpoints endpoints(15, refuses);
  endpoints.push_back(accepts.endpoint());
  Dialled dialled(context, endpoints);
  EXPECT_EQ(dialled.wait(), "15");
}

TEST(Dial, cancelled_it_says_nothing) {
  boost::asio::io_context context;
  const Host drops(context, Host::Manner::drops);
  const Host accepts(context, Host::Manner::accepts);
  for (const Dial::Endpoints& endpoints :
       {Dial::Endpoints{accepts.endpoint()}, Dial::Endpoints{drops.endpoint(), accepts.endpoint()}}) {
    Dialled dialled(context, endpoints);
    dialled.dial->cancel();
    context.run_for(300ms);
    context.restart();
    EXPECT_EQ(dialled.times, 0);
  }
}

}  // namespace
}  // namespace weir::redis
