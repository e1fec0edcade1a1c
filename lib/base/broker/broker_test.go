package broker

import (
	"regexp"
	"strconv"
	"testing"
)

// TestStoreHoldsAll: the server sets aside what its streams may grow to, and refuses one that no longer
// fits; the written configuration has room for all of them.
func TestStoreHoldsAll(t *testing.T) {
	m := regexp.MustCompile(`max_file_store: (\d+)GB`).FindStringSubmatch(serverConf)
	if m == nil {
		t.Fatal("no max_file_store")
	}
	room, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if need := int64(len(Logs))*maxLog + maxWork + maxResults; room<<30 < need {
		t.Errorf("%d GB for %d bytes", room, need)
	}
}
