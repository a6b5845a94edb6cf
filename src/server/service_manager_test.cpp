#include "server/service_manager.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace weir::inline v0_1::server {
namespace {

using namespace std::chrono_literals;

// The service manager's end of the socket, of the abstract namespace: nothing is left on the disk.
class Manager {
 public:
  Manager() {
    static int last = 0;
    name_ = "@weir-test-" + std::to_string(getpid()) + "-" + std::to_string(++last);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    if (bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), length) != 0) std::abort();
    setenv("NOTIFY_SOCKET", name_.c_str(), 1);
  }
  ~Manager() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
    close(descriptor_);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  std::vector<std::string> heard() {
    std::vector<std::string> all;
    char bytes[256];
    for (ssize_t n; (n = recv(descriptor_, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;)
      all.emplace_back(bytes, static_cast<std::size_t>(n));
    return all;
  }

 private:
  int descriptor_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::string name_;
};

TEST(ServiceManager, hears_that_the_program_is_ready_reloads_and_ends) {
  Manager manager;
  boost::asio::io_context loop;
  ServiceManager told(*net::asio_timers(loop), {&loop});
  EXPECT_EQ(manager.heard(), std::vector<std::string>{});
  told.ready();
  EXPECT_EQ(manager.heard(), std::vector<std::string>{"READY=1"});
  told.reloading();
  const std::vector<std::string> reload = manager.heard();
  ASSERT_EQ(reload.size(), 1U);
  EXPECT_TRUE(reload[0].starts_with("RELOADING=1\nMONOTONIC_USEC=")) << reload[0];
  told.stopping();
  EXPECT_EQ(manager.heard(), std::vector<std::string>{"STOPPING=1"});
}

TEST(ServiceManager, is_not_spoken_to_by_programs_that_this_one_starts) {
  Manager manager;
  setenv("WATCHDOG_USEC", "1000000", 1);
  boost::asio::io_context loop;
  const ServiceManager told(*net::asio_timers(loop), {&loop});
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(std::getenv("WATCHDOG_USEC"), nullptr);
}

// Runs `loops` until the manager has heard as many as `most` signs of life, or none comes in twenty rounds.
std::size_t signs_of_life(Manager& manager, const std::vector<boost::asio::io_context*>& loops,
                          std::size_t most) {
  std::size_t signs = 0;
  for (int silent = 0; silent < 20 && signs < most; ++silent) {
    for (boost::asio::io_context* loop : loops) {
      loop->restart();  // one that had nothing to do counts as stopped
      loop->run_one_for(1ms);
    }
    for (const std::string& line : manager.heard()) {
      if (line != "WATCHDOG=1") continue;
      ++signs;
      silent = 0;
    }
  }
  return signs;
}

TEST(ServiceManager, hears_signs_of_life_while_every_loop_runs) {
  Manager manager;
  setenv("WATCHDOG_USEC", "4000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  boost::asio::io_context first;
  boost::asio::io_context second;
  ServiceManager told(*net::asio_timers(first), {&first, &second});
  told.ready();
  EXPECT_EQ(signs_of_life(manager, {&first, &second}, 5), 5U);
}

TEST(ServiceManager, hears_no_more_of_them_once_one_loop_stands_still) {
  Manager manager;
  setenv("WATCHDOG_USEC", "4000", 1);
  boost::asio::io_context first;
  boost::asio::io_context second;
  ServiceManager told(*net::asio_timers(first), {&first, &second});
  told.ready();
  EXPECT_EQ(signs_of_life(manager, {&first}, 5), 1U);
}

TEST(ServiceManager, hears_no_signs_of_life_that_it_did_not_ask_of_this_process) {
  for (const char* of : {"1", "x", "-1"}) {
    Manager manager;
    setenv("WATCHDOG_USEC", "4000", 1);
    setenv("WATCHDOG_PID", of, 1);
    boost::asio::io_context loop;
    ServiceManager told(*net::asio_timers(loop), {&loop});
    told.ready();
    EXPECT_EQ(signs_of_life(manager, {&loop}, 1), 0U) << of;
  }
}

TEST(ServiceManager, is_left_alone_when_its_socket_has_no_name_that_can_be_one) {
  Manager manager;
  const std::string too_long = "/" + std::string(200, 'x');
  for (const char* name : {"", "nothing", "vsock:2:1234", "/nobody/listens/here", too_long.c_str()}) {
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "4000", 1);
    boost::asio::io_context loop;
    ServiceManager told(*net::asio_timers(loop), {&loop});
    told.ready();
    told.stopping();
    EXPECT_EQ(manager.heard(), std::vector<std::string>{}) << name;
  }
}

}  // namespace
}  // namespace weir::server
