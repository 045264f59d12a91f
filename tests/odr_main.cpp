#include "odr.hpp"

// Two translation units include everything: both must link, and both must see one layout.
int main() { return sizes_seen_elsewhere() == sizes_seen_here() ? 0 : 1; }
