#include <cleave/core/name.hpp>

#ifdef CONTROL
inline constexpr cleave::Name name("decoder.layers.0");
#else
// expect: constant expression
// expect: longer than Name::capacity
inline constexpr cleave::Name name("0123456789.0123456789.0123456789.0123456789."
                                   "0123456789.0123456789.0123456789.0123456789");
#endif
