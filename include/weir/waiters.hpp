// The state machine of those that wait: each is told once, when its moment has come, the earliest first. It
// has no thread, no timer and no clock of its own: an event loop or a test sets one timer to next_deadline()
// and calls advance().
//
//   struct Asleep : weir::Waiter {
//     Asleep() : Waiter([](weir::Waiter&) { act(); }) {}
//   } asleep;
//   waiters.add(asleep, reservation.at());  // acts inside advance(), when its moment has come
//   timer.expires_at(*waiters.next_deadline());
//   waiters.advance(loop_clock.now());
//
// One thread at a time. A waiter belongs to the caller and stays where it is while it waits: nothing is
// allocated, and add(), cancel() and the release of one waiter take O(log n) steps at worst. Not for: who may
// go when (a limiter decides that, and hands out the moments).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace weir::inline v0_1 {

class Waiters;

// One that waits. Derive from it for what belongs to the caller. Destroyed while it waits, it is cancelled.
class Waiter {
 public:
  // Called once, from inside advance(), with the waiter no longer waiting. It may add, cancel and destroy any
  // waiters, this one too.
  using OnDue = void (*)(Waiter&);

  explicit Waiter(OnDue on_due) noexcept : on_due_(on_due) {}
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  [[nodiscard]] bool waiting() const noexcept { return waiters_ != nullptr; }
  // The moment that it was last added with.
  [[nodiscard]] std::chrono::nanoseconds deadline() const noexcept { return deadline_; }

 private:
  friend class Waiters;

  Waiters* waiters_ = nullptr;  // where it waits
  OnDue on_due_;
  std::chrono::nanoseconds deadline_{0};
  std::uint64_t number_ = 0;  // in the order of coming, which is that of equal moments
  std::size_t rank_ = 0;      // in the heap: of its subtree, 1 or more; 0: in the list of those due
  // In the heap. In the list of those due: `left_` is the one before, `right_` the one after.
  Waiter* parent_ = nullptr;
  Waiter* left_ = nullptr;
  Waiter* right_ = nullptr;
};

// A leftist heap (C. A. Crane, 1972): the way down to the right of a node is the shortest way out of its
// subtree, so it is at most log2(n + 1) long, and only along it anything is joined. The list of those due
// keeps what advance() has taken out of the heap and not told yet.
class Waiters {
 public:
  Waiters() noexcept = default;
  // Those that wait are cancelled. Not from inside advance().
  ~Waiters() {
    while (first_due_ != nullptr) cancel(*first_due_);
    while (earliest_ != nullptr) cancel(*earliest_);
  }
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  // Those with equal moments are told first come, first served. One that waits already waits for the new
  // moment instead, and comes last among its equals. One that is added from inside advance() is told by the
  // next advance(), however early its moment.
  void add(Waiter& waiter, std::chrono::nanoseconds deadline) noexcept {
    if (waiter.waiters_ != nullptr) waiter.waiters_->cancel(waiter);
    waiter.waiters_ = this;
    waiter.deadline_ = deadline;
    waiter.number_ = ++last_number_;
    waiter.rank_ = 1;
    waiter.parent_ = waiter.left_ = waiter.right_ = nullptr;
    earliest_ = join(earliest_, &waiter);
    earliest_->parent_ = nullptr;
    ++size_;
  }

  // Whether it was waiting here; it is not told then, and is the caller's.
  bool cancel(Waiter& waiter) noexcept {
    if (waiter.waiters_ != this) return false;
    if (waiter.rank_ == 0) {
      leave_due(waiter);
    } else {
      leave_heap(waiter);
    }
    waiter.waiters_ = nullptr;
    --size_;
    return true;
  }

  // When to call advance(); nothing when none waits.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> next_deadline() const noexcept {
    if (first_due_ != nullptr) return first_due_->deadline_;
    if (earliest_ != nullptr) return earliest_->deadline_;
    return std::nullopt;
  }

  // Tells those whose moment is not after `now`, by their moments. Called again from inside, it goes on with
  // the rest. When one of them throws, the rest waits for the next call. Returns how many this call told.
  std::size_t advance(std::chrono::nanoseconds now) {
    while (earliest_ != nullptr && earliest_->deadline_ <= now) {
      Waiter& due = *earliest_;
      leave_heap(due);
      enter_due(due);
    }
    std::size_t told = 0;
    while (first_due_ != nullptr) {
      Waiter& due = *first_due_;
      cancel(due);
      ++told;
      due.on_due_(due);
    }
    return told;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  static bool before(const Waiter& a, const Waiter& b) noexcept {
    return a.deadline_ != b.deadline_ ? a.deadline_ < b.deadline_ : a.number_ < b.number_;
  }
  static std::size_t rank(const Waiter* waiter) noexcept { return waiter == nullptr ? 0 : waiter->rank_; }

  // The heap's order by ranks and the rank of one node, when those below it are right. Whether its rank was
  // another.
  static bool settle(Waiter& node) noexcept {
    if (rank(node.left_) < rank(node.right_)) std::swap(node.left_, node.right_);
    const std::size_t is = rank(node.right_) + 1;
    return std::exchange(node.rank_, is) != is;
  }

  // One heap of two. As deep as both ways to the right together.
  static Waiter* join(Waiter* a, Waiter* b) noexcept {
    if (a == nullptr) return b;
    if (b == nullptr) return a;
    if (before(*b, *a)) std::swap(a, b);
    a->right_ = join(a->right_, b);
    a->right_->parent_ = a;
    settle(*a);
    return a;
  }

  // The ranks above change only as long as each is one more than the one below it: log2(n + 1) steps.
  void leave_heap(Waiter& waiter) noexcept {
    Waiter* const parent = waiter.parent_;
    Waiter* const rest = join(waiter.left_, waiter.right_);
    if (rest != nullptr) rest->parent_ = parent;
    (parent == nullptr ? earliest_ : parent->left_ == &waiter ? parent->left_ : parent->right_) = rest;
    for (Waiter* above = parent; above != nullptr && settle(*above);) above = above->parent_;
  }

  void enter_due(Waiter& waiter) noexcept {
    waiter.rank_ = 0;
    waiter.left_ = last_due_;
    waiter.right_ = nullptr;
    (last_due_ == nullptr ? first_due_ : last_due_->right_) = &waiter;
    last_due_ = &waiter;
  }
  void leave_due(Waiter& waiter) noexcept {
    (waiter.left_ == nullptr ? first_due_ : waiter.left_->right_) = waiter.right_;
    (waiter.right_ == nullptr ? last_due_ : waiter.right_->left_) = waiter.left_;
  }

  Waiter* earliest_ = nullptr;  // the root of the heap
  Waiter* first_due_ = nullptr;
  Waiter* last_due_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t last_number_ = 0;
};

inline Waiter::~Waiter() {
  if (waiters_ != nullptr) waiters_->cancel(*this);
}

}  // namespace weir
