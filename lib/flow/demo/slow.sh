# An agent that takes its time: it waits, then answers by tri's own search. The
# prompt comes on standard input, the code is in the folder that it starts in.
set -eu
sleep "$SECONDS_TO_TAKE"
sed -n '/^=== begin question /,/^=== end question /{/^=== /d;/^from .*:$/d;p;}' | tr '\n' ' ' >"$ASKED.$$"
tri-watch stdin --text <"$ASKED.$$" | TRI_HOME="$ASKED.home" tri-investigate --codebase .
