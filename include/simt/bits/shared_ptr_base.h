// SPDX-License-Identifier: MIT
// libstdc++ has __attribute__((__noinline__)) in this header, and CUDA's __noinline__ is a macro.
#pragma GCC system_header
#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <bits/shared_ptr_base.h>
#pragma pop_macro("__noinline__")
