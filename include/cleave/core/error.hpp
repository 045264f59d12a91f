#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace cleave {

/// The base of everything the library throws. The text says what was expected, what was found, where,
/// and what to do.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;

  template <typename... Args>
  explicit Error(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
};

/// A value, a shape or a configuration that cannot work.
class InvalidArgument : public Error {
public:
  using Error::Error;
};

/// A file that is missing, cut short, or not what it should be.
class FileError : public Error {
public:
  using Error::Error;
};

/// A collective that failed: ranks disagree, a deadline passed, or another rank gave up.
class CommunicationError : public Error {
public:
  using Error::Error;
};

} // namespace cleave
