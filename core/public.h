/*
 * What stands around the declarations of a public header: they are exported from the library, and are C to C++.
 * Everything else of core is compiled with hidden visibility, and stays inside.
 */
#ifndef NORMCORE_PUBLIC_H
#define NORMCORE_PUBLIC_H

#ifdef __cplusplus
#define NC_PUBLIC_BEGIN _Pragma("GCC visibility push(default)") extern "C" {
#define NC_PUBLIC_END } _Pragma("GCC visibility pop")
#else
#define NC_PUBLIC_BEGIN _Pragma("GCC visibility push(default)")
#define NC_PUBLIC_END _Pragma("GCC visibility pop")
#endif

#endif
