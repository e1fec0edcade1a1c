package decision

import (
	"fmt"
	"tri/lib/base/text"
)

// Name returns the id of what waits for a decision: 64 hex digits that permanently identify exactly this
// draft of this thread. post is "" except for a parked post.
func Name(key string, cycle int, draftSHA256, post string) string {
	return text.SHA256(fmt.Sprintf("%s\x00%d\x00%s\x00%s", key, cycle, draftSHA256, post))
}
