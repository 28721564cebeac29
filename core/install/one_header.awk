# core/normcore.h and every header that it includes, in one: awk -f one_header.awk core/normcore.h
# What a user of the library gets: nothing to find beside it, and no macro of our tables (.def), whose enums are written out.

# "core/block/" and "../norm.h" to "core/norm.h"
function beside(folder, name) {
	while (sub(/^\.\.\//, "", name))
		sub(/[^\/]*\/$/, "", folder)
	return folder name
}

# The constants of an enum: the first argument of each row of the table goes where the pattern has ##name.
function rows(path, table, pattern,    line, name) {
	while ((getline line < path) > 0)
		if (index(line, table "(") == 1) {
			name = substr(line, length(table) + 2)
			sub(/[,)].*/, "", name)
			line = pattern
			sub(/##[A-Za-z]+/, name, line)
			print "\t" line
		}
	close(path)
}

function take(path,    folder, line, name, table, pattern) {
	folder = path
	sub(/[^\/]*$/, "", folder)
	while ((getline line < path) > 0) {
		name = line
		gsub(/^[^"]*"|"[^"]*$/, "", name)
		if (line ~ /^#include ".*\.def"/) {
			rows(beside(folder, name), table, pattern)
		} else if (line ~ /^#include "/) {
			if (!taken[beside(folder, name)]++)
				take(beside(folder, name))
		} else if (line ~ /^#define [A-Z]+\(.*##/) {
			table = pattern = line
			gsub(/^#define |\(.*/, "", table)
			sub(/^[^)]*\) */, "", pattern)
		} else if (line !~ /^#undef /) {
			print line
		}
	}
	close(path)
}

BEGIN { take(ARGV[1]) }
