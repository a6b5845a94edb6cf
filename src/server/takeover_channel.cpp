#include "server/takeover_channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace weir::inline v0_1::server {
namespace {

using std::chrono::milliseconds;
using Control = std::array<char, CMSG_SPACE(TakeoverChannel::kMostDescriptors * sizeof(int))>;

ucred credentials_of(int descriptor) {
  ucred who{};
  who.uid = static_cast<uid_t>(-1);
  socklen_t size = sizeof who;
  getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &size);
  return who;
}

// Any of the events, or the end.
bool wait_for(int descriptor, short events, TakeoverChannel::Deadline deadline) {
  pollfd one{.fd = descriptor, .events = events, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    const int found = poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (found > 0) return true;
    if (found == 0 || errno != EINTR) return false;
  }
}

void attach(msghdr& message, Control& control, std::span<const int> descriptors) {
  if (descriptors.empty()) return;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
}

std::vector<net::OwnedDescriptor> detach(msghdr& message) {
  std::vector<net::OwnedDescriptor> all;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(each) + i * sizeof descriptor, sizeof descriptor);
      all.emplace_back(descriptor);
    }
  }
  return all;
}

}  // namespace

std::optional<TakeoverChannel> TakeoverChannel::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw std::runtime_error("it is longer than the " + std::to_string(sizeof address.sun_path - 1) +
                             " bytes that a socket's path may have");
  std::memcpy(address.sun_path, path.data(), path.size());
  net::OwnedDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    TakeoverChannel channel(std::move(socket));
    channel.watch_its_process();
    return channel;
  }
  if (errno == ENOENT || errno == ECONNREFUSED) return std::nullopt;
  if (errno == EAGAIN) throw std::runtime_error("the process in charge is busy with others that take over");
  if (errno == EPROTOTYPE) throw std::runtime_error("another program listens there");
  throw std::runtime_error(std::strerror(errno));
}

bool TakeoverChannel::is_of_us() const { return credentials_of(descriptor_.get()).uid == geteuid(); }
pid_t TakeoverChannel::its_process() const { return credentials_of(descriptor_.get()).pid; }

// At once, as its number may become another's later.
void TakeoverChannel::watch_its_process() {
  const pid_t process = its_process();
  if (process <= 0) return;  // it is not to be seen from this container
  process_ = net::OwnedDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  has_ended_ = !process_ && errno == ESRCH;
}

bool TakeoverChannel::its_process_ends(Deadline deadline) const {
  return has_ended_ || (process_ && wait_for(process_.get(), POLLIN, deadline));
}

bool TakeoverChannel::send(std::string_view bytes, std::span<const int> descriptors, Deadline deadline) {
  Control control{};
  iovec piece{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  attach(message, control, descriptors);
  for (;;) {
    if (!wait_for(descriptor_.get(), POLLOUT, deadline)) return false;
    if (sendmsg(descriptor_.get(), &message, MSG_NOSIGNAL) >= 0) return true;
    // As many as the system lets one user send are on their way: some will arrive.
    if (errno == ETOOMANYREFS && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds{1});
      continue;
    }
    if (errno == EAGAIN || errno == EINTR) continue;
    has_gone_ = true;
    return false;
  }
}

std::optional<TakeoverChannel::Message> TakeoverChannel::receive(Deadline deadline) {
  Control control{};
  Message received{.bytes = std::string(kMostBytes, '\0'), .descriptors = {}};
  iovec piece{.iov_base = received.bytes.data(), .iov_len = received.bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = -1;
  int resets = 0;
  do {
    if (!wait_for(descriptor_.get(), POLLIN, deadline)) return std::nullopt;
    got = recvmsg(descriptor_.get(), &message, MSG_CMSG_CLOEXEC);
    // A reset is told before what was sent before it.
  } while (got < 0 && (errno == EAGAIN || errno == EINTR || (errno == ECONNRESET && ++resets == 1)));
  if (got >= 0) received.descriptors = detach(message);
  // What did not fit, or descriptors for which there is no room, cannot be gone on with.
  if (got <= 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    has_gone_ = true;
    return std::nullopt;
  }
  received.bytes.resize(static_cast<std::size_t>(got));
  return received;
}

}  // namespace weir::server
