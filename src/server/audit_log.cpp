#include "server/audit_log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "server/last_error.hpp"
#include "steering/audit_line.hpp"

namespace weir::inline v0_1::server {
namespace {

constexpr std::chrono::seconds kSecond{1};
constexpr std::size_t kMostTorn = 4096;
constexpr std::size_t kMostUsers = 1024;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error("audit: '" + path + "': " + what);
}

std::string read_end(int file, std::int64_t size) {
  const std::int64_t from = std::max<std::int64_t>(0, size - std::int64_t{steering::kLongestAuditLine});
  std::string text(static_cast<std::size_t>(size - from), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n =
        pread(file, text.data() + got, text.size() - got, from + static_cast<std::int64_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

// Of whole lines, without its end.
std::string last_line(std::string_view text) {
  if (text.empty()) return {};
  text.remove_suffix(1);
  const std::size_t before = text.rfind('\n');
  return std::string(before == std::string_view::npos ? text : text.substr(before + 1));
}

}  // namespace

AuditLog::AuditLog(Options options) : options_(std::move(options)) {
  if (options_.later) {
    left_ = waits();
  } else if (waits()) {
    open_file();
  }
  thread_ = std::thread([this] { run(); });
}

AuditLog::~AuditLog() {
  end();
  thread_.join();
  if (file_ >= 0) close(file_);
}

void AuditLog::end() {
  const detail::Held lock(mutex_);
  end_floods(true);
  ends_ = true;
  changed_.notify_all();
}

// Throws; what was open stays open then.
void AuditLog::open_file() {
  const std::string& path = options_.path;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (file < 0) fail(path, last_error());
  struct stat found{};
  const char* wrong = nullptr;
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    wrong = "not a regular file";
  } else if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    // It may be our own, opened again without having been moved.
    struct stat ours{};
    const bool same =
        file_ >= 0 && fstat(file_, &ours) == 0 && ours.st_dev == found.st_dev && ours.st_ino == found.st_ino;
    wrong = same ? "" : "another process writes to it";
  }
  if (wrong != nullptr) {
    close(file);
    if (*wrong == '\0') return;
    fail(path, wrong);
  }
  const std::string end = read_end(file, found.st_size);
  const std::size_t last = end.rfind('\n');
  const std::string torn = end.substr(last == std::string::npos ? 0 : last + 1);
  const std::int64_t whole = found.st_size - static_cast<std::int64_t>(torn.size());
  const std::string line = last_line(end.substr(0, end.size() - torn.size()));
  const bool is_ours =
      whole == 0 ? steering::may_begin_audit(torn) : line.empty() || steering::is_audit_line(line);
  if (!is_ours) {
    wrong = "its last line is not one of an audit";
  } else if (line.empty() && whole > 0) {
    wrong = "its last line is longer than 1 MiB, so it is not an audit";
  } else if (!torn.empty() && ftruncate(file, whole) != 0) {
    wrong = "its last line is torn, and cannot be cut off";
  }
  if (wrong != nullptr) {
    close(file);
    fail(path, wrong);
  }
  if (!line.empty()) {
    const detail::Held lock(mutex_);
    if (head_.empty()) head_ = steering::hash_of(line);
  }
  if (file_ >= 0) close(file_);
  file_ = file;
  size_ = whole;
  begin_file(torn.substr(0, kMostTorn));
}

void AuditLog::begin_file(const std::string& torn) {
  std::string previous;
  {
    const detail::Held lock(mutex_);
    previous = head_;
  }
  std::string line = steering::begin_line(options_.wall_clock(), previous, torn);
  if (!put(line + "\n")) fail(options_.path, last_error());
  const detail::Held lock(mutex_);
  std::string head = steering::hash_of(line);
  keep(std::move(line), std::move(head));
}

// All of it, on the disk; or none, and errno says why.
bool AuditLog::put(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(file_, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  if (written == text.size() && fdatasync(file_) == 0) {
    size_ += static_cast<std::int64_t>(text.size());
    return true;
  }
  const int error = errno;
  if (ftruncate(file_, size_) != 0) {
    // The next start finds a torn line.
  }
  errno = error;
  return false;
}

void AuditLog::keep(std::string line, std::string head) {
  head_ = std::move(head);
  lines_.fetch_add(1, std::memory_order_relaxed);
  kept_.push_back(std::move(line));
  if (kept_.size() > kMostKept) kept_.pop_front();
}

void AuditLog::record(steering::OperatorChange change, std::function<void(bool)> done) {
  bool at_once = true;
  bool written = true;
  {
    const detail::Held lock(mutex_);
    Flood* const flood = flood_of(change);
    if (flood != nullptr && !(options_.required && waits())) {
      join(flood->rest, change);  // told when its second has ended
    } else if (waiting_.size() >= kMostWaiting || ends_) {
      errors_.fetch_add(1, std::memory_order_relaxed);
      written = !options_.required;
    } else if (waits()) {
      at_once = false;
      if (flood != nullptr) {
        Waiting& others = waiting_flood(change.by.user);
        join(others, change);
        others.done.push_back(done);
      } else {
        waiting_.push_back({std::move(change), 1, {done}});
      }
    } else {
      std::string line = steering::audit_line(change, 1, options_.wall_clock(), head_);
      std::string head = steering::hash_of(line);
      keep(std::move(line), std::move(head));
    }
    changed_.notify_all();
  }
  if (at_once) done(written);
}

AuditLog::Flood* AuditLog::flood_of(const steering::OperatorChange& change) {
  if (change.verb != "RESET" && change.verb != "DEL") return nullptr;
  const std::chrono::nanoseconds now = options_.wall_clock();
  if (floods_.size() >= kMostUsers && !floods_.contains(change.by.user)) end_floods(true);
  Flood& flood = floods_[change.by.user];
  if (now - flood.began >= kSecond || now < flood.began) {
    if (flood.rest.count > 0) waiting_.push_back(std::move(flood.rest));
    flood = {.began = now, .times = 0, .rest = {.change = {}, .count = 0}};
  }
  return ++flood.times <= kAlone ? nullptr : &flood;
}

// They are of several keys, and perhaps of several limits.
void AuditLog::join(Waiting& others, const steering::OperatorChange& change) {
  if (others.count++ == 0) others.change = {.by = change.by, .verb = change.verb};
  if (others.change.verb != change.verb) others.change.verb = "RESET";
}

// That user's line among those that are not being written yet.
AuditLog::Waiting& AuditLog::waiting_flood(const std::string& user) {
  const auto found = std::find_if(waiting_.rbegin(), waiting_.rend(), [&user](const Waiting& each) {
    return each.is_flood && each.change.by.user == user;
  });
  if (found != waiting_.rend()) return *found;
  return waiting_.emplace_back(Waiting{.change = {}, .count = 0, .done = {}, .is_flood = true});
}

// Those whose second has ended become lines.
void AuditLog::end_floods(bool all) {
  const std::chrono::nanoseconds now = options_.wall_clock();
  for (auto each = floods_.begin(); each != floods_.end();) {
    Flood& flood = each->second;
    if (!all && now - flood.began < kSecond && now >= flood.began) {
      ++each;
      continue;
    }
    if (flood.rest.count > 0) waiting_.push_back(std::move(flood.rest));
    each = floods_.erase(each);
  }
}

void AuditLog::leave() {
  if (!waits()) return;
  const detail::Held lock(mutex_);
  while (!waiting_.empty() || writes_) changed_.wait(mutex_);
  left_ = true;
  close(file_);
  file_ = -1;
}

void AuditLog::go_on() {
  if (!waits()) return;
  {
    const detail::Held lock(mutex_);
    if (!left_) return;
  }
  open_file();  // the thread leaves the file alone until it is told
  const detail::Held lock(mutex_);
  left_ = false;
  changed_.notify_all();
}

void AuditLog::reopen() {
  const detail::Held lock(mutex_);
  reopens_ = waits();
  changed_.notify_all();
}

void AuditLog::run() {
  while (true) {
    std::deque<Waiting> batch;
    bool reopens = false;
    {
      const detail::Held lock(mutex_);
      while ((waiting_.empty() && !reopens_ && !ends_) || (left_ && !ends_)) {
        if (floods_.empty()) {
          changed_.wait(mutex_);
        } else {
          changed_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::milliseconds{200});
          end_floods(false);
        }
      }
      batch.swap(waiting_);
      reopens = std::exchange(reopens_, false) && !left_;
      if (batch.empty() && !reopens) return;
      writes_ = true;
    }
    write(std::move(batch));
    {
      const detail::Held lock(mutex_);
      writes_ = false;
      changed_.notify_all();
    }
    if (!reopens) continue;
    try {
      open_file();
    } catch (const std::exception& error) {
      errors_.fetch_add(1, std::memory_order_relaxed);
      options_.warn(std::string(error.what()) + "; the file that was open goes on");
    }
  }
}

void AuditLog::write(std::deque<Waiting> batch) {
  std::string head;
  {
    const detail::Held lock(mutex_);
    head = head_;
  }
  std::vector<std::pair<std::string, std::string>> lines;  // with their hashes
  std::string text;
  for (const Waiting& each : batch) {
    std::string line = steering::audit_line(each.change, each.count, options_.wall_clock(), head);
    head = steering::hash_of(line);
    text += line + "\n";
    lines.emplace_back(std::move(line), head);
  }
  const bool written = text.empty() || !waits() || (file_ >= 0 && put(text));
  if (!written) {
    errors_.fetch_add(lines.size(), std::memory_order_relaxed);
    const std::string reason = last_error();
    options_.warn("audit: '" + options_.path + "': " + reason + "; " +
                  (options_.required ? "refused" : "not written") + ": " + lines.front().first +
                  (lines.size() > 1 ? " and " + std::to_string(lines.size() - 1) + " more" : ""));
  } else {
    const detail::Held lock(mutex_);
    for (auto& [line, hash] : lines) keep(std::move(line), std::move(hash));
  }
  for (const Waiting& each : batch) {
    for (const auto& done : each.done) done(written || !options_.required);
  }
}

std::vector<std::string> AuditLog::latest(std::size_t most) const {
  const detail::Held lock(mutex_);
  const std::size_t count = std::min(most, kept_.size());
  return {kept_.rbegin(), kept_.rbegin() + static_cast<std::ptrdiff_t>(count)};
}

void AuditLog::add_rows(service::Metrics& metrics) const {
  using service::Section;
  metrics.text(Section::server, "audit_head", "The hash of the audit's last line", [this] {
    const detail::Held lock(mutex_);
    return head_.empty() ? std::nullopt : std::optional(head_);
  });
  metrics.counter(Section::server, "audit_lines", "weir_audit_lines_total",
                  "Lines of the audit since the start", lines_);
  metrics.counter(Section::server, "audit_errors", "weir_audit_errors_total",
                  "Changes that the audit could not write", errors_);
  metrics.add([this](service::Exposition& to) {
    const detail::Held lock(mutex_);
    if (head_.empty()) return;
    to.family(service::Exposition::Kind::info, "weir_audit_info", "The hash of the audit's last line");
    to.sample({{"head", head_}}, std::uint64_t{1});
  });
}

}  // namespace weir::server
