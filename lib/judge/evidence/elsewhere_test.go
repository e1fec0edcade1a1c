package evidence

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// failing is a file system of which one folder cannot be listed.
type failing struct {
	fstest.MapFS
	folder string
}

func (f failing) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == f.folder {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return f.MapFS.ReadDir(name)
}

// TestUnread: whether other places have more of a text is not decided if one of them cannot be read, whoever
// runs the test.
func TestUnread(t *testing.T) {
	const line = "A failed charge returns the error to its customer."
	tree := fstest.MapFS{"load.go": {Data: []byte("// " + line)}, "logo.png": {Data: []byte("a\x00b")},
		"pay/a.go": {Data: []byte("// " + line)}, "pay/b.go": {Data: []byte("// " + line)}}
	own := FromText("the draft", line)
	found := []Finding{{Result: Supports, Stands: true, Path: "load.go", Claim: FromText("a claim", line),
		Places: []*Text{FromText("load.go:1", string(tree["load.go"].Data))}}}
	if !found[0].backs() {
		t.Fatal("the finding does not back the draft")
	}
	for _, tt := range []struct {
		folder, file string // that cannot be read
		err          error
		want         string // in unread
	}{
		{}, {folder: "pay", want: `"pay": it cannot be read: input/output error`},
		{folder: ".", want: `".": it cannot be read: input/output error`},
		{file: "pay/b.go", err: missing(&fs.PathError{Err: syscall.EIO}), want: `"pay/b.go": it cannot be read`},
		{file: "pay/b.go", err: missing(fs.ErrPermission), want: `"pay/b.go": it may not be read`},
		{file: "pay/b.go", err: errMissing},
	} {
		read := func(name string) ([]byte, error) {
			if name == tt.file {
				return nil, tt.err
			}
			return tree[name].Data, checkText(tree[name].Data)
		}
		peculiar, unread := peculiarIn(failing{tree, tt.folder}, read, own, found)
		if peculiar != (tt.want == "") || tt.want == "" != (unread == "") || !strings.HasPrefix(unread, tt.want) {
			t.Errorf("%+v: %t, %q", tt, peculiar, unread)
		}
	}
}
