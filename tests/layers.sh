#!/bin/sh
# Holds the tree to its layers, server → api → core and never back: layers.sh BUILD_FOLDER (its libraries must be built).
# Reads the includes of the sources and the undefined symbols of the objects; prints what breaks a rule.
set -u
build=${1:-build}
bad=0
complain() {
	[ -z "$2" ] || { printf '%s:\n%s\n' "$1" "$2"; bad=$((bad + 1)); }
}

outside='sys/socket\.h|netinet/|arpa/|netdb\.h|sys/un\.h|sys/epoll\.h'
# core/install holds a program of a user's, no part of the library.
complain "core includes more than numbers" \
	"$(grep -rnE "#include [<\"](jansson|microhttpd|api/|server/|fcntl\.h|stdio\.h|$outside)" core --include='*.[ch]' --exclude-dir=install)"
complain "api includes the server, a socket or a file" \
	"$(grep -rnE "#include [<\"](microhttpd|server/|fcntl\.h|$outside)" api --include='*.[ch]')"
complain "microhttpd.h outside server/http.c" \
	"$(grep -rlE '#include <microhttpd' core api server --include='*.[ch]' | grep -vx 'server/http\.c')"
complain "jansson outside api" "$(grep -rnE '#include <jansson' core server --include='*.[ch]')"

undefined() {
	nm -u "$build/$1" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u
}
complain "libnormcore needs" \
	"$(undefined libnormcore.a | grep -E '^(json_|MHD_|api_|socket|connect|bind|listen|accept|recv|send|open|fopen|read|write|exit|abort|setlocale)(64)?$|^(json|MHD|api)_')"
complain "libnormapi needs" \
	"$(undefined libnormapi.a | grep -E '^(socket|connect|bind|listen|accept|recv|send|open|fopen|exit|abort|setlocale)(64)?$|^MHD_')"

# One file, one idea: long ones are looked at, generated tables excepted.
for f in $(git ls-files 2>/dev/null '*.c' '*.h' '*.sh' '*.js' '*.css'); do
	case $f in */tables/* | *_table*) continue ;; esac
	n=$(wc -l <"$f")
	most=520
	case $f in tests/*) most=600 ;; esac # cases, one after the other
	[ "$n" -le $most ] || complain "over about 500 lines" "$f: $n"
done
complain "the same file name twice" \
	"$(git ls-files '*.c' 2>/dev/null | sed 's|.*/||' | sort | uniq -d)"
[ $bad -eq 0 ] && echo "layers hold"
exit $((bad > 0))
