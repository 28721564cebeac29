# A man page from its template: awk -v version=V -v help=FILE -v example=FILE -f man.awk PAGE.in
# The lines @COMMANDS@ and @FLAGS@ become what `normd --help` in the file help says, @EXAMPLE@ the program in example.

function roff(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	sub(/^[.']/, "\\\\\\&&", text)
	return text
}

# "--flag ARGUMENT" or "normd command ARGUMENT": words in capitals are the user's.
function heading(text,    words, count, i, line) {
	count = split(text, words, " ")
	line = ".TP\n"
	for (i = 1; i <= count; i++)
		line = line (i > 1 ? " " : "") (words[i] ~ /^[^a-z-]*[A-Z][^a-z]*$/ ? "\\fI" : "\\fB") roff(words[i]) "\\fR"
	return line "\n"
}

function read_help(    line, in_flags, text) {
	while ((getline line < help) > 0) {
		text = line
		if (line ~ /^  normd/) {
			sub(/   .*/, "", text)
			commands = commands heading(text)
			text = line
			sub(/^  normd.*    */, "", text)
			commands = commands roff(text) "\n"
		} else if (line ~ /^  --/) {
			in_flags = 1
			flags = flags heading(text)
		} else if (line ~ /^   /) {
			sub(/^ */, "", text)
			if (!in_flags)
				commands = commands roff(text) "\n"
			else if (text ~ /^NORMD_/)
				flags = flags ".br\nEnvironment: " roff(text) ".\n"
			else
				flags = flags roff(text) ".\n"
		} else if (in_flags && line != "") {
			flags = flags ".PP\n" roff(text) "\n"
		}
	}
}

BEGIN {
	if (help != "")
		read_help()
}

/^@COMMANDS@$/ { printf "%s", commands; next }
/^@FLAGS@$/ { printf "%s", flags; next }
/^@EXAMPLE@$/ {
	while ((getline line < example) > 0)
		print roff(line)
	next
}
{ gsub(/@VERSION@/, version); print }
