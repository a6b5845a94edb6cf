// The terminal as a screen of its own that shows what it is given and hands over what is typed. However the
// program ends, by an exception or a signal, the terminal is then as it was; stopped and continued, too.
//
// At most one, of one thread but for wake(). Not for: what is shown (top_view.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::inline v0_1::cli {

class Terminal {
 public:
  // Whether standard input and output are one that can do this.
  static bool is_there();

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  struct Size {
    std::size_t columns;
    std::size_t rows;
  };
  Size size() const;

  // All lines of the screen, each of them short enough.
  void show(std::string_view frame);
  // Until something is typed, the size changes, or wake() was called: what was typed. Nothing: a signal says
  // that it is over, or the terminal has gone.
  std::optional<std::string> wait();
  void wake();
  // By which signal it is over; 0: none. The caller raises it when this has gone.
  int ended_by() const { return ended_by_; }

 private:
  void enter();
  void stop_until_continued();

  int ended_by_ = 0;
  bool gone_ = false;
};

}  // namespace weir::cli
