package export

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOldTelegram: exports from before 2021 have numbers in the place of ids.
func TestOldTelegram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	text := `{"name":"Team","type":"private_group","id":7,"messages":[
		{"id":1,"type":"message","date":"2020-03-02T10:00:00","from":"Ana","from_id":4817483,"text":"why?"},
		{"id":2,"type":"message","date":"2020-03-02T10:00:01","from":null,"from_id":null,"text":"hm"}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, rows, said, err := read(t, file)
	want := []string{
		`2020-03-02T10:00:00Z telegram 7(Team) 1 - user4817483/user/Ana "why?" []`,
		`2020-03-02T10:00:01Z telegram 7(Team) 2 - unknown/user/ "hm" []`,
	}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("%q, %q, %v", rows, said, err)
	}
}

// TestSharedInSlack: what a message passes on is not what its sender says.
func TestSharedInSlack(t *testing.T) {
	dir := t.TempDir()
	text := `[{"type":"message","user":"U1","ts":"1704100000.000001","text":"","attachments":[
		{"is_share":true,"author_name":"Ben","text":"why does it fail?\nfor all?"}]},
		{"type":"message","user":"U1","ts":"1704100001.000001","text":"see","attachments":[
		{"is_share":true,"author_subname":"cho","fallback":"it is down"}]},
		{"type":"message","bot_id":"B1","ts":"1704100002.000001","text":"","attachments":[{"text":"built"}]}]`
	if err := os.Mkdir(filepath.Join(dir, "general"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "general", "2024-01-01.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, rows, said, err := read(t, dir)
	want := []string{
		`2024-01-01T09:06:40.000001Z slack general(general) 1704100000.000001 - U1/user/ "> why does it fail?\n> for all?" []`,
		`2024-01-01T09:06:41.000001Z slack general(general) 1704100001.000001 - U1/user/ "see\n> it is down" []`,
		`2024-01-01T09:06:42.000001Z slack general(general) 1704100002.000001 - B1/bot/ "built" []`,
	}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("%q, %q, %v", rows, said, err)
	}
}
