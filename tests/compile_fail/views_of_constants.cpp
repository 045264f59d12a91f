#include <cleave/core/tensor.hpp>

cleave::Vector<float const> source;

#ifdef CONTROL
cleave::Vector<float const> copy = source;
#else
// expect: Vector<float const>.*Vector<float>|Vector<const float>.*Vector<float>
cleave::Vector<float> copy = source;
#endif
