#!/bin/sh
# `make install` into a folder of its own: what a user of the library finds there, and that a program outside of the tree
# builds against it, shared and static, and computes what exact arithmetic says.
set -u
build=${BUILD:-build}
case $build in build) ;; *) echo "skipped: only the plain build is installed"; exit 77 ;; esac
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
cc=${CC:-cc}
tree=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
wrong() {
	echo "wrong: $1"
	failed=1
}
unset MAKEFLAGS MFLAGS MAKELEVEL

make DEPS=0 install DESTDIR="$work/stage" PREFIX=/opt/norm LIBDIR=/opt/norm/lib/here >"$work/log" 2>&1 ||
	{ cat "$work/log"; echo "wrong: make install"; exit 1; }
root=$work/stage/opt/norm
lib=$root/lib/here
for f in bin/normd include/normcore.h lib/here/libnormcore.a lib/here/libnormcore.so lib/here/libnormcore.so.0 \
	lib/here/pkgconfig/normcore.pc share/man/man1/normd.1 share/man/man3/normcore.3; do
	[ -s "$root/$f" ] || wrong "no $f"
done
[ "$(find "$root/include" -type f | wc -l)" -eq 1 ] || wrong "more than one header"
[ "$("$root/bin/normd" --version)" = "$("$build/normd" --version)" ] || wrong "bin/normd is not the daemon"

# The functions that the header declares are what the libraries export, no more and no less.
$cc -E -P "$root/include/normcore.h" | tr '\n' ' ' | tr ';' '\n' | grep -v -e typedef -e '{' |
	grep -oE 'nc_[a-z0-9_]+\(' | tr -d '(' | sort -u >"$work/declared"
grep -qx nc_norm "$work/declared" && grep -qx nc_block_grad "$work/declared" && grep -qx nc_dtype_round "$work/declared" ||
	wrong "declared: $(tr '\n' ' ' <"$work/declared")"
nm -D --defined-only "$lib/libnormcore.so" | awk '{ print $3 }' | sort -u >"$work/shared"
nm -g --defined-only "$lib/libnormcore.a" | awk 'NF == 3 { print $3 }' | sort -u >"$work/static"
diff "$work/declared" "$work/shared" >"$work/diff" || wrong "declared < > exported by the shared library: $(cat "$work/diff")"
diff "$work/declared" "$work/static" >"$work/diff" || wrong "declared < > global in the static library: $(cat "$work/diff")"

# No macro but our own.
printf '#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n' >"$work/plain.c"
$cc -dM -E "$work/plain.c" | sort >"$work/macros_before"
$cc -dM -E "$root/include/normcore.h" | sort >"$work/macros_after"
comm -13 "$work/macros_before" "$work/macros_after" | grep -vE '^#define (NC|NORMCORE)_' >"$work/diff" &&
	wrong "macros: $(cat "$work/diff")"

# Outside of the tree: header alone as C and C++, the example shared and static.
export PKG_CONFIG_SYSROOT_DIR="$work/stage" PKG_CONFIG_PATH="$lib/pkgconfig"
mkdir "$work/user"
cp core/install/example.c "$work/user"
cd "$work/user" || exit 1
flags=$(pkg-config --cflags normcore) && libs=$(pkg-config --libs normcore) || wrong "pkg-config"
strict="-Wall -Wextra -Wpedantic -Wshadow -Werror"
echo '#include <normcore.h>' >alone.c
for std in c99 c11 gnu17; do
	# shellcheck disable=SC2086 # flags are words
	$cc -std=$std $strict $flags -c alone.c || wrong "normcore.h as $std"
done
cat >user.cc <<'END'
#include <normcore.h>
#include <normcore.h>
int main() { return nc_status_text(NC_OK)[0] == 'o' && nc_norm_rank(NC_LAYERNORM) == 2 ? 0 : 1; }
END
cxx=
for c in c++ g++ clang++; do
	command -v $c >/dev/null && cxx="$cxx $c"
done
[ -n "$cxx" ] || echo "skipped: no C++ compiler"
for c in $cxx; do
	# shellcheck disable=SC2086
	{ $c -std=c++11 $strict $flags user.cc $libs -o user && LD_LIBRARY_PATH="$lib" ./user; } || wrong "normcore.h with $c"
done
# shellcheck disable=SC2086
$cc $strict $flags example.c $libs -o shared || wrong "the example against the shared library"
LD_LIBRARY_PATH="$lib" ./shared >shared.txt || wrong "the example, shared"
LD_LIBRARY_PATH="$lib" ldd shared | grep -q 'libnormcore\.so\.0 => .*here/libnormcore\.so\.0' || wrong "soname: $(ldd shared)"
private=$(pkg-config --libs --static normcore | sed 's/-lnormcore//')
# shellcheck disable=SC2086
$cc $strict $flags example.c "$lib/libnormcore.a" $private -o static || wrong "the example against the static library"
./static >static.txt || wrong "the example, static"
cmp -s shared.txt static.txt || wrong "shared and static differ"

# README's program prints what README says.
awk '/^## /{ on = /As a C library/ } on && /^```$/ { exit } on && program { print } on && /^```c$/ { program = 1 }' "$tree/README.md" >mine.c
awk '/^## /{ on = /As a C library/ } on && printed && !/^    / { exit } on && printed { print substr($0, 5) } on && /&& \.\/a\.out$/ { printed = 1 }' \
	"$tree/README.md" >mine.txt
# shellcheck disable=SC2086
{ $cc $strict $flags mine.c $libs && LD_LIBRARY_PATH="$lib" ./a.out >mine.out; } || wrong "README's program"
{ [ -s mine.txt ] && cmp -s mine.txt mine.out; } || wrong "README's program prints $(cat mine.out)"

# A name of core's own is free for the user's program.
printf '%s\nint kernels; int wide_add; int nc_diagnose;\nint main(void) { return kernels + wide_add + nc_diagnose + (nc_status_text(NC_OK) == 0); }\n' \
	'#include <normcore.h>' >names.c
# shellcheck disable=SC2086
{ $cc $flags names.c "$lib/libnormcore.a" $private -o names && ./names; } || wrong "names of core collide with a program's"

cd "$tree" || exit 1
python3 tests/e2e/exact_example.py "$work/user/example.c" "$work/user/shared.txt" || wrong "numbers: $(cat "$work/user/shared.txt")"

# Man pages render without a warning, and tell of every flag.
pages="$root/share/man/man1/normd.1 $root/share/man/man3/normcore.3"
if command -v groff >/dev/null; then
	for page in $pages; do
		groff -man -Tutf8 -ww -rLL=100n "$page" >"$work/page" 2>"$work/warnings"
		[ -s "$work/warnings" ] && wrong "$page: $(cat "$work/warnings")"
		[ "$(wc -l <"$work/page")" -gt 30 ] || wrong "$page is empty"
	done
else
	echo "skipped: no groff to render the man pages with"
fi
for flag in $("$build/normd" --help | grep -oE '^  --[a-z-]+'); do
	grep -qe "^\.TP" "$root/share/man/man1/normd.1" && sed 's/\\-/-/g' "$root/share/man/man1/normd.1" | grep -qe "\\\\fB$flag" ||
		wrong "the man page does not tell of $flag"
done
grep -q '@[A-Z]*@' "$root"/share/man/man?/* "$lib/pkgconfig/normcore.pc" && wrong "a template is not filled"

make DEPS=0 uninstall DESTDIR="$work/stage" PREFIX=/opt/norm LIBDIR=/opt/norm/lib/here >"$work/log" 2>&1 || wrong "make uninstall"
[ -z "$(find "$work/stage" -type f -o -type l)" ] || wrong "make uninstall leaves $(find "$work/stage" -type f -o -type l)"

[ $failed -eq 0 ] && echo "the library installs"
exit $failed
