package declaration

import (
	"fmt"
	"testing"
)

// TestOptions: lists, tables and headings of a document declare options; what stands in a block of code, or
// is the name of a type, does not.
func TestOptions(t *testing.T) {
	text := "# Client\n\n## `new Client(options)`\n\n" +
		"* **lineTimeout** `number | null` (optional) - Default: `300e3` - How long a line\n  may take, in milliseconds. It is long.\n" +
		"* `mode`: `'fast' | 'safe'` (default: `'safe'`)\n* plain text of a list\n* `string` - a type\n\n" +
		"| option | type | default | description |\n|---|---|---|---|\n| `size` | number | `8` | Entries kept. More are dropped. |\n\n" +
		"### `bodyLimit`\n<a id=\"x\"></a>\n\n+ Default: `1048576` (1MiB)\n\nThe largest body,\nin bytes.\n\n" +
		"```\n* `fake` - Default: `1`\n```\n"
	want := []string{
		`5-6 lineTimeout of new Client(options) = 300e3, number | null, [], How long a line may take, in milliseconds.`,
		`7-7 mode of new Client(options) = 'safe', 'fast' | 'safe', [fast safe], `,
		`13-13 size of new Client(options) = 8, number, [], Entries kept.`,
		`15-21 bodyLimit of new Client(options) = 1048576, , [], The largest body, in bytes.`,
	}
	all := Options([]byte(text))
	for i, d := range all {
		got := fmt.Sprintf("%d-%d %s of %s = %s, %s, %v, %s", d.Line, d.End, d.Name, d.Owner, d.Value, d.Type, d.Members, d.Doc)
		if d.Kind != Option || i >= len(want) || got != want[i] {
			t.Errorf("%s", got)
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d options", len(all))
	}
}

// TestOtherNames: another name of a value of an enumeration is no value of its own.
func TestOtherNames(t *testing.T) {
	for _, d := range Read("a.py", []byte("class Kind(IntEnum):\n    TEXT = 1\n    PING = 2\n\n    text = TEXT\n")) {
		if d.Name == "Kind" && fmt.Sprint(d.Members) != "[TEXT PING]" {
			t.Errorf("%v", d.Members)
		}
	}
}
