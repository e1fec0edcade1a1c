package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/todo"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func home(t *testing.T, dir string) *durable.Home {
	t.Helper()
	h, err := durable.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func put1(t *testing.T, h *durable.Home, name, text string) {
	t.Helper()
	if err := h.MkdirAll(filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Path(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// offered writes a draft into the log, with decisions of these kinds.
func offered(t *testing.T, h *durable.Home, key string, kinds ...string) {
	t.Helper()
	for _, kind := range append([]string{decision.Offer}, kinds...) {
		r := decision.Record{Kind: kind, By: "ana", Via: "terminal", Key: key, Cycle: 1, Text: key,
			DraftSHA256: decision.Sum(key),
			At:          noon.Format(time.RFC3339),
			Target:      &decision.Target{Platform: "local", ChatID: "dev", ThreadID: "1", ReplyToID: "1"}}
		if _, err := decision.Append(h, r); err != nil {
			t.Fatal(err)
		}
	}
}

func intent(t *testing.T, h *durable.Home, key, state string, tries int) {
	t.Helper()
	if err := h.MkdirAll(outbox.Done); err != nil {
		t.Fatal(err)
	}
	e := outbox.Entry{ID: outbox.ID(key, 1, decision.Sum(key), 1), Key: key, Cycle: 1,
		DraftSHA256: decision.Sum(key), State: state, Tries: tries, Part: 1, Parts: 1}
	if err := e.Save(h); err != nil {
		t.Fatal(err)
	}
}

func inNew(t *testing.T, h *durable.Home) (*durable.Home, Restored) {
	t.Helper()
	var file bytes.Buffer
	if err := Save(h, &file); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	done, err := Restore(&file, dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	return home(t, dir), done
}

func TestCopyIsTheSame(t *testing.T) {
	h := home(t, t.TempDir())
	keep := map[string]string{"events.ndjson": "{}\n{}\n", "open/k.json": "{}", "closed/ab/k.json": "{}",
		"config.yaml": "team: {}\n", "runs/i-1/result.json": "{}", "triage/x.md": "x"}
	for name, text := range keep {
		put1(t, h, name, text)
	}
	for _, name := range []string{"locks/watch", "index/i", "logs/watch.log", "watch.json",
		".events.ndjson.lock", "runs/i-1/lock"} {
		put1(t, h, name, "x")
	}
	if err := os.Symlink("/etc/passwd", h.Path("open/link.json")); err != nil {
		t.Fatal(err)
	}
	n, done := inNew(t, h)
	if done.Files != len(keep) || done.Revoked != 0 || done.Looked != 0 {
		t.Errorf("%+v", done)
	}
	for name, text := range keep {
		if got, err := n.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if info, err := os.Stat(n.Path(name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
	}
}

// TestMarksAreOlderThanLogs: a position in a chat, or in a log, is never copied newer than the log of what
// was read up to it.
func TestMarksAreOlderThanLogs(t *testing.T) {
	h := home(t, t.TempDir())
	names := []string{markName, "cards.json", "watch/matrix.json"}
	for _, name := range append(names, "events.ndjson") {
		put1(t, h, name, "1")
	}
	at, err := begin(h)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	out := tar.NewWriter(&file)
	for _, name := range append(names, "watch/tail.json", "events.ndjson") {
		put1(t, h, name, "2, later")
		if _, err := at.put(h, out, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for in := tar.NewReader(&file); ; {
		head, err := in.Next()
		if err != nil {
			break
		}
		b, _ := io.ReadAll(in)
		got[head.Name] = string(b)
	}
	want := map[string]string{"events.ndjson": "2"}
	for _, name := range names {
		want[name] = "1"
	}
	if !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNothingIsPostedTwice: drafts approved in the copy may have been posted since.
func TestNothingIsPostedTwice(t *testing.T) {
	h := home(t, t.TempDir())
	offered(t, h, "waits")
	offered(t, h, "approved", decision.Approve)
	offered(t, h, "claimed", decision.Approve, decision.Claim)
	offered(t, h, "intended", decision.Approve, decision.Claim)
	intent(t, h, "intended", outbox.Intent, 0)
	offered(t, h, "parked", decision.Approve, decision.Claim)
	intent(t, h, "parked", outbox.Parked, 3)
	offered(t, h, "replied", decision.Approve, decision.Claim)
	for key, tries := range map[string]int{"retried": 2, "retried, then lost": 1, "tried again": 2} {
		offered(t, h, key, decision.Approve, decision.Claim)
		if _, err := decision.Append(h, decision.Record{Kind: decision.Settle, By: "ana", Via: "terminal",
			Key: key, Cycle: 1, Text: key, DraftSHA256: decision.Sum(key), At: noon.Format(time.RFC3339),
			Post: outbox.ID(key, 1, decision.Sum(key), 1), Outcome: decision.SettleRetry,
			Tries: tries}); err != nil {
			t.Fatal(err)
		}
	}
	intent(t, h, "retried", outbox.Parked, 2)
	intent(t, h, "tried again", outbox.Intent, 2)
	put1(t, h, "replies.ndjson", `{"key":"replied","cycle":1,"draft_sha256":"`+
		decision.Sum("replied")+`"}`+"\n")
	n, done := inNew(t, h)
	if done.Revoked != 1 || done.Looked != 4 {
		t.Errorf("%+v", done)
	}
	rs, err := decision.Read(n)
	if err != nil {
		t.Fatal(err)
	}
	if last := rs[len(rs)-1]; last.Kind != decision.Revoke || last.Key != "approved" {
		t.Errorf("%+v", last)
	}
	state := decision.NewState(decision.Policy{Approvers: []string{"ana"}})
	for _, r := range rs {
		state.Add(r)
	}
	if was, is := state.Standing("approved"), state.Standing("waits"); was.Approved() || !is.Open(noon) {
		t.Errorf("approved %+v, waits %+v", was, is)
	}
	entries, err := outbox.Open(n)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]outbox.Step{}
	for _, e := range entries {
		step, _, err := outbox.Plan(true, false, []*outbox.Entry{e})
		if err != nil {
			t.Error(err)
		}
		got[e.Key] = step
		for _, r := range rs { // it was done before the copy was restored, or may have been
			if r.Kind == decision.Settle && r.Post == e.ID && r.Tries == e.Tries {
				t.Errorf("%s: record %d settles the post of the restored home", e.Key, r.N)
			}
		}
	}
	want := map[string]outbox.Step{"claimed": outbox.Wait, "intended": outbox.Look, "parked": outbox.Wait,
		"retried": outbox.Wait, "retried, then lost": outbox.Wait, "tried again": outbox.Look}
	for key, step := range want {
		if got[key] != step {
			t.Errorf("%s: %v, want %v", key, got[key], step)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
}

// TestEveryByteCounts: a copy with a changed bit, or truncated anywhere, is refused, and no folder
// is left behind.
func TestEveryByteCounts(t *testing.T) {
	h := home(t, t.TempDir())
	offered(t, h, "replied", decision.Approve, decision.Claim)
	put1(t, h, "events.ndjson", strings.Repeat("{}\n", 300))
	put1(t, h, "config.yaml", "team: {}\n")
	var copy bytes.Buffer
	if err := Save(h, &copy); err != nil {
		t.Fatal(err)
	}
	refused := func(name string, b []byte) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "new")
		_, err := Restore(bytes.NewReader(b), dir, noon)
		if status, _ := sysexit.Of(err); err == nil || status != sysexit.Data && status != sysexit.IO {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
	good := copy.Bytes()
	for at := 0; at < len(good); at += 1 + len(good)/60 {
		if at == 9 || at >= 4 && at <= 8 {
			continue // time, flags and system of the gzip header, which have no meaning here
		}
		b := bytes.Clone(good)
		b[at] ^= 1 << (at % 8)
		if bytes.Equal(inflated(b), inflated(good)) {
			continue // an unused bit of deflate: the copy is the same
		}
		refused(fmt.Sprint("bit at ", at), b)
	}
	for n := 1; n < len(good); n += 1 + len(good)/40 {
		refused(fmt.Sprint("cut by ", n), good[:len(good)-n])
	}
	for n := 1; n <= 12; n++ {
		refused(fmt.Sprint("cut by ", n), good[:len(good)-n])
	}
	refused("something behind it", append(bytes.Clone(good), 1, 2, 3))
}

// inflated returns the contents of a gzip file, nil if it is invalid.
func inflated(b []byte) []byte {
	zip, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	all, err := io.ReadAll(zip)
	if err != nil {
		return nil
	}
	return all
}

// TestCopyOfALivingHome: while posts are claimed, made and finished, every reply and every entry of
// a copy has its claim, and no mark is ahead of a log.
func TestCopyOfALivingHome(t *testing.T) {
	h := home(t, t.TempDir())
	offered(t, h, "first", decision.Approve, decision.Claim)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			key := fmt.Sprint("k", i)
			offered(t, h, key, decision.Approve, decision.Claim)
			intent(t, h, key, outbox.Posted, 1)
			l, err := h.OpenLog(repliesName)
			if err == nil {
				_, err = l.Append(func(int64) ([]byte, error) {
					return fmt.Appendf(nil, `{"key":%q,"cycle":1,"draft_sha256":%q}`+"\n", key,
						decision.Sum(key)), nil
				})
			}
			info, statErr := h.Root().Stat(decision.LogName)
			if err = errors.Join(err, statErr); err == nil {
				err = h.Replace(markName,
					fmt.Appendf(nil, `{"seq":-1,"journal":0,"decisions":%d,"replies":0}`, info.Size()))
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 12 {
		n, _ := inNew(t, h)
		state, err := standing(n)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		if err := replied(n, known); err != nil {
			t.Fatal(err)
		}
		entries, err := outbox.Open(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			known[decision.ID(e.Key, e.Cycle, e.DraftSHA256)] = true
		}
		for id := range known {
			if state.Claim(id) == nil {
				t.Errorf("%s was posted without a claim", id)
			}
		}
	}
	cancel()
	<-ended
}

func TestRestoreRefuses(t *testing.T) {
	packed := func(head tar.Header, text string) []byte {
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		out := tar.NewWriter(zip)
		head.Size = int64(len(text))
		if err := out.WriteHeader(&head); err != nil {
			t.Fatal(err)
		}
		_, err := out.Write([]byte(text))
		if err == nil {
			err = out.Close()
		}
		if err == nil {
			err = zip.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	good := packed(tar.Header{Name: "a", Typeflag: tar.TypeReg}, "text")
	for name, b := range map[string][]byte{
		"upwards":  packed(tar.Header{Name: "../a", Typeflag: tar.TypeReg}, "x"),
		"absolute": packed(tar.Header{Name: "/tmp/a", Typeflag: tar.TypeReg}, "x"),
		"link":     packed(tar.Header{Name: "a", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}, ""),
		"device":   packed(tar.Header{Name: "a", Typeflag: tar.TypeChar}, ""),
		"cut":      good[:len(good)/2],
		"no copy":  []byte("hello"),
		"empty":    nil,
	} {
		_, err := Restore(bytes.NewReader(b), filepath.Join(t.TempDir(), "new"), noon)
		if status, _ := sysexit.Of(err); status != sysexit.Data && status != sysexit.IO {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(bytes.NewReader(good), full, noon); err == nil {
		t.Error("a folder with something in it was taken")
	}
}

// TestFromCopy: whatever each copied log lacks, nothing is posted that may have been, the journal names
// only lines that are there, and a post that is known to be made is not parked.
func TestFromCopy(t *testing.T) {
	h := home(t, t.TempDir())
	message := func(id int) string {
		return fmt.Sprintf(`{"platform":"local","chat_id":"dev","chat_name":"dev","message_id":"%d",`+
			`"create_time":"2026-01-02T03:04:05Z","msg_type":"text","content":"hello","thread_id":null,`+
			`"sender":{"id":"ana","type":"user"},"mentions":[]}`, id)
	}
	put1(t, h, "events.ndjson", message(0)+"\n"+message(1)+"\n")
	offered(t, h, "waits")
	offered(t, h, "approved", decision.Approve)
	offered(t, h, "claimed", decision.Approve, decision.Claim)
	offered(t, h, "replied", decision.Approve, decision.Claim)
	offered(t, h, "late", decision.Approve, decision.Claim)
	put1(t, h, "replies.ndjson", reply("replied")+reply("late"))
	event := func(id int) string {
		return fmt.Sprintf(`{"at":"2026-01-02T12:00:00Z","key":"k","message_id":"%d",`+
			`"ref":{"log":"events.ndjson","seq":%d,"sha256":%q}}`+"\n",
			id, id*(len(message(0))+1), decision.Sum(message(id)))
	}
	put1(t, h, "dispatch.ndjson", event(0)+
		`{"at":"2026-01-02T12:00:00Z","key":"k","ref":{"log":"runs/i-1/result.json","seq":0,"sha256":"x"}}`+
		"\n"+event(1)+event(2)+event(0))
	lines, err := h.ReadFile(decision.LogName)
	if err != nil {
		t.Fatal(err)
	}
	const ofTwo, ofMany = `{"id":"t-2","kind":"add","n":2}`, `{"id":"t-99","kind":"add","n":99}`
	put1(t, h, todo.Name, ofMany+"\n"+ofTwo+"\n")
	for end := 0; ; {
		dir := t.TempDir()
		for name, whole := range map[string]string{"events.ndjson": "", "replies.ndjson": "",
			"dispatch.ndjson": "", todo.Name: "", decision.LogName: string(lines[:end])} {
			if whole == "" {
				b, err := h.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				whole = string(b) + `{"torn`
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(whole), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		to := filepath.Join(t.TempDir(), "new")
		if _, err := FromCopy(dir, to, noon); err != nil {
			t.Fatal(err)
		}
		n := strings.Count(string(lines[:end]), "\n")
		promoted(t, home(t, to), n)
		if end == 0 {
			n = bytes.Count(lines, []byte("\n")) // the whole log was copied
		}
		left, err := os.ReadFile(filepath.Join(to, todo.Name))
		if want := strings.Repeat(ofTwo+"\n", min(1, n/2)); err != nil || string(left) != want {
			t.Errorf("after %d decisions: %v, todos %q", n, err, left)
		}
		if end == len(lines) {
			break
		}
		end += 1 + bytes.IndexByte(lines[end:], '\n')
	}
	if _, err := FromCopy(t.TempDir(), filepath.Join(t.TempDir(), "new"), noon); err == nil {
		t.Error("an empty folder was taken")
	}
}

func reply(key string) string {
	return `{"key":"` + key + `","cycle":1,"draft_sha256":"` + decision.Sum(key) + `"}` + "\n"
}

// promoted checks a home that was made of copies with the first n decisions.
func promoted(t *testing.T, h *durable.Home, n int) {
	t.Helper()
	state, err := standing(h)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := outbox.Open(h)
	if err != nil {
		t.Fatal(err)
	}
	parked := map[string]bool{}
	for _, e := range entries {
		parked[e.Key] = e.State == outbox.Parked
	}
	known := map[string]bool{}
	if err := replied(h, known); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"approved", "claimed", "replied", "late"} {
		st := state.Standing(key)
		id := decision.ID(key, 1, decision.Sum(key))
		if st != nil && st.Approved() {
			t.Errorf("%d decisions: %s would be posted", n, key)
		}
		claimed := state.Claim(id) != nil
		if claimed != (parked[key] || known[id]) || parked[key] && known[id] {
			t.Errorf("%d decisions: %s: claimed %v, parked %v, replied %v", n, key, claimed, parked[key], known[id])
		}
	}
	// offers and approvals come before claims: replied is decided from the ninth line on, claimed
	// there or not
	if id := decision.ID("replied", 1, decision.Sum("replied")); n >= 8 && state.Claim(id) == nil {
		t.Errorf("%d decisions: a post with a line has no claim", n)
	}
	b, err := h.ReadFile("dispatch.ndjson")
	if err != nil || strings.Count(string(b), "\n") != 3 || strings.Contains(string(b), "torn") {
		t.Errorf("%d decisions: the journal is %q, %v", n, b, err)
	}
}
